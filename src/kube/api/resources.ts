/** Resources that several parts of Orrery use, and helpers for declaring a feature's own. */
import type { KubeResource } from '../../base/kube-port.ts';

/** @param apiVersion `v1`, `apps/v1` */
export function kubeResource(
  apiVersion: string,
  plural: string,
  kind: string,
  namespaced = true,
): KubeResource {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  return { group, version, plural, kind, namespaced };
}

export const coreResource = (plural: string, kind: string, namespaced = true) =>
  kubeResource('v1', plural, kind, namespaced);

export const ownResource = (plural: string, kind: string, namespaced = true) =>
  kubeResource('orrery.dev/v1alpha1', plural, kind, namespaced);

export const services = coreResource('services', 'Service');
export const endpointSlices = kubeResource('discovery.k8s.io/v1', 'endpointslices', 'EndpointSlice');
export const events = kubeResource('events.k8s.io/v1', 'events', 'Event');
export const tokenReviews = kubeResource('authentication.k8s.io/v1', 'tokenreviews', 'TokenReview', false);
export const subjectAccessReviews = kubeResource(
  'authorization.k8s.io/v1',
  'subjectaccessreviews',
  'SubjectAccessReview',
  false,
);
