/** The Kubernetes resources that this feature watches. */
import type { WatchDeclaration } from '../../actors/world/watch-declaration.ts';
import { endpointSlices, services } from '../../kube/api/resources.ts';
import { servicePart, slicePart, workloadPart } from './digest.ts';
import { ownSlices, servicesOfWorkloads } from './interest.ts';

export const watches: readonly WatchDeclaration[] = [
  { resource: services, name: 'services', digest: servicePart, interest: servicesOfWorkloads },
  { resource: endpointSlices, name: 'endpointslices', digest: slicePart, interest: ownSlices },
  { resource: { apiVersion: 'workload.linkerd.io/v1beta1', kind: 'ExternalWorkload' }, digest: workloadPart },
];
