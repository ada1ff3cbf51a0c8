/** The resources that the development cluster's own controllers use. */
import type { KubeResource } from '../../src/base/kube-port.ts';
import { coreResource } from '../../src/kube/api/resources.ts';

const appsResource = (plural: string, kind: string): KubeResource => ({
  group: 'apps',
  version: 'v1',
  plural,
  kind,
  namespaced: true,
});

export const namespaces = coreResource('namespaces', 'Namespace', false);
export const nodes = coreResource('nodes', 'Node', false);
export const serviceAccounts = coreResource('serviceaccounts', 'ServiceAccount');
export const pods = coreResource('pods', 'Pod');
export const deployments = appsResource('deployments', 'Deployment');
export const statefulSets = appsResource('statefulsets', 'StatefulSet');
export const customResourceDefinitions: KubeResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};
