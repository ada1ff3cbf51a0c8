/**
 * OpenAPI v3: the index at `/openapi/v3`, and one document for each group and version.
 *
 * Promises: documents follow the definitions at once. Their addresses contain a hash, so that clients may
 * cache them. Absent: documents as protobuf, and the old form (v2) beyond its frame.
 */
import { createHash } from 'node:crypto';
import { groupsOf } from '../http/discovery.ts';
import type { Answer, ApiRequest } from '../http/request.ts';
import type { JsonObject } from '../json.ts';
import { apiVersionOf, type Resource } from '../resources/resource.ts';
import { builtinSchema } from '../schema/builtin-schemas.ts';
import type { Cluster } from '../verb-parts.ts';
import { pathsOf } from './paths.ts';
import { listMetaName, objectMetaName, resourceSchemaName } from './schema-names.ts';
import { addType, type Components, reference } from './schemas.ts';

/** Clients ask for it in a spelling that is not a media type; the answer uses one that is. */
const protobufAsked = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const protobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const info = { title: 'Kubernetes', version: 'v1.36.0' };

const root = '/openapi/v3';

/** undefined: the request is for something else. */
export function openApiAnswer(cluster: Cluster, request: ApiRequest): Answer | undefined {
  const old = oldOpenApiAnswer(request);
  if (old !== undefined) return old;
  if (request.method !== 'GET' || !request.path.startsWith(root)) return undefined;
  if (request.path === root || request.path === `${root}/`) return answer(indexText(cluster));
  const resources = resourcesAt(cluster, request.path.slice(root.length + 1));
  return resources.length === 0 ? undefined : answer(documentText(resources));
}

function answer(body: string): Answer {
  return { code: 200, body };
}

function indexText(cluster: Cluster): string {
  const paths = groupPaths(cluster).map((path): [string, JsonObject] => {
    const text = documentText(resourcesAt(cluster, path));
    const hash = createHash('sha256').update(text).digest('hex').toUpperCase();
    return [path, { serverRelativeURL: `${root}/${path}?hash=${hash}` }];
  });
  return JSON.stringify({ paths: Object.fromEntries(paths) });
}

function groupPaths({ registry }: Cluster): string[] {
  const named = [...groupsOf(registry)].flatMap(([group, versions]) =>
    versions.map((version) => `apis/${group}/${version}`),
  );
  return ['api/v1', ...named.sort()];
}

function resourcesAt({ registry }: Cluster, path: string): Resource[] {
  return registry.all().filter((resource) => {
    const apiVersion = apiVersionOf(resource);
    return path === (resource.group === '' ? `api/${apiVersion}` : `apis/${apiVersion}`);
  });
}

/** Documents of built-in kinds never change. */
const builtinTexts = new Map<string, string>();

function documentText(resources: readonly Resource[]): string {
  const [first] = resources;
  const key = first === undefined || first.isCustom ? '' : apiVersionOf(first);
  const known = builtinTexts.get(key);
  if (known !== undefined) return known;
  const text = JSON.stringify(documentOf(resources));
  if (key !== '') builtinTexts.set(key, text);
  return text;
}

function documentOf(resources: readonly Resource[]): JsonObject {
  const components: Components = new Map();
  addType(components, builtinSchema('ObjectMeta'));
  components.set(listMetaName, {
    type: 'object',
    properties: {
      continue: { type: 'string' },
      remainingItemCount: { type: 'integer', format: 'int64' },
      resourceVersion: { type: 'string' },
    },
  });
  for (const resource of resources) addResource(components, resource);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'v1.36.0' },
    paths: pathsOf(resources),
    components: { schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))) },
  };
}

function addResource(components: Components, resource: Resource): void {
  const { group, version, kind, listKind } = resource;
  const name = resourceSchemaName(resource);
  if (resource.isCustom) components.set(name, customSchema(resource));
  else addType(components, resource.schema);
  const schema = components.get(name) ?? {};
  schema['x-kubernetes-group-version-kind'] = [{ group, version, kind }];
  components.set(name.replace(/[^.]+$/, listKind), {
    description: `A list of ${kind}.`,
    type: 'object',
    required: ['items'],
    properties: {
      apiVersion: { type: 'string' },
      items: { type: 'array', items: reference(name) },
      kind: { type: 'string' },
      metadata: { allOf: [reference(listMetaName)] },
    },
    'x-kubernetes-group-version-kind': [{ group, version, kind: listKind }],
  });
}

const typeFields: JsonObject = {
  apiVersion: {
    description: 'Group and version of the schema that the object is written in.',
    type: 'string',
  },
  kind: { description: 'What the object is.', type: 'string' },
  metadata: {
    description: 'Name, labels and what else every object has.',
    allOf: [reference(objectMetaName)],
  },
};

/** The definition's own schema, plus what every object has. */
function customSchema({ schema }: Resource): JsonObject {
  const own = schema as JsonObject;
  const properties = typeof own.properties === 'object' ? (own.properties as JsonObject) : {};
  return { ...own, type: 'object', properties: { ...properties, ...typeFields } };
}

/**
 * OpenAPI v2, which describes nothing here. kubectl asks for it before it can say that a kind is unknown
 * ("ensure CRDs are installed first"), and accepts a document without kinds. undefined: the request is for
 * something else.
 */
function oldOpenApiAnswer(request: ApiRequest): Answer | undefined {
  if (request.method !== 'GET' || request.path !== '/openapi/v2') return undefined;
  if (request.accept.includes(protobufAsked))
    return { code: 200, body: protobufDocument(), contentType: protobufType };
  return { code: 200, body: JSON.stringify({ swagger: '2.0', info, paths: {} }) };
}

/** The same in protobuf: all texts are short and plain, so each length is one byte. */
function protobufDocument(): string {
  const field = (number: number, text: string) => String.fromCharCode((number << 3) | 2, text.length) + text;
  return field(1, '2.0') + field(2, field(1, info.title) + field(2, info.version)) + field(8, '');
}
