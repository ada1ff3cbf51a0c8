/**
 * The built-in resources, as data: what the development API server serves besides custom resources.
 *
 * Names, short names, categories and verbs are those of the real server's discovery.
 */

import { leaseKind, namespaceKind, nodeKind } from '../kinds/cluster-objects.ts';
import { configMapKind, secretKind, serviceAccountKind } from '../kinds/configuration.ts';
import { controllerRevisionKind } from '../kinds/controller-revision.ts';
import { definitionKind } from '../kinds/definition.ts';
import { disruptionBudgetKind } from '../kinds/disruption-budget.ts';
import { endpointSliceKind } from '../kinds/endpoint-slice.ts';
import { eventFields, eventKind, fromEventsView, toEventsView } from '../kinds/event.ts';
import { type Kind, plainKind } from '../kinds/kind.ts';
import { podKind } from '../kinds/pod.ts';
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from '../kinds/roles.ts';
import { serviceKind } from '../kinds/service.ts';
import { deploymentKind, replicaSetKind, statefulSetKind } from '../kinds/workloads.ts';
import { builtinSchema } from '../schema/builtin-schemas.ts';
import type { Resource, ScalePaths, Verb } from './resource.ts';

const allVerbs: readonly Verb[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
];

interface Row {
  readonly kind: string;
  readonly rules: Kind;
  readonly group?: string;
  readonly plural?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly isClusterScoped?: true;
  readonly hasStatus?: true;
  readonly scale?: ScalePaths;
  readonly verbs?: readonly Verb[];
  /** Type in the table of built-in types, if it differs from the kind. */
  readonly type?: string;
  readonly storage?: string;
  readonly view?: Resource['view'];
}

const workloadScale: ScalePaths = {
  spec: '.spec.replicas',
  status: '.status.replicas',
  selector: '.spec.selector',
};

const rows: readonly Row[] = [
  { kind: 'ConfigMap', rules: configMapKind, shortNames: ['cm'] },
  { kind: 'Event', rules: eventKind, shortNames: ['ev'], type: 'CoreV1Event' },
  {
    kind: 'Namespace',
    rules: namespaceKind,
    shortNames: ['ns'],
    isClusterScoped: true,
    hasStatus: true,
    verbs: allVerbs.filter((verb) => verb !== 'deletecollection'),
  },
  { kind: 'Node', rules: nodeKind, shortNames: ['no'], isClusterScoped: true, hasStatus: true },
  { kind: 'Pod', rules: podKind, shortNames: ['po'], categories: ['all'], hasStatus: true },
  { kind: 'Secret', rules: secretKind },
  { kind: 'ServiceAccount', rules: serviceAccountKind, shortNames: ['sa'] },
  { kind: 'Service', rules: serviceKind, shortNames: ['svc'], categories: ['all'], hasStatus: true },
  { group: 'apps', kind: 'ControllerRevision', rules: controllerRevisionKind },
  {
    group: 'apps',
    kind: 'Deployment',
    rules: deploymentKind,
    shortNames: ['deploy'],
    categories: ['all'],
    hasStatus: true,
    scale: workloadScale,
  },
  {
    group: 'apps',
    kind: 'ReplicaSet',
    rules: replicaSetKind,
    shortNames: ['rs'],
    categories: ['all'],
    hasStatus: true,
    scale: workloadScale,
  },
  {
    group: 'apps',
    kind: 'StatefulSet',
    rules: statefulSetKind,
    shortNames: ['sts'],
    categories: ['all'],
    hasStatus: true,
    scale: workloadScale,
  },
  {
    group: 'events.k8s.io',
    kind: 'Event',
    rules: { ...eventKind, fields: eventFields('regarding') },
    shortNames: ['ev'],
    type: 'EventsV1Event',
    storage: 'events',
    view: { show: toEventsView, store: fromEventsView },
  },
  { group: 'discovery.k8s.io', kind: 'EndpointSlice', rules: endpointSliceKind },
  {
    group: 'networking.k8s.io',
    kind: 'Ingress',
    plural: 'ingresses',
    rules: plainKind,
    shortNames: ['ing'],
    hasStatus: true,
  },
  { group: 'coordination.k8s.io', kind: 'Lease', rules: leaseKind },
  {
    group: 'policy',
    kind: 'PodDisruptionBudget',
    rules: disruptionBudgetKind,
    shortNames: ['pdb'],
    hasStatus: true,
  },
  {
    group: 'apiextensions.k8s.io',
    kind: 'CustomResourceDefinition',
    rules: definitionKind,
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
    isClusterScoped: true,
    hasStatus: true,
  },
];

const roles: readonly Row[] = [
  { kind: 'ClusterRole', rules: clusterRoleKind, isClusterScoped: true },
  { kind: 'ClusterRoleBinding', rules: clusterRoleBindingKind, isClusterScoped: true },
  { kind: 'Role', rules: roleKind },
  { kind: 'RoleBinding', rules: roleBindingKind },
].map((row) => ({ group: 'rbac.authorization.k8s.io', ...row }) as Row);

/** Questions, which are answered but not stored. */
const review = { rules: plainKind, verbs: ['create'], isClusterScoped: true } as const;

const reviews: readonly Row[] = [
  { group: 'authentication.k8s.io', kind: 'SelfSubjectReview', ...review },
  { group: 'authentication.k8s.io', kind: 'TokenReview', ...review },
  { group: 'authorization.k8s.io', kind: 'LocalSubjectAccessReview', rules: plainKind, verbs: ['create'] },
  { group: 'authorization.k8s.io', kind: 'SelfSubjectAccessReview', ...review },
  { group: 'authorization.k8s.io', kind: 'SelfSubjectRulesReview', ...review },
  { group: 'authorization.k8s.io', kind: 'SubjectAccessReview', ...review },
];

export const builtinResources: readonly Resource[] = [...rows, ...roles, ...reviews].map(toResource);

function toResource(row: Row): Resource {
  const group = row.group ?? '';
  const singular = row.kind.toLowerCase();
  const plural = row.plural ?? `${singular}s`;
  return {
    group,
    version: 'v1',
    plural,
    singular,
    kind: row.kind,
    listKind: `${row.kind}List`,
    namespaced: row.isClusterScoped !== true,
    shortNames: row.shortNames ?? [],
    categories: row.categories ?? [],
    verbs: row.verbs ?? allVerbs,
    hasStatus: row.hasStatus === true,
    scale: row.scale ?? null,
    storage: row.storage ?? storageName(group, plural),
    schema: builtinSchema(row.type ?? row.kind),
    isCustom: false,
    rules: row.rules,
    ...(row.view === undefined ? {} : { view: row.view }),
  };
}

export function storageName(group: string, plural: string): string {
  return group === '' ? plural : `${group}/${plural}`;
}
