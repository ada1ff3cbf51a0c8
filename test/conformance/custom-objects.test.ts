import { describe, expect } from 'vitest';
import { until } from '../until.ts';
import type { JsonObject } from './client.ts';
import { causeFields, itemsOf, metaOf, versionOf } from './conformance.ts';
import { test } from './things.ts';

describe('custom objects', () => {
  test('get defaults, also in what is missing', async ({ api, things }) => {
    const reply = await api.post(things.path, things.thing('a', { text: 'ab', items: [{ name: 'x' }] }));
    expect(reply.code).toBe(201);
    expect(reply.body.spec).toEqual({
      text: 'ab',
      count: 3,
      nested: { inner: 'filled' },
      items: [{ name: 'x', weight: 1 }],
    });
    expect(metaOf(reply).generation).toBe(1);
  });

  test('lose unknown fields, with a warning', async ({ api, things }) => {
    const reply = await api.post(
      things.path,
      things.thing(
        'a',
        { text: 'ab', colour: 'red', free: { any: { thing: 1 } }, items: [{ name: 'x', more: 1 }] },
        { top: 1 },
      ),
    );
    expect(reply.body.spec).toMatchObject({ free: { any: { thing: 1 } }, items: [{ name: 'x', weight: 1 }] });
    expect((reply.body.spec as JsonObject).colour).toBeUndefined();
    expect(reply.body.top).toBeUndefined();
    for (const path of ['spec.colour', 'spec.items[0].more', 'top'])
      expect(reply.warnings.join()).toContain(`unknown field \\"${path}\\"`);
    const strict = await api.post(
      `${things.path}?fieldValidation=Strict`,
      things.thing('b', { text: 'ab', colour: 'red' }),
    );
    expect(strict.code).toBe(400);
    expect(strict.body.message).toBe(
      'Thing in version "v1" cannot be handled as a Thing: strict decoding error: unknown field "spec.colour"',
    );
  });

  test('keep null only where it is allowed', async ({ api, things }) => {
    const reply = await api.post(
      things.path,
      things.thing('a', { text: 'ab', maybe: null, choice: null, count: null }),
    );
    expect(reply.body.spec).toEqual({ text: 'ab', maybe: null, count: 3, nested: { inner: 'filled' } });
  });

  test.for([
    [{}, 'spec.text', 'Required value'],
    [
      { text: 1 },
      'spec.text',
      'Invalid value: "integer": spec.text in body must be of type string: "integer"',
    ],
    [{ text: 'a' }, 'spec.text', 'Invalid value: "a": spec.text in body should be at least 2 chars long'],
    [{ text: 'abcde' }, 'spec.text', 'Too long: may not be more than 4 bytes'],
    [{ text: 'bb' }, 'spec.text', 'Invalid value: "bb": spec.text in body should match \'^a\''],
    [
      { text: 'ab', count: 0 },
      'spec.count',
      'Invalid value: 0: spec.count in body should be greater than or equal to 1',
    ],
    [
      { text: 'ab', count: 6 },
      'spec.count',
      'Invalid value: 6: spec.count in body should be less than or equal to 5',
    ],
    [
      { text: 'ab', count: 1.5 },
      'spec.count',
      'Invalid value: "number": spec.count in body must be of type integer: "number"',
    ],
    [{ text: 'ab', above: 0 }, 'spec.above', 'Invalid value: 0: spec.above in body should be greater than 0'],
    [
      { text: 'ab', thirds: 4 },
      'spec.thirds',
      'Invalid value: 4: spec.thirds in body should be a multiple of 3',
    ],
    [{ text: 'ab', choice: 'Z' }, 'spec.choice', 'Unsupported value: "Z": supported values: "X", "Y"'],
    [
      { text: 'ab', items: [] },
      'spec.items',
      'Invalid value: 0: spec.items in body should have at least 1 items',
    ],
    [
      { text: 'ab', items: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] },
      'spec.items',
      'Too many: 3: must have at most 2 items',
    ],
    [{ text: 'ab', items: [{ name: 'a' }, { name: 'a' }] }, 'spec.items[1]', 'Duplicate value: {"name":"a"}'],
    [{ text: 'ab', items: [{}] }, 'spec.items[0].name', 'Required value'],
    [{ text: 'ab', unique: ['a', 'a'] }, 'spec.unique[1]', 'Duplicate value: "a"'],
    [{ text: 'ab', map: { a: '1', b: '2', c: '3' } }, 'spec.map', 'Too many: 3: must have at most 2 items'],
    [
      { text: 'ab', map: { a: 1 } },
      'spec.map.a',
      'Invalid value: "integer": spec.map.a in body must be of type string: "integer"',
    ],
    [
      { text: 'ab', when: 'soon' },
      'spec.when',
      'Invalid value: "soon": spec.when in body must be of type date-time: "soon"',
    ],
    [
      { text: 'ab', portion: 1.5 },
      'spec.portion',
      'Invalid value: "number": spec.portion in body must be of type integer,string: "number"',
    ],
    [
      { text: 'ab', either: { a: 1, b: 2 } },
      '<nil>',
      'Invalid value: "": "spec.either" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ],
  ] as const)('with %j are refused', async ([own, field, message], { api, things }) => {
    const reply = await api.post(things.path, things.thing('a', own as unknown as JsonObject));
    expect(reply.code).toBe(422);
    expect(reply.body).toMatchObject({
      reason: 'Invalid',
      details: { name: 'a', group: things.group, kind: 'Thing' },
    });
    const { causes } = reply.body.details as { causes: JsonObject[] };
    expect(causes).toContainEqual(expect.objectContaining({ field, message }));
  });

  test('say what they are', async ({ api, things }) => {
    const whole = things.thing('a', { text: 'ab' });
    const none = await api.post(things.path, { metadata: { name: 'a' }, spec: { text: 'ab' } });
    expect(none.code).toBe(400);
    expect(String(none.body.message)).toContain("Object 'Kind' is missing");
    const kind = await api.post(things.path, { ...whole, kind: 'Other' });
    expect(kind.code).toBe(422);
    const version = await api.post(things.path, { ...whole, apiVersion: `${things.group}/v9` });
    expect(version.code).toBe(400);
    expect(version.body.message).toBe(
      `the API version in the data (${things.group}/v9) does not match the expected API version (${things.group}/v1)`,
    );
  });

  test('count generations: the specification, not metadata and status', async ({ api, things }) => {
    await api.post(things.path, things.thing('a', { text: 'ab' }));
    const generation = async (part: string, body: JsonObject) =>
      metaOf(await api.patch(`${things.path}/a${part}`, 'merge', body)).generation;
    expect(await generation('', { metadata: { labels: { l: 'v' } } })).toBe(1);
    expect(await generation('/status', { status: { seen: 1 } })).toBe(1);
    expect(await generation('', { spec: { text: 'ac' } })).toBe(2);
  });

  test('their status is written apart, and nothing else with it', async ({ api, things }) => {
    const made = await api.post(things.path, things.thing('a', { text: 'ab' }, { status: { seen: 7 } }));
    expect(made.body.status).toBeUndefined();
    const whole = await api.patch(`${things.path}/a`, 'merge', { status: { seen: 8 } });
    expect(whole.body.status).toBeUndefined();
    const reply = await api.patch(`${things.path}/a/status`, 'merge', {
      metadata: { labels: { l: 'v' } },
      spec: { text: 'ac' },
      status: { seen: 9, unknown: 1 },
    });
    expect(reply.body).toMatchObject({ spec: { text: 'ab' }, status: { seen: 9 } });
    expect(reply.body.status).toEqual({ seen: 9 });
    expect(metaOf(reply).labels).toBeUndefined();
  });

  test('are replaced only by who names their version', async ({ api, things }) => {
    const made = await api.post(things.path, things.thing('a', { text: 'ab' }));
    const blind = await api.put(`${things.path}/a`, things.thing('a', { text: 'ac' }));
    expect(blind.code).toBe(422);
    expect(causeFields(blind)).toEqual(['metadata.resourceVersion']);
    const seen = await api.put(`${things.path}/a`, {
      ...things.thing('a', { text: 'ac' }),
      metadata: { name: 'a', resourceVersion: versionOf(made) },
    });
    expect(seen.code).toBe(200);
  });

  test('take no strategic merge patch', async ({ api, things }) => {
    await api.post(things.path, things.thing('a', { text: 'ab' }));
    const reply = await api.patch(`${things.path}/a`, 'strategic', {});
    expect(reply.code).toBe(415);
    expect(reply.body.message).toBe(
      'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
    );
  });

  test('can be scaled', async ({ api, things }) => {
    await api.post(things.path, things.thing('a', { text: 'ab' }));
    const scale = await api.get(`${things.path}/a/scale`);
    expect(scale.body).toMatchObject({ kind: 'Scale', spec: { replicas: 3 } });
    await api.patch(`${things.path}/a/scale`, 'merge', { spec: { replicas: 4 } });
    expect((await api.get(`${things.path}/a`)).body.spec).toMatchObject({ count: 4 });
    const over = await api.patch(`${things.path}/a/scale`, 'merge', { spec: { replicas: 9 } });
    expect(over.code).toBe(422);
  });

  test('are listed with their type, and watched', async ({ api, things }) => {
    const watch = await api.watch(things.path, { resourceVersion: versionOf(await api.get(things.path)) });
    const made = await api.post(things.path, things.thing('a', { text: 'ab' }));
    const list = await api.get(things.path);
    expect(list.body).toMatchObject({ kind: 'ThingList', apiVersion: `${things.group}/v1` });
    expect(itemsOf(list)[0]).toMatchObject({ kind: 'Thing', apiVersion: `${things.group}/v1` });
    await until(() => watch.events.length > 0, { what: 'an event' });
    expect(watch.events[0]).toMatchObject({ type: 'ADDED', object: { kind: 'Thing' } });
    expect(versionOf(watch.events[0]?.object ?? {})).toBe(versionOf(made));
    watch.close();
  });
});
