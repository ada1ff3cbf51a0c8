/** Resources that only this feature addresses. */
import type { KubeResource } from '../../base/kube-port.ts';

export const externalWorkloads: KubeResource = {
  group: 'workload.linkerd.io',
  version: 'v1beta1',
  plural: 'externalworkloads',
  kind: 'ExternalWorkload',
  namespaced: true,
};
