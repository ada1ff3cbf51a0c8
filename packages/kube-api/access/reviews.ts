/** Reviews: questions about tokens, users and access, which are answered but not stored. */
import { kubeTime } from '../../../src/base/kube-time.ts';
import { invalidValue } from '../causes.ts';
import type { Answer, ApiRequest, Target } from '../http/request.ts';
import { isObject, type JsonObject, listAt, objectAt, textAt } from '../json.ts';
import { apiVersionOf, type Resource } from '../resources/resource.ts';
import { badRequest, invalid } from '../status.ts';
import type { Cluster } from '../verb-parts.ts';
import { bodyObject } from '../writing/body.ts';
import { writeOptions } from '../writing/options.ts';
import { readObject } from '../writing/read-object.ts';
import type { Attributes } from './attributes.ts';
import { decide, rulesOf } from './authorize.ts';
import { ownAudience } from './tokens.ts';
import { type User, userInfo } from './users.ts';

type Review = (cluster: Cluster, asker: User, spec: JsonObject, target: Target) => JsonObject;

const reviews: Readonly<Record<string, Review>> = {
  TokenReview: (cluster, _asker, spec) => reviewToken(cluster, spec),
  SubjectAccessReview: (cluster, _asker, spec) => access(cluster, namedUser(spec), spec),
  LocalSubjectAccessReview: (cluster, _asker, spec, target) => {
    checkNamespace(spec, target.namespace ?? '');
    return access(cluster, namedUser(spec), spec);
  },
  SelfSubjectAccessReview: (cluster, asker, spec) => access(cluster, asker, spec),
  SelfSubjectRulesReview: (cluster, asker, spec) => allRules(cluster, asker, textAt(spec, 'namespace')),
  SelfSubjectReview: (_cluster, asker) => ({ userInfo: userInfo(asker) }),
};

export function isReview({ kind, group }: Pick<Resource, 'kind' | 'group'>): boolean {
  return Object.hasOwn(reviews, kind) && /^auth\w+\.k8s\.io$/.test(group);
}

export function answerReview(cluster: Cluster, request: ApiRequest, target: Target): Answer {
  const { resource } = target;
  const options = writeOptions(request.query, 'CreateOptions');
  const { object, warnings } = readObject(resource, bodyObject(request, resource), options);
  const spec = objectAt(object, 'spec') ?? {};
  const status = reviews[resource.kind]?.(cluster, request.user, spec, target) ?? {};
  const isAboutSelf = resource.kind === 'SelfSubjectReview';
  const metadata = {
    ...(target.namespace === undefined ? {} : { namespace: target.namespace }),
    ...(isAboutSelf ? { creationTimestamp: kubeTime(cluster.clock.now()) } : {}),
  };
  const type = { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata };
  // The real server repeats the question, except for the namespace of rules.
  const asked = resource.kind === 'SelfSubjectRulesReview' ? {} : spec;
  const body = isAboutSelf ? { ...type, status } : { ...type, spec: asked, status };
  return { code: 201, body: JSON.stringify(body), warnings };
}

function reviewToken(cluster: Cluster, spec: JsonObject): JsonObject {
  const token = textAt(spec, 'token');
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  const asked = listAt(spec, 'audiences').map(String);
  const known = cluster.tokens.find(token);
  if (known === undefined) return { user: {}, error: 'invalid bearer token' };
  const wanted = asked.length === 0 ? [ownAudience] : asked;
  const audiences = known.audiences.filter((audience) => wanted.includes(audience));
  if (audiences.length === 0) {
    const [own, target] = [known.audiences, wanted].map(
      (list) => `[${list.map((text) => JSON.stringify(text)).join(' ')}]`,
    );
    const error = `[invalid bearer token, token audiences ${own} is invalid for the target audiences ${target}]`;
    return { user: {}, error };
  }
  return { authenticated: true, user: userInfo(known.user), audiences };
}

function access(cluster: Cluster, user: User, spec: JsonObject): JsonObject {
  const { isAllowed, reason } = decide(cluster, user, askedOf(spec));
  return { allowed: isAllowed, ...(reason === '' ? {} : { reason }) };
}

/** As the real server answers: what the user may do anywhere, and in the namespace. */
function allRules(cluster: Cluster, user: User, namespace: string): JsonObject {
  if (namespace === '') throw badRequest('no namespace on request');
  const rules = rulesOf(cluster, user, namespace);
  const onPaths = rules.filter((rule) => listAt(rule, 'nonResourceURLs').length > 0);
  const onResources = rules.filter((rule) => listAt(rule, 'resources').length > 0);
  return { resourceRules: onResources, nonResourceRules: onPaths, incomplete: false };
}

function askedOf(spec: JsonObject): Attributes {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec;
  if (isObject(resource) && isObject(path)) {
    const shown = { Path: textAt(path, 'path'), Verb: textAt(path, 'verb') };
    throw refused(
      'spec.nonResourceAttributes',
      shown,
      'cannot be specified in combination with resourceAttributes',
    );
  }
  if (isObject(path)) return { verb: textAt(path, 'verb'), path: textAt(path, 'path') };
  if (!isObject(resource)) {
    const text = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    throw refused('spec.resourceAttributes', null, text);
  }
  return {
    verb: textAt(resource, 'verb'),
    group: textAt(resource, 'group'),
    resource: textAt(resource, 'resource'),
    subresource: textAt(resource, 'subresource'),
    namespace: textAt(resource, 'namespace'),
    name: textAt(resource, 'name'),
  };
}

function namedUser(spec: JsonObject): User {
  const name = textAt(spec, 'user');
  const groups = listAt(spec, 'groups').map(String);
  if (name === '' && groups.length === 0)
    throw refused('spec.user', '', 'at least one of user or group must be specified');
  return { name, uid: textAt(spec, 'uid'), groups, extra: {} };
}

function checkNamespace(spec: JsonObject, namespace: string): void {
  const asked = textAt(spec, 'resourceAttributes', 'namespace');
  if (asked !== namespace)
    throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${namespace}`);
}

/** The real server names no kind here. */
function refused(field: string, value: JsonObject | string | null, why: string) {
  return invalid({ kind: '', group: 'authorization.k8s.io' }, '', [invalidValue(field, value, why)]);
}
