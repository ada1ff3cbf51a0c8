/** Server-side apply to custom objects: their schemas say how lists and maps are owned. */
import { describe, expect } from 'vitest';
import type { JsonObject, Reply } from './client.ts';
import { test as base, metaOf, uniqueName } from './conformance.ts';
import { define, definitionOf, definitions } from './things.ts';

/** `manager operation subresource` → fields. */
const owned = (reply: Reply): Record<string, unknown> =>
  Object.fromEntries(
    ((metaOf(reply).managedFields ?? []) as JsonObject[]).map(
      ({ manager, operation, subresource = '', fieldsV1 }) => [
        `${manager} ${operation} ${subresource}`.trim(),
        fieldsV1,
      ],
    ),
  );

const text: JsonObject = { type: 'string' };
const schema: JsonObject = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
        plain: { type: 'array', items: text },
        atom: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { a: text, b: text } },
        keyed: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['a', 'b'],
          items: {
            type: 'object',
            required: ['a', 'b'],
            properties: { a: text, b: { type: 'integer' }, v: text },
          },
        },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
    status: { type: 'object', properties: { seen: text } },
  },
};

const test = base.extend<{
  ssas: { path: string; make: (spec: JsonObject, more?: JsonObject) => JsonObject };
}>({
  ssas: [
    async ({ api }, use) => {
      const group = `${uniqueName('ssa')}.example.com`;
      const version = { subresources: { status: {} }, schema: { openAPIV3Schema: schema } };
      const path = `/apis/${group}/v1/ssas`;
      await define(api, definitionOf(group, 'ssas', 'Ssa', version, { scope: 'Cluster' }), path);
      const make = (spec: JsonObject, more: JsonObject = {}) => ({
        apiVersion: `${group}/v1`,
        kind: 'Ssa',
        metadata: { name: 'a' },
        spec,
        ...more,
      });
      await use({ path: `${path}/a`, make });
      await api.delete(`${definitions}/ssas.${group}`);
    },
    { scope: 'file' },
  ],
});

describe('a custom object', () => {
  test('is owned by the list types and map types of its schema', async ({ api, ssas }) => {
    const { path, make } = ssas;
    const one = await api.patch(
      `${path}?fieldManager=one`,
      'apply',
      make({
        set: ['a', 'b'],
        plain: ['x'],
        atom: { a: '1' },
        keyed: [{ a: 'x', b: 1, v: '1' }],
        free: { z: { y: 1 } },
      }),
    );
    expect(owned(one)).toEqual({
      'one Apply': {
        'f:spec': {
          'f:set': { 'v:"a"': {}, 'v:"b"': {} },
          'f:plain': {},
          'f:atom': {},
          'f:keyed': { 'k:{"a":"x","b":1}': { '.': {}, 'f:a': {}, 'f:b': {}, 'f:v': {} } },
          'f:free': { 'f:z': { '.': {}, 'f:y': {} } },
        },
      },
    });
    const two = await api.patch(
      `${path}?fieldManager=two`,
      'apply',
      make({ set: ['b', 'c'], keyed: [{ a: 'x', b: 2 }], free: { z: { w: 1 } } }),
    );
    expect(two.body.spec).toEqual({
      set: ['a', 'b', 'c'],
      plain: ['x'],
      atom: { a: '1' },
      keyed: [
        { a: 'x', b: 1, v: '1' },
        { a: 'x', b: 2 },
      ],
      free: { z: { y: 1, w: 1 } },
    });
    const refused = await api.patch(
      `${path}?fieldManager=two`,
      'apply',
      make({ plain: ['y'], atom: { b: '2' } }),
    );
    expect(refused.body.message).toBe(
      'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.atom\n- .spec.plain',
    );
    const less = await api.patch(`${path}?fieldManager=one`, 'apply', make({ set: ['a'] }));
    expect(less.body.spec).toEqual({
      set: ['a', 'b', 'c'],
      keyed: [{ a: 'x', b: 2 }],
      free: { z: { w: 1 } },
    });
    await api.delete(path);
  });

  test('has its status applied by itself', async ({ api, ssas }) => {
    const { path, make } = ssas;
    const missing = await api.patch(
      `${path}/status?fieldManager=st`,
      'apply',
      make({}, { status: { seen: 'x' } }),
    );
    expect(missing.code).toBe(404);
    await api.patch(
      `${path}?fieldManager=one`,
      'apply',
      make({ set: ['a'] }, { status: { seen: 'ignored' } }),
    );
    const reply = await api.patch(
      `${path}/status?fieldManager=st`,
      'apply',
      make({ set: ['ignored'] }, { status: { seen: 'x' } }),
    );
    expect(reply.body).toMatchObject({ spec: { set: ['a'] }, status: { seen: 'x' } });
    expect(owned(reply)).toEqual({
      'one Apply': { 'f:spec': { 'f:set': { 'v:"a"': {} } } },
      'st Apply status': { 'f:status': { 'f:seen': {} } },
    });
    const gone = await api.patch(`${path}/status?fieldManager=st`, 'apply', make({}, { status: {} }));
    expect(gone.body.status).toEqual({});
    await api.delete(path);
  });
});
