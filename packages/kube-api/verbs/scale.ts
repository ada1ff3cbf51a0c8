/** The `scale` subresource: the number of replicas of an object, seen as autoscaling/v1 Scale. */
import { invalidValue } from '../causes.ts';
import type { Answer, ApiRequest, Target } from '../http/request.ts';
import {
  at,
  copy,
  isObject,
  type Json,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
} from '../json.ts';
import { pathOf, type Resource, type ScalePaths } from '../resources/resource.ts';
import { invalid, modified } from '../status.ts';
import type { Version } from '../storage/version.ts';
import type { StoredObject } from '../stored-object.ts';
import type { Cluster } from '../verb-parts.ts';
import { bodyObject, patchValue } from '../writing/body.ts';
import { writeOptions, writerOf } from '../writing/options.ts';
import { replace } from '../writing/replace.ts';
import { formOf, patched } from './patch.ts';
import { existing } from './read.ts';

export function scaleObject(
  cluster: Cluster,
  request: ApiRequest,
  target: Target,
  paths: ScalePaths,
): Answer {
  const version = existing(cluster, target);
  const current = scaleOf(version, paths);
  if (request.method === 'GET') return { code: 200, body: JSON.stringify(current) };
  const isPut = request.method === 'PUT';
  const options = writeOptions(request.query, isPut ? 'UpdateOptions' : 'PatchOptions');
  const wanted = isPut ? bodyObject(request, target.resource) : patchedScale(request, current);
  const object = withReplicas(target.resource, version, wanted, paths);
  const stored = replace(cluster, target.resource, version, object, {
    part: 'object',
    isDryRun: options.isDryRun,
    writer: writerOf(request, options, 'scale'),
  });
  return { code: 200, body: JSON.stringify(scaleOf(stored, paths)) };
}

function patchedScale(request: ApiRequest, current: JsonObject): JsonObject {
  const form = formOf(request, ['json', 'merge', 'strategic']);
  return patched({ schema: {} }, form, current, patchValue(request, false));
}

function scaleOf({ object }: Version, paths: ScalePaths): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = selectorText(paths.selector === '' ? undefined : at(object, ...pathOf(paths.selector)));
  const replicas = numberAt(object, ...pathOf(paths.spec)) ?? 0;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid,
      resourceVersion,
      creationTimestamp,
    },
    spec: replicas === 0 ? {} : { replicas },
    status: {
      replicas: numberAt(object, ...pathOf(paths.status)) ?? 0,
      ...(selector === '' ? {} : { selector }),
    },
  };
}

function selectorText(selector: Json | undefined): string {
  if (typeof selector === 'string') return selector;
  const labels = Object.entries(objectAt(selector, 'matchLabels') ?? {}).map(
    ([key, value]) => `${key}=${value}`,
  );
  const expressions = objectsAt(selector, 'matchExpressions').map(expressionText);
  return [...labels.sort(), ...expressions].join(',');
}

function expressionText(expression: JsonObject): string {
  const key = textAt(expression, 'key');
  const values = Array.isArray(expression.values) ? expression.values.join(',') : '';
  if (expression.operator === 'Exists') return key;
  if (expression.operator === 'DoesNotExist') return `!${key}`;
  return `${key} ${expression.operator === 'In' ? 'in' : 'notin'} (${values})`;
}

function withReplicas(
  resource: Resource,
  version: Version,
  scale: JsonObject,
  paths: ScalePaths,
): StoredObject {
  const { name, resourceVersion } = version.object.metadata;
  const asked = textAt(scale, 'metadata', 'resourceVersion');
  if (asked !== '' && asked !== resourceVersion) throw modified(resource, name);
  const replicas = numberAt(scale, 'spec', 'replicas') ?? 0;
  if (replicas < 0)
    throw invalid({ kind: 'Scale', group: 'autoscaling' }, name, [
      invalidValue('spec.replicas', replicas, 'must be greater than or equal to 0'),
    ]);
  return withValue(copy(version.object), pathOf(paths.spec), replicas);
}

/** Sets a value in an object of the caller's own. */
function withValue(object: StoredObject, path: readonly string[], value: number): StoredObject {
  let owner: JsonObject = object;
  for (const key of path.slice(0, -1)) {
    const next = owner[key];
    const inner = isObject(next) ? next : {};
    owner[key] = inner;
    owner = inner;
  }
  owner[path.at(-1) ?? ''] = value;
  return object;
}
