/**
 * The paths of OpenAPI documents: which requests exist for which kind, and which query parameters they
 * accept. kubectl looks here to learn whether the server validates fields itself (`fieldValidation`) and
 * which kind a resource shows.
 */
import type { JsonObject } from '../json.ts';
import type { Resource, Verb } from '../resources/resource.ts';
import { resourceSchemaName } from './schema-names.ts';
import { reference } from './schemas.ts';

interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  readonly verb: Verb;
  readonly action: string;
  readonly query: readonly string[];
}

const listQuery = [
  'allowWatchBookmarks',
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeoutSeconds',
  'watch',
];
const writeQuery = ['dryRun', 'fieldManager', 'fieldValidation'];
const deleteQuery = ['dryRun', 'gracePeriodSeconds', 'orphanDependents', 'propagationPolicy'];

const onCollection: readonly Operation[] = [
  { method: 'get', verb: 'list', action: 'list', query: listQuery },
  { method: 'post', verb: 'create', action: 'post', query: writeQuery },
  {
    method: 'delete',
    verb: 'deletecollection',
    action: 'deletecollection',
    query: [...listQuery, ...deleteQuery],
  },
];

const onObject: readonly Operation[] = [
  { method: 'get', verb: 'get', action: 'get', query: ['resourceVersion'] },
  { method: 'put', verb: 'update', action: 'put', query: writeQuery },
  { method: 'patch', verb: 'patch', action: 'patch', query: [...writeQuery, 'force'] },
  { method: 'delete', verb: 'delete', action: 'delete', query: deleteQuery },
];

const onPart: readonly Operation[] = onObject.filter(({ method }) => method !== 'delete');

export function pathsOf(resources: readonly Resource[]): JsonObject {
  return Object.fromEntries(resources.flatMap(resourcePaths));
}

function resourcePaths(resource: Resource): Array<[string, JsonObject]> {
  const { group, version, plural, namespaced } = resource;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const collection = `${root}/${namespaced ? 'namespaces/{namespace}/' : ''}${plural}`;
  const object = `${collection}/{name}`;
  const paths: Array<[string, JsonObject]> = [
    [collection, pathItem(resource, collection, onCollection)],
    [object, pathItem(resource, object, onObject)],
  ];
  if (namespaced) {
    const everywhere = onCollection.filter(({ verb }) => verb === 'list');
    paths.push([`${root}/${plural}`, pathItem(resource, `${root}/${plural}`, everywhere)]);
  }
  if (resource.hasStatus) paths.push([`${object}/status`, pathItem(resource, `${object}/status`, onPart)]);
  return paths;
}

function pathItem(resource: Resource, path: string, operations: readonly Operation[]): JsonObject {
  const item: JsonObject = {};
  for (const operation of operations) {
    if (resource.verbs.includes(operation.verb)) item[operation.method] = operationOf(resource, operation);
  }
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
  item.parameters = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  return item;
}

function operationOf(resource: Resource, { action, query }: Operation): JsonObject {
  const { group, version, kind } = resource;
  const content = { 'application/json': { schema: reference(resourceSchemaName(resource)) } };
  return {
    description: `${action} ${kind}`,
    parameters: query.map((name) => ({ name, in: 'query', schema: { type: typeOfParameter(name) } })),
    responses: { 200: { description: 'OK', content } },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group, version, kind },
  };
}

function typeOfParameter(name: string): string {
  if (['limit', 'timeoutSeconds', 'gracePeriodSeconds'].includes(name)) return 'integer';
  return ['allowWatchBookmarks', 'sendInitialEvents', 'watch', 'force', 'orphanDependents'].includes(name)
    ? 'boolean'
    : 'string';
}
