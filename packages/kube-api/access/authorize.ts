/**
 * Whether a user may do something: the rules of the roles bound to the user or to one of the user's groups.
 *
 * Owns: role-based access as in `rbac.authorization.k8s.io/v1`. Absent: the check that nobody grants more
 * than they have, and the aggregation of cluster roles.
 */

import { type JsonObject, listAt, objectAt, objectsAt, textAt } from '../json.ts';
import { ApiError, type ErrorDetails, qualified } from '../status.ts';
import type { StoredObject } from '../stored-object.ts';
import type { Cluster } from '../verb-parts.ts';
import type { Attributes, ResourceAttributes } from './attributes.ts';
import { mastersGroup, type User } from './users.ts';

export const roleGroup = 'rbac.authorization.k8s.io';

export interface Decision {
  readonly isAllowed: boolean;
  /** The binding that allows it; empty if none was needed, or none was found. */
  readonly reason: string;
}

export function decide(cluster: Cluster, user: User, attributes: Attributes): Decision {
  if (user.groups.includes(mastersGroup)) return { isAllowed: true, reason: '' };
  const namespace = 'path' in attributes ? '' : attributes.namespace;
  for (const grant of grantsOf(cluster, user, namespace))
    if (grant.rules.some((rule) => allows(rule, attributes)))
      return { isAllowed: true, reason: grantText(grant, namespace) };
  return { isAllowed: false, reason: '' };
}

/** @throws ApiError 403 */
export function authorize(cluster: Cluster, user: User, attributes: Attributes): void {
  if (decide(cluster, user, attributes).isAllowed) return;
  if ('path' in attributes) {
    const text = `forbidden: User ${JSON.stringify(user.name)} cannot ${attributes.verb} path ${JSON.stringify(attributes.path)}`;
    throw new ApiError(403, 'Forbidden', text, { details: {} });
  }
  throw refusal(user, attributes);
}

function refusal(user: User, attributes: ResourceAttributes): ApiError {
  const { verb, group, resource, subresource, namespace, name } = attributes;
  const part = subresource === '' ? resource : `${resource}/${subresource}`;
  const place = namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(namespace)}`;
  const what = `${qualified({ plural: resource, group })}${name === '' ? '' : ` ${JSON.stringify(name)}`}`;
  const why = `User ${JSON.stringify(user.name)} cannot ${verb} resource ${JSON.stringify(part)} in API group ${JSON.stringify(group)} ${place}`;
  const details: ErrorDetails = {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    kind: resource,
  };
  return new ApiError(403, 'Forbidden', `${what} is forbidden: ${why}`, { details });
}

interface Grant {
  readonly kind: 'ClusterRoleBinding' | 'RoleBinding';
  readonly binding: StoredObject;
  readonly subject: JsonObject;
  readonly rules: readonly JsonObject[];
}

/** What is bound to the user: for the whole cluster, then in the namespace. */
function* grantsOf(cluster: Cluster, user: User, namespace: string): Generator<Grant> {
  const kinds = namespace === '' ? (['ClusterRoleBinding'] as const) : bothKinds;
  for (const kind of kinds) {
    const place = kind === 'RoleBinding' ? namespace : '';
    const collection = cluster.store.collection(`${roleGroup}/${kind.toLowerCase()}s`);
    for (const { object: binding } of collection.list(place === '' ? undefined : place)) {
      const subject = objectsAt(binding, 'subjects').find((item) => isAbout(item, user, place));
      if (subject === undefined) continue;
      yield { kind, binding, subject, rules: objectsAt(roleOf(cluster, binding, place), 'rules') };
    }
  }
}

const bothKinds = ['ClusterRoleBinding', 'RoleBinding'] as const;

/** Every rule that is bound to the user, for the whole cluster or in the namespace. */
export function rulesOf(cluster: Cluster, user: User, namespace: string): JsonObject[] {
  return [...grantsOf(cluster, user, namespace)].flatMap(({ rules }) => rules);
}

function grantText({ kind, binding, subject }: Grant, namespace: string): string {
  const { name } = binding.metadata;
  const place = kind === 'RoleBinding' ? namespace : '';
  const shown = place === '' ? name : `${name}/${place}`;
  const ref = `${textAt(binding, 'roleRef', 'kind')} ${JSON.stringify(textAt(binding, 'roleRef', 'name'))}`;
  return `RBAC: allowed by ${kind} ${JSON.stringify(shown)} of ${ref} to ${subjectText(subject, place)}`;
}

function isAbout(subject: JsonObject, user: User, namespace: string): boolean {
  const name = textAt(subject, 'name');
  switch (subject.kind) {
    case 'User':
      return user.name === name;
    case 'Group':
      return user.groups.includes(name);
    case 'ServiceAccount':
      return user.name === `system:serviceaccount:${textAt(subject, 'namespace') || namespace}:${name}`;
    default:
      return false;
  }
}

function subjectText(subject: JsonObject, namespace: string): string {
  const name = textAt(subject, 'name');
  const isAccount = subject.kind === 'ServiceAccount';
  return `${subject.kind} ${JSON.stringify(isAccount ? `${name}/${textAt(subject, 'namespace') || namespace}` : name)}`;
}

function roleOf(cluster: Cluster, binding: StoredObject, namespace: string): StoredObject | undefined {
  const ref = objectAt(binding, 'roleRef');
  const isLocal = textAt(ref, 'kind') === 'Role';
  const collection = cluster.store.collection(`${roleGroup}/${isLocal ? 'roles' : 'clusterroles'}`);
  return collection.get({ namespace: isLocal ? namespace : '', name: textAt(ref, 'name') })?.object;
}

/** Whether a role's rule covers the request. */
export function allows(rule: JsonObject, attributes: Attributes): boolean {
  if (!holds(rule, 'verbs', attributes.verb)) return false;
  if ('path' in attributes)
    return listAt(rule, 'nonResourceURLs').some((url) => coversPath(String(url), attributes.path));
  const { group, resource, subresource, name } = attributes;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  const resources = listAt(rule, 'resources');
  const names = listAt(rule, 'resourceNames');
  const coversResource =
    resources.includes('*') ||
    resources.includes(whole) ||
    (subresource !== '' && resources.includes(`*/${subresource}`));
  return holds(rule, 'apiGroups', group) && coversResource && (names.length === 0 || names.includes(name));
}

function holds(rule: JsonObject, field: string, value: string): boolean {
  const list = listAt(rule, field);
  return list.includes('*') || list.includes(value);
}

function coversPath(url: string, path: string): boolean {
  return url === '*' || url === path || (url.endsWith('*') && path.startsWith(url.slice(0, -1)));
}
