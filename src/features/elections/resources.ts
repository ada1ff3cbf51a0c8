/** Resources that only this feature addresses. */
import type { KubeResource } from '../../base/kube-port.ts';
import { ownResource } from '../../kube/api/resources.ts';

export const elections = ownResource('elections', 'Election');
export const leases: KubeResource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};
