import { describe, expect } from 'vitest';
import { until } from '../until.ts';
import type { Client, JsonObject } from './client.ts';
import { uniqueName } from './conformance.ts';
import { define, definitionOf, definitions, schema, test } from './things.ts';

async function document(api: Client, path: string): Promise<JsonObject> {
  const index = await api.get('/openapi/v3');
  const entry = (index.body.paths as Record<string, { serverRelativeURL: string }>)[path];
  const reply = await api.get(String(entry?.serverRelativeURL));
  expect(reply.code).toBe(200);
  return reply.body;
}

/** The schema that is made for a kind. */
function schemaOf(found: JsonObject, group: string, version: string, kind: string): JsonObject {
  const schemas = (found.components as JsonObject).schemas as Record<string, JsonObject>;
  const own = Object.values(schemas).find((candidate) =>
    ((candidate['x-kubernetes-group-version-kind'] ?? []) as JsonObject[]).some(
      (name) => name.group === group && name.version === version && name.kind === kind,
    ),
  );
  expect(own, kind).toBeDefined();
  return own ?? {};
}

/** The schema of a field, references followed. */
function field(found: JsonObject, from: JsonObject, ...path: string[]): JsonObject {
  const schemas = (found.components as JsonObject).schemas as Record<string, JsonObject>;
  let at: JsonObject = from;
  for (const name of path) {
    const next = ((resolved(at).properties ?? {}) as Record<string, JsonObject>)[name];
    expect(next, name).toBeDefined();
    at = next ?? {};
  }
  return at;

  function resolved(value: JsonObject): JsonObject {
    const inner = (value.items ?? value) as JsonObject;
    const reference = inner.$ref ?? (inner.allOf as JsonObject[] | undefined)?.[0]?.$ref;
    if (typeof reference !== 'string') return inner;
    return schemas[reference.replace('#/components/schemas/', '')] ?? {};
  }
}

describe('OpenAPI v3', () => {
  test('has an index of all groups and versions', async ({ api }) => {
    const { body } = await api.get('/openapi/v3');
    for (const path of [
      'api/v1',
      'apis/apps/v1',
      'apis/apiextensions.k8s.io/v1',
      'apis/coordination.k8s.io/v1',
      'apis/discovery.k8s.io/v1',
      'apis/events.k8s.io/v1',
    ])
      expect(body.paths).toHaveProperty(
        [path, 'serverRelativeURL'],
        expect.stringContaining(`${path}?hash=`),
      );
  });

  test.for([
    ['api/v1', '', ['Pod', 'Service', 'ConfigMap', 'Secret', 'Namespace', 'Node', 'Event', 'ServiceAccount']],
    ['apis/apps/v1', 'apps', ['Deployment', 'ReplicaSet', 'StatefulSet']],
    ['apis/coordination.k8s.io/v1', 'coordination.k8s.io', ['Lease']],
    ['apis/discovery.k8s.io/v1', 'discovery.k8s.io', ['EndpointSlice']],
    ['apis/apiextensions.k8s.io/v1', 'apiextensions.k8s.io', ['CustomResourceDefinition']],
  ] as const)('%s describes its kinds and their lists', async ([path, group, kinds], { api }) => {
    const found = await document(api, path);
    for (const kind of kinds) {
      const own = schemaOf(found, group, 'v1', kind);
      expect(Object.keys(own.properties ?? {})).toEqual(
        expect.arrayContaining(['apiVersion', 'kind', 'metadata']),
      );
      schemaOf(found, group, 'v1', `${kind}List`);
    }
  });

  test.for([
    ['api/v1', '', 'Pod', ['spec', 'containers'], 'name', 'merge'],
    ['api/v1', '', 'Pod', ['spec', 'containers', 'ports'], 'containerPort', 'merge'],
    ['api/v1', '', 'Pod', ['spec', 'containers', 'env'], 'name', 'merge'],
    ['api/v1', '', 'Pod', ['spec', 'volumes'], 'name', 'merge,retainKeys'],
    ['api/v1', '', 'Pod', ['spec', 'tolerations'], undefined, undefined],
    ['api/v1', '', 'Pod', ['metadata', 'finalizers'], undefined, 'merge'],
    ['api/v1', '', 'Pod', ['metadata', 'ownerReferences'], 'uid', 'merge'],
    ['api/v1', '', 'Service', ['spec', 'ports'], 'port', 'merge'],
    ['apis/apps/v1', 'apps', 'Deployment', ['spec', 'strategy'], undefined, 'retainKeys'],
    ['apis/apps/v1', 'apps', 'Deployment', ['spec', 'template', 'spec', 'containers'], 'name', 'merge'],
  ] as const)(
    '%s %s%s tells how %j is merged',
    async ([path, group, kind, fields, key, strategy], { api }) => {
      const found = await document(api, path);
      const own = field(found, schemaOf(found, group, 'v1', kind), ...fields);
      expect(own['x-kubernetes-patch-merge-key']).toBe(key);
      expect(own['x-kubernetes-patch-strategy']).toBe(strategy);
    },
  );

  test('the paths of a kind name it, and say that the server checks fields', async ({ api }) => {
    const { paths } = await document(api, 'api/v1');
    const item = (paths as Record<string, JsonObject>)['/api/v1/namespaces/{namespace}/pods/{name}'];
    const patch = item?.patch as JsonObject;
    expect(patch['x-kubernetes-group-version-kind']).toEqual({ group: '', version: 'v1', kind: 'Pod' });
    const parameters = (patch.parameters as JsonObject[]).map(({ name }) => name);
    expect(parameters).toEqual(
      expect.arrayContaining(['dryRun', 'fieldManager', 'fieldValidation', 'force']),
    );
  });

  test('a definition brings its schema, with descriptions, and takes it away', async ({ api, namespace }) => {
    const group = `${uniqueName('g')}.example.com`;
    const described = { ...schema, description: 'A thing of the test.' };
    const definition = definitionOf(group, 'things', 'Thing', { schema: { openAPIV3Schema: described } });
    await define(api, definition, `/apis/${group}/v1/namespaces/${namespace}/things`);
    const path = `apis/${group}/v1`;
    const isListed = async () => {
      const { body } = await api.get('/openapi/v3');
      return Object.hasOwn(body.paths as object, path);
    };
    await until(isListed, { what: `${path} in the index` });
    const found = await document(api, path);
    const own = schemaOf(found, group, 'v1', 'Thing');
    expect(own.description).toBe('A thing of the test.');
    expect(field(found, own, 'spec', 'count')).toMatchObject({ type: 'integer', minimum: 1, default: 3 });
    expect(field(found, own, 'metadata', 'labels')).toMatchObject({ type: 'object' });
    await api.delete(`${definitions}/things.${group}`);
    await until(async () => !(await isListed()), { what: `${path} out of the index` });
  });
});
