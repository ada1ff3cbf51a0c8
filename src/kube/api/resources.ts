/** The resources that Orrery knows by name. */
import type { KubeResource } from './port.ts';

const core = (plural: string, kind: string, namespaced = true): KubeResource => ({
  group: '',
  version: 'v1',
  plural,
  kind,
  namespaced,
});

export const pods = core('pods', 'Pod');
export const services = core('services', 'Service');
export const namespaces = core('namespaces', 'Namespace', false);
export const serviceAccounts = core('serviceaccounts', 'ServiceAccount');
export const nodes = core('nodes', 'Node', false);
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
export const statefulSets: KubeResource = {
  group: 'apps',
  version: 'v1',
  plural: 'statefulsets',
  kind: 'StatefulSet',
  namespaced: true,
};
export const deployments: KubeResource = {
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
  namespaced: true,
};
export const customResourceDefinitions: KubeResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};
export const routeGates: KubeResource = {
  group: 'orrery.dev',
  version: 'v1alpha1',
  plural: 'routegates',
  kind: 'RouteGate',
  namespaced: true,
};
export const releases: KubeResource = {
  group: 'orrery.dev',
  version: 'v1alpha1',
  plural: 'releases',
  kind: 'Release',
  namespaced: false,
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
export const secrets = core('secrets', 'Secret');
export const domains: KubeResource = {
  group: 'orrery.dev',
  version: 'v1alpha1',
  plural: 'domains',
  kind: 'Domain',
  namespaced: true,
};
export const issuers: KubeResource = {
  group: 'orrery.dev',
  version: 'v1alpha1',
  plural: 'issuers',
  kind: 'Issuer',
  namespaced: false,
};
export const leases: KubeResource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};
export const elections: KubeResource = {
  group: 'orrery.dev',
  version: 'v1alpha1',
  plural: 'elections',
  kind: 'Election',
  namespaced: true,
};
export const externalWorkloads: KubeResource = {
  group: 'workload.linkerd.io',
  version: 'v1beta1',
  plural: 'externalworkloads',
  kind: 'ExternalWorkload',
  namespaced: true,
};
