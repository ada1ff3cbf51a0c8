import { describe, expect } from 'vitest';
import { until } from '../until.ts';
import type { JsonObject } from './client.ts';
import { causeFields, metaOf, uniqueName } from './conformance.ts';
import { define, defineThings, definitionOf, definitions, schema, test, thingsOf } from './things.ts';

describe('definitions', () => {
  test('are accepted, established and served', async ({ api, things }) => {
    const { body } = await api.get(`${definitions}/${things.definition}`);
    expect(body).toMatchObject({
      metadata: { generation: 1 },
      spec: { names: { singular: 'thing', listKind: 'ThingList' }, conversion: { strategy: 'None' } },
      status: { acceptedNames: { plural: 'things', kind: 'Thing' }, storedVersions: ['v1'] },
    });
    const conditions = (body.status as JsonObject).conditions as JsonObject[];
    const status = Object.fromEntries(conditions.map((condition) => [condition.type, condition.status]));
    expect(status).toMatchObject({ NamesAccepted: 'True', Established: 'True' });
  });

  test('show in discovery', async ({ api, things }) => {
    const { body } = await api.get(`/apis/${things.group}/v1`);
    const resources = body.resources as JsonObject[];
    expect(resources.find(({ name }) => name === 'things')).toMatchObject({
      kind: 'Thing',
      singularName: 'thing',
      namespaced: true,
      shortNames: ['th'],
      categories: ['oddities'],
    });
    expect(resources.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['things/status', 'things/scale']),
    );
    const group = await api.get(`/apis/${things.group}`);
    expect(group.body).toMatchObject({ kind: 'APIGroup', preferredVersion: { version: 'v1' } });
  });

  test.for([
    ['another name than plural and group', { metadata: { name: 'other.example.com' } }, {}, 'metadata.name'],
    ['an unknown scope', {}, { scope: 'Galactic' }, 'spec.scope'],
    [
      'a schema that is not structural',
      {},
      {
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties: { a: {} } } },
          },
        ],
      },
      'spec.validation.openAPIV3Schema.properties[a].type',
    ],
    [
      'no schema',
      {},
      { versions: [{ name: 'v1', served: true, storage: true }] },
      'spec.versions[0].schema.openAPIV3Schema',
    ],
    [
      'no stored version',
      {},
      { versions: [{ name: 'v1', served: true, storage: false, schema: { openAPIV3Schema: schema } }] },
      'spec.versions',
    ],
  ] as const)('with %s are refused', async ([, own, more, field], { api }) => {
    const group = `${uniqueName('g')}.example.com`;
    const definition = definitionOf(group, 'things', 'Thing', {}, more as unknown as JsonObject);
    const reply = await api.post(definitions, { ...definition, ...(own as unknown as JsonObject) });
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toContain(field);
  });

  test('cannot change their scope', async ({ api, things }) => {
    const reply = await api.patch(`${definitions}/${things.definition}`, 'merge', {
      spec: { scope: 'Cluster' },
    });
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toEqual(['spec.scope']);
  });

  test('a kind that is taken in the group is not served', async ({ api, things }) => {
    const name = `others.${things.group}`;
    await api.post(definitions, definitionOf(things.group, 'others', 'Thing'));
    const conditions = await until(
      async () => ((await api.get(`${definitions}/${name}`)).body.status as JsonObject).conditions,
      { what: 'a judgement' },
    );
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'Established', status: 'False' }));
    await api.delete(`${definitions}/${name}`);
  });

  test('of several versions show one object in each', async ({ api }) => {
    const group = `${uniqueName('g')}.example.com`;
    const version = (name: string, served: boolean, storage: boolean) => ({
      name,
      served,
      storage,
      schema: { openAPIV3Schema: schema },
    });
    const versions = [
      version('v1', true, true),
      version('v2beta1', true, false),
      version('v3', false, false),
    ];
    const definition = definitionOf(group, 'twos', 'Two', {}, { scope: 'Cluster', versions });
    await define(api, definition, `/apis/${group}/v2beta1/twos`);
    const made = await api.post(`/apis/${group}/v2beta1/twos`, {
      apiVersion: `${group}/v2beta1`,
      kind: 'Two',
      metadata: { name: 'a' },
      spec: { text: 'ab' },
    });
    expect(made.body.apiVersion).toBe(`${group}/v2beta1`);
    const other = await api.get(`/apis/${group}/v1/twos/a`);
    expect(other.body).toMatchObject({
      apiVersion: `${group}/v1`,
      metadata: { uid: metaOf(made).uid as string },
    });
    expect((await api.get(`/apis/${group}/v3/twos/a`)).code).toBe(404);
    await api.delete(`${definitions}/twos.${group}`);
  });

  test('take their objects with them', async ({ api, namespace }) => {
    const things = thingsOf(await defineThings(api), namespace);
    const definition = `${definitions}/${things.definition}`;
    await api.post(things.path, {
      ...things.thing('a', { text: 'ab' }),
      metadata: { name: 'a', finalizers: ['x.example.com/hold'] },
    });
    const marked = await api.delete(definition);
    expect(marked.body).toMatchObject({
      metadata: { finalizers: ['customresourcecleanup.apiextensions.k8s.io'] },
    });
    const patience = { timeoutMs: 30_000 };
    await until(
      async () => {
        const late = await api.post(things.path, {
          ...things.thing('', { text: 'ab' }),
          metadata: { generateName: 'late-' },
        });
        return (
          late.code === 403 &&
          String(late.body.message).includes('while custom resource definition is terminating')
        );
      },
      { what: 'nothing new is taken', ...patience },
    );
    await until(async () => metaOf(await api.get(`${things.path}/a`)).deletionTimestamp, {
      what: 'the object is marked',
      ...patience,
    });
    await api.patch(`${things.path}/a`, 'merge', { metadata: { finalizers: null } });
    await until(async () => (await api.get(definition)).code === 404, {
      what: 'the definition is gone',
      ...patience,
    });
    await until(async () => (await api.get(things.path)).code === 404, {
      what: 'it is no longer served',
      ...patience,
    });
  });
});
