/** For the tests of custom resources: a definition with one of everything, and objects of it. */
import { until } from '../until.ts';
import type { Client, Json, JsonObject, Reply } from './client.ts';
import { test as base, uniqueName } from './conformance.ts';

/** Path of the definitions. */
export const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const spec: JsonObject = {
  type: 'object',
  required: ['text'],
  properties: {
    text: { type: 'string', minLength: 2, maxLength: 4, pattern: '^a' },
    count: { type: 'integer', minimum: 1, maximum: 5, default: 3 },
    choice: { type: 'string', enum: ['X', 'Y'] },
    nested: { type: 'object', default: {}, properties: { inner: { type: 'string', default: 'filled' } } },
    items: {
      type: 'array',
      minItems: 1,
      maxItems: 2,
      items: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' }, weight: { type: 'integer', default: 1 } },
      },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
    },
    unique: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    map: { type: 'object', maxProperties: 2, additionalProperties: { type: 'string' } },
    maybe: { type: 'string', nullable: true },
    above: { type: 'number', minimum: 0, exclusiveMinimum: true },
    thirds: { type: 'integer', multipleOf: 3 },
    when: { type: 'string', format: 'date-time' },
    portion: { 'x-kubernetes-int-or-string': true },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    either: {
      type: 'object',
      properties: { a: { type: 'integer' }, b: { type: 'integer' } },
      oneOf: [{ required: ['a'] }, { required: ['b'] }],
    },
  },
};

/** The schema of a thing. */
export const schema: JsonObject = {
  type: 'object',
  required: ['spec'],
  properties: { spec, status: { type: 'object', properties: { seen: { type: 'integer' } } } },
};

export interface Thing {
  readonly group: string;
  /** Name of the definition. */
  readonly definition: string;
  /** Path of the things in the test's namespace. */
  readonly path: string;
  thing(name: string, spec: Json, more?: JsonObject): JsonObject;
}

/** A schema with validation rules. */
export const ruled = (own: JsonObject, ...rules: JsonObject[]): JsonObject => ({
  ...own,
  'x-kubernetes-validations': rules,
});

/** `field: message` of each cause of a refusal. */
export function told(reply: Reply): string[] {
  const { causes = [] } = (reply.body.details ?? {}) as { causes?: JsonObject[] };
  return causes.map(({ field, message }) => `${field}: ${message}`);
}

/** A definition of one version, `v1`; `version` and `more` change the version and the specification. */
export function definitionOf(
  group: string,
  plural: string,
  kind: string,
  version: JsonObject = {},
  more: JsonObject = {},
): JsonObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...version },
      ],
      ...more,
    },
  };
}

/** Applies a definition and waits until its resources are served. */
export async function define(api: Client, definition: JsonObject, path: string): Promise<void> {
  const made = await api.post(definitions, definition);
  if (made.code !== 201) throw new Error(made.text);
  await until(async () => (await api.get(path)).code === 200, {
    what: `${path} is served`,
    timeoutMs: 20_000,
  });
}

export function thingsOf(group: string, namespace: string): Thing {
  return {
    group,
    definition: `things.${group}`,
    path: `/apis/${group}/v1/namespaces/${namespace}/things`,
    thing: (name, own, more = {}) => ({
      apiVersion: `${group}/v1`,
      kind: 'Thing',
      metadata: { name },
      spec: own,
      ...more,
    }),
  };
}

/** Defines things in a group of their own. */
export async function defineThings(api: Client): Promise<string> {
  const group = `${uniqueName('g')}.example.com`;
  const subresources = {
    status: {},
    scale: { specReplicasPath: '.spec.count', statusReplicasPath: '.status.seen' },
  };
  const names = { plural: 'things', kind: 'Thing', shortNames: ['th'], categories: ['oddities'] };
  const definition = definitionOf(group, 'things', 'Thing', { subresources }, { names });
  await define(api, definition, `/apis/${group}/v1/things`);
  return group;
}

export const test = base.extend<{ group: string; things: Thing }>({
  group: [
    async ({ api }, use) => {
      const group = await defineThings(api);
      await use(group);
      await api.delete(`${definitions}/things.${group}`);
    },
    { scope: 'file' },
  ],
  things: async ({ group, namespace }, use) => {
    await use(thingsOf(group, namespace));
  },
});
