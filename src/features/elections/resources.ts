/** Resources that only this feature uses. */
import { kubeResource, ownResource } from '../../kube/api/resources.ts';

export const elections = ownResource('elections', 'Election');
export const leases = kubeResource('coordination.k8s.io/v1', 'leases', 'Lease');
