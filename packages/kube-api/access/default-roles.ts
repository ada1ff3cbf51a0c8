/** Roles that every cluster has: what anyone may read, and the usual ones for people. */
import { invariant } from '../../../src/base/errors.ts';
import type { JsonObject } from '../json.ts';
import type { Cluster } from '../verb-parts.ts';
import { insert } from '../writing/insert.ts';
import { readObject } from '../writing/read-object.ts';
import { roleGroup } from './authorize.ts';
import { mastersGroup } from './users.ts';

const healthPaths = ['/healthz', '/livez', '/readyz', '/version', '/version/'];
const discoveryPaths = ['/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*', ...healthPaths];
const reading = ['get', 'list', 'watch'];
const writing = ['create', 'delete', 'deletecollection', 'patch', 'update'];

const people = ['Group', 'system:authenticated'] as const;

interface DefaultRole {
  readonly rules: JsonObject[];
  /** Kind and name of the subjects that have the role everywhere. */
  readonly subjects?: ReadonlyArray<readonly [kind: string, name: string]>;
}

const onPaths = (...paths: string[]): JsonObject => ({ nonResourceURLs: paths, verbs: ['get'] });

const reviews: JsonObject[] = [
  {
    apiGroups: ['authorization.k8s.io'],
    resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
    verbs: ['create'],
  },
  { apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'], verbs: ['create'] },
];

/** Rules for everything in a namespace that this server has, except Secrets, roles and tokens. */
const inNamespaces = (verbs: string[], ...more: string[]): JsonObject[] => [
  {
    apiGroups: [''],
    resources: [
      'configmaps',
      'events',
      'pods',
      'pods/status',
      'serviceaccounts',
      'services',
      'services/status',
      ...more,
    ],
    verbs,
  },
  { apiGroups: ['apps'], resources: ['*'], verbs },
  { apiGroups: ['coordination.k8s.io', 'discovery.k8s.io', 'events.k8s.io'], resources: ['*'], verbs },
];

const all = [...reading, ...writing];

const roles: Readonly<Record<string, DefaultRole>> = {
  'cluster-admin': {
    rules: [
      { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
      { nonResourceURLs: ['*'], verbs: ['*'] },
    ],
    subjects: [['Group', mastersGroup]],
  },
  'system:discovery': { rules: [onPaths(...discoveryPaths)], subjects: [people] },
  'system:basic-user': { rules: reviews, subjects: [people] },
  'system:public-info-viewer': {
    rules: [onPaths(...healthPaths)],
    subjects: [people, ['Group', 'system:unauthenticated']],
  },
  view: { rules: inNamespaces(reading, 'namespaces') },
  edit: { rules: inNamespaces(all, 'secrets') },
  admin: {
    rules: [
      ...inNamespaces(all, 'secrets', 'serviceaccounts/token'),
      { apiGroups: [roleGroup], resources: ['roles', 'rolebindings'], verbs: all },
      { apiGroups: ['authorization.k8s.io'], resources: ['localsubjectaccessreviews'], verbs: ['create'] },
    ],
  },
};

export function createDefaultRoles(cluster: Cluster): void {
  const metadata = { labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' } };
  for (const [name, { rules, subjects }] of Object.entries(roles)) {
    create(cluster, 'clusterroles', { metadata: { name, ...metadata }, rules });
    if (subjects === undefined) continue;
    create(cluster, 'clusterrolebindings', {
      metadata: { name, ...metadata },
      subjects: subjects.map(([kind, subject]) => ({ kind, name: subject, apiGroup: roleGroup })),
      roleRef: { apiGroup: roleGroup, kind: 'ClusterRole', name },
    });
  }
}

function create(cluster: Cluster, plural: string, value: JsonObject): void {
  const resource = cluster.registry.find(roleGroup, 'v1', plural);
  invariant(resource, 'roles are built in', { plural });
  const { object } = readObject(resource, value, { fieldValidation: 'Strict' });
  insert(cluster, resource, object, { namespace: '', isDryRun: false });
}
