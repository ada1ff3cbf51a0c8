/** Resources that only this feature uses. */
import { kubeResource } from '../../kube/api/resources.ts';

export const externalWorkloads = kubeResource(
  'workload.linkerd.io/v1beta1',
  'externalworkloads',
  'ExternalWorkload',
);
