/** Resources that more than one part of Orrery addresses, and how those of one feature are named. */
import type { KubeResource } from '../../base/kube-port.ts';

/** A resource of the core group. */
export const coreResource = (plural: string, kind: string, namespaced = true): KubeResource => ({
  group: '',
  version: 'v1',
  plural,
  kind,
  namespaced,
});

/** A custom resource of Orrery's own. */
export const ownResource = (plural: string, kind: string, namespaced = true): KubeResource => ({
  group: 'orrery.dev',
  version: 'v1alpha1',
  plural,
  kind,
  namespaced,
});

export const services = coreResource('services', 'Service');
export const endpointSlices: KubeResource = {
  group: 'discovery.k8s.io',
  version: 'v1',
  plural: 'endpointslices',
  kind: 'EndpointSlice',
  namespaced: true,
};
export const events: KubeResource = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
};
export const tokenReviews: KubeResource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'tokenreviews',
  kind: 'TokenReview',
  namespaced: false,
};
export const subjectAccessReviews: KubeResource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
};
