import { describe, expect, test } from 'vitest';
import { equal, type Json, type JsonObject } from '../../packages/kube-api/json.ts';
import { jsonPatch } from '../../packages/kube-api/patching/json-patch.ts';
import { mergePatch } from '../../packages/kube-api/patching/merge-patch.ts';
import { apply } from '../../packages/kube-api/patching/server-side-apply.ts';
import { strategicMerge } from '../../packages/kube-api/patching/strategic.ts';
import { builtinSchema } from '../../packages/kube-api/schema/builtin-schemas.ts';
import type { Schema } from '../../packages/kube-api/schema/schema.ts';
import { fc, test as property } from './properties.ts';

const applyConfiguration = (schema: Schema, live: JsonObject, applied: JsonObject) => {
  const manager = { name: 'test', operation: 'Apply', apiVersion: 'v1', subresource: '' } as const;
  return apply(schema, live, applied, new Map(), { manager, force: false, time: '' }).value;
};

describe('JSON merge patch', () => {
  // RFC 7386, appendix A.
  test.each<[Json, Json, Json]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j with %j is %j', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });

  property(
    [fc.jsonObject, fc.jsonObject],
    'applied twice is applied once, and changes neither argument',
    (target, patch) => {
      const before = JSON.stringify([target, patch]);
      const once = mergePatch(target, patch);
      expect(equal(mergePatch(once, patch), once)).toBe(true);
      expect(JSON.stringify([target, patch])).toBe(before);
    },
  );
});

describe('JSON patch', () => {
  // RFC 6902, appendix A.
  test.each<[string, Json, Json, Json]>([
    [
      'adds a member',
      { foo: 'bar' },
      [{ op: 'add', path: '/baz', value: 'qux' }],
      { baz: 'qux', foo: 'bar' },
    ],
    [
      'adds an item',
      { foo: ['bar', 'baz'] },
      [{ op: 'add', path: '/foo/1', value: 'qux' }],
      { foo: ['bar', 'qux', 'baz'] },
    ],
    ['removes a member', { baz: 'qux', foo: 'bar' }, [{ op: 'remove', path: '/baz' }], { foo: 'bar' }],
    [
      'removes an item',
      { foo: ['bar', 'qux', 'baz'] },
      [{ op: 'remove', path: '/foo/1' }],
      { foo: ['bar', 'baz'] },
    ],
    [
      'replaces',
      { baz: 'qux', foo: 'bar' },
      [{ op: 'replace', path: '/baz', value: 'boo' }],
      { baz: 'boo', foo: 'bar' },
    ],
    [
      'moves a value',
      { foo: { bar: 'baz', waldo: 'fred' }, qux: { corge: 'grault' } },
      [{ op: 'move', from: '/foo/waldo', path: '/qux/thud' }],
      { foo: { bar: 'baz' }, qux: { corge: 'grault', thud: 'fred' } },
    ],
    [
      'moves an item',
      { foo: ['all', 'grass', 'cows', 'eat'] },
      [{ op: 'move', from: '/foo/1', path: '/foo/3' }],
      { foo: ['all', 'cows', 'eat', 'grass'] },
    ],
    [
      'tests',
      { baz: 'qux', foo: ['a', 2, 'c'] },
      [
        { op: 'test', path: '/baz', value: 'qux' },
        { op: 'test', path: '/foo/1', value: 2 },
      ],
      { baz: 'qux', foo: ['a', 2, 'c'] },
    ],
    [
      'adds a nested member',
      { foo: 'bar' },
      [{ op: 'add', path: '/child', value: { grandchild: {} } }],
      { foo: 'bar', child: { grandchild: {} } },
    ],
    [
      'ignores unknown members',
      { foo: 'bar' },
      [{ op: 'add', path: '/baz', value: 'qux', xyz: 123 }],
      { foo: 'bar', baz: 'qux' },
    ],
    ['escapes "~1"', { '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: 10 }], { '/': 9, '~1': 10 }],
    [
      'adds a list as one item',
      { foo: ['bar'] },
      [{ op: 'add', path: '/foo/-', value: ['abc', 'def'] }],
      { foo: ['bar', ['abc', 'def']] },
    ],
    ['replaces the whole', { foo: 1 }, [{ op: 'replace', path: '', value: { bar: 2 } }], { bar: 2 }],
  ])('%s', (_, document, patch, result) => {
    expect(jsonPatch(document, patch)).toEqual(result);
  });

  test.each<[string, Json]>([
    ['a test that fails', [{ op: 'test', path: '/baz', value: 'bar' }]],
    ['a number is not its text', [{ op: 'test', path: '/n', value: '10' }]],
    ['a target that is not there', [{ op: 'add', path: '/none/bat', value: 'qux' }]],
    ['an index behind the end', [{ op: 'add', path: '/list/7', value: 1 }]],
    ['an index that is none', [{ op: 'remove', path: '/list/x' }]],
    ['a pointer that is none', [{ op: 'add', path: 'baz', value: 1 }]],
    ['no value', [{ op: 'add', path: '/x' }]],
    ['no operation', [{ path: '/x' }]],
  ])('%s is refused', (_, patch) => {
    const document = { baz: 'qux', n: 10, list: [1, 2] };
    expect(() => jsonPatch(document, patch)).toThrow(/rejected/);
    expect(document).toEqual({ baz: 'qux', n: 10, list: [1, 2] });
  });
});

describe('strategic merge patch', () => {
  const pod = builtinSchema('Pod');
  const containers = (...items: JsonObject[]): JsonObject => ({ spec: { containers: items } });

  test('names it did not know come first, names it knew keep their order', () => {
    const target = containers({ name: 'a' }, { name: 'b' }, { name: 'c' });
    const patch = containers({ name: 'x' }, { name: 'b', image: 'new' });
    expect(strategicMerge(pod, target, patch)).toEqual(
      containers({ name: 'x' }, { name: 'a' }, { name: 'b', image: 'new' }, { name: 'c' }),
    );
  });

  test('an order without a list orders what is there', () => {
    const target = containers({ name: 'a' }, { name: 'b' });
    const patch = { spec: { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] } };
    expect(strategicMerge(pod, target, patch)).toEqual(containers({ name: 'b' }, { name: 'a' }));
  });

  test('a map is replaced or emptied by $patch', () => {
    const target = { metadata: { labels: { a: '1', b: '2' } } };
    const replaced = strategicMerge(pod, target, { metadata: { labels: { $patch: 'replace', c: '3' } } });
    expect(replaced).toEqual({ metadata: { labels: { c: '3' } } });
    const emptied = strategicMerge(pod, target, { metadata: { labels: { $patch: 'delete' } } });
    expect(emptied).toEqual({ metadata: { labels: {} } });
  });

  test('an item without its key is refused', () => {
    expect(() => strategicMerge(pod, containers(), containers({ image: 'i' }))).toThrow(
      /does not contain declared merge key: name/,
    );
  });

  test('a directive that is none is refused', () => {
    expect(() => strategicMerge(pod, {}, { metadata: { $patch: 'explode' } })).toThrow(/Unknown patch type/);
  });

  property(
    [fc.jsonObject, fc.jsonObject],
    'of what the schema does not know is a merge patch',
    (target, patch) => {
      const free: Schema = { type: 'object' };
      expect(equal(strategicMerge(free, target, patch), mergePatch(target, patch))).toBe(true);
    },
  );
});

describe('apply', () => {
  const schema: Schema = {
    type: 'object',
    properties: {
      set: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
      whole: { type: 'array', items: { type: 'string' } },
      atom: { type: 'object', 'x-kubernetes-map-type': 'atomic', additionalProperties: { type: 'string' } },
      list: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['port', 'protocol'],
        items: {
          type: 'object',
          properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' } },
        },
      },
    },
  };

  test('sets are united, lists without keys and atomic maps are replaced', () => {
    const target = { set: ['a', 'b'], whole: ['a'], atom: { a: '1' } };
    const applied = { set: ['b', 'c'], whole: ['b'], atom: { b: '2' } };
    expect(applyConfiguration(schema, target, applied)).toEqual({
      set: ['a', 'b', 'c'],
      whole: ['b'],
      atom: { b: '2' },
    });
  });

  test('items are found by all their keys, with their defaults', () => {
    const target = {
      list: [
        { port: 53, protocol: 'TCP', name: 'old' },
        { port: 53, protocol: 'UDP' },
      ],
    };
    const applied = { list: [{ port: 53, name: 'new' }] };
    expect(applyConfiguration(schema, target, applied)).toEqual({
      list: [
        { port: 53, protocol: 'TCP', name: 'new' },
        { port: 53, protocol: 'UDP' },
      ],
    });
  });
});
