/**
 * Server-side apply: who owns which fields, conflicts, and what happens to fields that nobody applies any
 * more.
 */
import { describe, expect } from 'vitest';
import type { Client, Json, JsonObject, Reply } from './client.ts';
import { configMap, metaOf, test, versionOf } from './conformance.ts';

interface Entry {
  readonly manager?: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly fieldsV1: JsonObject;
  readonly time?: string;
}

const entriesOf = (reply: Reply) => (metaOf(reply).managedFields ?? []) as unknown as Entry[];

/** `manager operation subresource` → fields. */
const owned = (reply: Reply): Record<string, JsonObject> =>
  Object.fromEntries(
    entriesOf(reply).map(({ manager = '', operation, subresource = '', fieldsV1 }) => [
      `${manager} ${operation} ${subresource}`.trim(),
      fieldsV1,
    ]),
  );

const map = (data: JsonObject | undefined, meta: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', ...meta },
  ...(data === undefined ? {} : { data }),
});

const applied = (api: Client, core: string, who: string, body: JsonObject, query = '') =>
  api.patch(`${core}/configmaps/a?fieldManager=${who}${query}`, 'apply', body);

const conflictOf = (reply: Reply) => {
  const { causes } = (reply.body.details ?? {}) as { causes?: JsonObject[] };
  return { code: reply.code, reason: reply.body.reason, message: reply.body.message, causes };
};

describe('an applied field', () => {
  test('belongs to who applied it', async ({ api, core }) => {
    const reply = await applied(api, core, 'one', map({ k: 'v' }, { labels: { l: '1' } }));
    expect(owned(reply)).toEqual({
      'one Apply': { 'f:data': { 'f:k': {} }, 'f:metadata': { 'f:labels': { 'f:l': {} } } },
    });
    expect(entriesOf(reply)[0]).toMatchObject({
      apiVersion: 'v1',
      fieldsType: 'FieldsV1',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
  });

  test('belongs to everybody who applies the same value', async ({ api, core }) => {
    await applied(api, core, 'one', map({ k: 'v', mine: '1' }));
    const reply = await applied(api, core, 'two', map({ k: 'v' }));
    expect(owned(reply)).toEqual({
      'one Apply': { 'f:data': { 'f:k': {}, 'f:mine': {} } },
      'two Apply': { 'f:data': { 'f:k': {} } },
    });
  });

  test('stays while somebody still applies it, and goes with the last', async ({ api, core }) => {
    await applied(api, core, 'one', map({ k: 'v', other: '1' }));
    await applied(api, core, 'two', map({ k: 'v' }));
    const first = await applied(api, core, 'one', map({ other: '1' }));
    expect(first.body.data).toEqual({ k: 'v', other: '1' });
    const second = await applied(api, core, 'two', map(undefined));
    expect(second.body.data).toEqual({ other: '1' });
    expect(owned(second)).toEqual({ 'one Apply': { 'f:data': { 'f:other': {} } } });
  });

  test('goes when its manager applies it no more, and others’ fields stay', async ({ api, core }) => {
    await api.post(`${core}/configmaps?fieldManager=maker`, configMap('a', {}, { theirs: '1' }));
    await applied(api, core, 'one', map({ k: 'v' }, { labels: { l: '1' }, annotations: { n: '1' } }));
    const reply = await applied(api, core, 'one', map({ j: 'v' }, { labels: { m: '1' } }));
    expect(reply.body.data).toEqual({ theirs: '1', j: 'v' });
    expect(metaOf(reply).labels).toEqual({ m: '1' });
    expect(metaOf(reply).annotations).toBeUndefined();
  });

  test('is given back by an apply without fields, and an object that is gone is not made by it', async ({
    api,
    core,
  }) => {
    const path = `${core}/configmaps/a`;
    const made = await api.post(
      `${core}/configmaps?fieldManager=maker`,
      configMap('a', { labels: { l: '1' } }, { theirs: '1', both: '1' }),
    );
    await applied(api, core, 'one', map({ both: '1', mine: '1' }, { labels: { m: '1' } }));
    const back = await applied(api, core, 'one', map(undefined, { uid: metaOf(made).uid ?? '' }));
    expect([back.body.data, metaOf(back).labels]).toEqual([made.body.data, { l: '1' }]);
    expect(Object.keys(owned(back))).toEqual(['maker Update']);
    await api.delete(path);
    expect((await applied(api, core, 'one', map(undefined, { uid: metaOf(made).uid ?? '' }))).code).toBe(409);
    expect((await api.get(path)).code).toBe(404);
  });

  test('of the same again keeps the version and the time', async ({ api, core }) => {
    const first = await applied(api, core, 'one', map({ k: 'v' }));
    const second = await applied(api, core, 'one', map({ k: 'v' }));
    expect(versionOf(second)).toBe(versionOf(first));
    expect(entriesOf(second)).toEqual(entriesOf(first));
  });
});

describe('a conflict', () => {
  test('with an apply names the manager and the field', async ({ api, core }) => {
    await applied(api, core, 'one', map({ a: '1', b: '1' }));
    expect(conflictOf(await applied(api, core, 'two', map({ a: '2' })))).toEqual({
      code: 409,
      reason: 'Conflict',
      message: 'Apply failed with 1 conflict: conflict with "one": .data.a',
      causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.a' }],
    });
    const both = await applied(api, core, 'two', map({ a: '2', b: '2' }));
    expect(both.body.message).toBe(
      'Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b',
    );
  });

  test('with an update names the version that was used', async ({ api, core }) => {
    await applied(api, core, 'one', map({ a: '1' }));
    await api.patch(`${core}/configmaps/a?fieldManager=editor`, 'merge', { data: { a: '2' } });
    const reply = await applied(api, core, 'one', map({ a: '1' }));
    expect(reply.body.message).toBe('Apply failed with 1 conflict: conflict with "editor" using v1: .data.a');
  });

  test('that is forced takes the field away from the others', async ({ api, core }) => {
    await applied(api, core, 'one', map({ a: '1', b: '1' }));
    const reply = await applied(api, core, 'two', map({ a: '2' }), '&force=true');
    expect(reply.code).toBe(200);
    expect(reply.body.data).toEqual({ a: '2', b: '1' });
    expect(owned(reply)).toEqual({
      'one Apply': { 'f:data': { 'f:b': {} } },
      'two Apply': { 'f:data': { 'f:a': {} } },
    });
  });

  test('is told by a dry run too, which changes nothing', async ({ api, core }) => {
    const made = await applied(api, core, 'one', map({ a: '1' }));
    expect((await applied(api, core, 'two', map({ a: '2' }), '&dryRun=All')).code).toBe(409);
    const dry = await applied(api, core, 'two', map({ a: '2' }), '&dryRun=All&force=true');
    expect(dry.body.data).toEqual({ a: '2' });
    expect(owned(dry)).toEqual({ 'two Apply': { 'f:data': { 'f:a': {} } } });
    expect(versionOf(await api.get(`${core}/configmaps/a`))).toBe(versionOf(made));
  });
});

describe('other writes', () => {
  test('own what they create and change', async ({ api, core }) => {
    const made = await api.post(
      `${core}/configmaps?fieldManager=maker`,
      configMap('a', { labels: { l: '1' } }, { a: '1', b: '1' }),
    );
    expect(owned(made)).toEqual({
      'maker Update': {
        'f:data': { '.': {}, 'f:a': {}, 'f:b': {} },
        'f:metadata': { 'f:labels': { '.': {}, 'f:l': {} } },
      },
    });
    const changed = await api.patch(`${core}/configmaps/a?fieldManager=editor`, 'merge', {
      data: { b: '2', c: '2' },
    });
    expect(owned(changed)).toMatchObject({
      'maker Update': { 'f:data': { '.': {}, 'f:a': {} } },
      'editor Update': { 'f:data': { 'f:b': {}, 'f:c': {} } },
    });
    const put = await api.put(
      `${core}/configmaps/a?fieldManager=third`,
      configMap('a', {}, { a: '1', c: '3' }),
    );
    expect(owned(put)).toEqual({
      'maker Update': { 'f:data': { '.': {}, 'f:a': {} } },
      'third Update': { 'f:data': { 'f:c': {} } },
    });
  });

  test('that change nothing own nothing', async ({ api, core }) => {
    await api.post(`${core}/configmaps?fieldManager=maker`, configMap('a', {}, { a: '1' }));
    const reply = await api.patch(`${core}/configmaps/a?fieldManager=editor`, 'merge', { data: { a: '1' } });
    expect(Object.keys(owned(reply))).toEqual(['maker Update']);
  });

  test('of more than ten managers leave the oldest as one', async ({ api, core }) => {
    await api.post(`${core}/configmaps?fieldManager=m00`, configMap('a', {}, { k: '0' }));
    const names = Array.from({ length: 12 }, (_, index) => `m${String(index + 1).padStart(2, '0')}`);
    for (const name of names)
      await api.patch(`${core}/configmaps/a?fieldManager=${name}`, 'merge', { data: { [name]: 'v' } });
    const entries = owned(await api.get(`${core}/configmaps/a`));
    expect(Object.keys(entries)).toHaveLength(10);
    expect(entries['ancient-changes Update']).toEqual({
      'f:data': { '.': {}, 'f:k': {}, 'f:m01': {}, 'f:m02': {}, 'f:m03': {} },
    });
    expect(entries['m12 Update']).toEqual({ 'f:data': { 'f:m12': {} } });
  });

  test('of the status own none of the labels that the status may not change', async ({ api, namespace }) => {
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    const labels = { app: 'a' };
    await api.post(`${path}?fieldManager=maker`, {
      metadata: { name: 'a' },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'm', image: 'i' }] } },
      },
    });
    const reply = await api.patch(`${path}/a/status?fieldManager=st`, 'merge', {
      metadata: { labels: { x: 'y' } },
      status: { observedGeneration: 1 },
    });
    expect(metaOf(reply).labels).toBeUndefined();
    expect(owned(reply)['st Update status']).toEqual({ 'f:status': { 'f:observedGeneration': {} } });
  });

  test('are told by the program’s name if no manager is named', async ({ api, core }) => {
    const reply = await api.call('POST', `${core}/configmaps`, configMap('a', {}, { a: '1' }), {
      agent: 'shop/1.2 (linux)',
    });
    expect(Object.keys(owned(reply))).toEqual(['shop Update']);
  });

  test('of the status are kept apart', async ({ api, core }) => {
    const path = `${core}/services/a`;
    await api.post(`${core}/services?fieldManager=maker`, {
      metadata: { name: 'a' },
      spec: { selector: { a: 'b' }, ports: [{ name: 'p', port: 80 }] },
    });
    const reply = await api.patch(`${path}/status?fieldManager=controller`, 'merge', {
      status: {
        conditions: [
          {
            type: 'Ready',
            status: 'True',
            reason: 'Ok',
            message: '',
            lastTransitionTime: '2024-05-06T07:08:09Z',
          },
        ],
      },
    });
    expect(owned(reply)).toEqual({
      'maker Update': {
        'f:spec': {
          'f:internalTrafficPolicy': {},
          'f:ports': {
            '.': {},
            'k:{"port":80,"protocol":"TCP"}': {
              '.': {},
              'f:name': {},
              'f:port': {},
              'f:protocol': {},
              'f:targetPort': {},
            },
          },
          'f:selector': {},
          'f:sessionAffinity': {},
          'f:type': {},
        },
      },
      'controller Update status': {
        'f:status': {
          'f:conditions': {
            '.': {},
            'k:{"type":"Ready"}': {
              '.': {},
              'f:lastTransitionTime': {},
              'f:message': {},
              'f:reason': {},
              'f:status': {},
              'f:type': {},
            },
          },
        },
      },
    });
  });

  test('of the scale own the replicas, and an apply meets them', async ({ api, namespace }) => {
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/a`;
    const labels = { app: 'a' };
    const deployment = (replicas: number): JsonObject => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'a' },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'm', image: 'i' }] } },
      },
    });
    expect((await api.patch(`${path}?fieldManager=one`, 'apply', deployment(0))).code).toBe(201);
    await api.patch(`${path}/scale?fieldManager=scaler`, 'merge', { spec: { replicas: 1 } });
    const reply = await api.patch(`${path}?fieldManager=one`, 'apply', deployment(0));
    expect(reply.body.message).toBe(
      'Apply failed with 1 conflict: conflict with "scaler" with subresource "scale" using apps/v1: .spec.replicas',
    );
  });
});

describe('managedFields', () => {
  test.for<[string, Json]>([
    ['an empty list', []],
    ['one empty entry', [{}]],
  ])('are forgotten for %s', async ([, managedFields], { api, core }) => {
    await applied(api, core, 'one', map({ a: '1' }));
    const path = `${core}/configmaps/a?fieldManager=editor`;
    const reply = await api.patch(path, 'merge', { metadata: { managedFields } });
    expect(metaOf(reply).managedFields).toBeUndefined();
    const later = await api.patch(path, 'merge', { data: { b: '1' } });
    expect(metaOf(later).managedFields).toBeUndefined();
  });

  test('that were forgotten begin with one manager for all that is there', async ({ api, core }) => {
    await applied(api, core, 'one', map({ a: '1', b: '1' }));
    await api.patch(`${core}/configmaps/a`, 'merge', { metadata: { managedFields: [{}] } });
    const refused = await applied(api, core, 'one', map({ a: '2' }));
    expect(refused.body.message).toBe(
      'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a',
    );
    const reply = await applied(api, core, 'one', map({ a: '2' }), '&force=true');
    expect(owned(reply)).toEqual({
      'one Apply': { 'f:data': { 'f:a': {} } },
      'before-first-apply Update': { 'f:data': { '.': {}, 'f:b': {} } },
    });
  });

  test('are kept by a PUT that says nothing of them', async ({ api, core }) => {
    const made = await applied(api, core, 'one', map({ a: '1' }));
    const put = await api.put(`${core}/configmaps/a?fieldManager=two`, configMap('a', {}, { a: '1' }));
    expect(entriesOf(put)).toEqual(entriesOf(made));
  });

  test('must not be applied', async ({ api, core }) => {
    const reply = await applied(api, core, 'one', map({ a: '1' }, { managedFields: [] }));
    expect(reply.code).toBe(400);
    expect(reply.body.message).toBe('metadata.managedFields must be nil');
  });
});

describe('lists', () => {
  const path = (namespace: string) => `/apis/apps/v1/namespaces/${namespace}/deployments/a`;
  const labels = { app: 'a' };
  const deployment = (...containers: JsonObject[]): JsonObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'a' },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  });
  const containersOf = (reply: Reply) =>
    (((reply.body.spec as JsonObject).template as JsonObject).spec as JsonObject).containers as JsonObject[];
  const container = (name: string, image: string) => ({ name, image });

  test('with keys are owned item by item, and keep the order of who applies', async ({ api, namespace }) => {
    const apply = (who: string, body: JsonObject, query = '') =>
      api.patch(`${path(namespace)}?fieldManager=${who}${query}`, 'apply', body);
    await apply('one', deployment(container('a', 'i'), container('b', 'i')));
    const refused = await apply('two', deployment(container('c', 'j'), container('b', 'k')));
    expect(refused.body.message).toBe(
      'Apply failed with 1 conflict: conflict with "one": .spec.template.spec.containers[name="b"].image',
    );
    const forced = await apply('two', deployment(container('c', 'j'), container('b', 'k')), '&force=true');
    expect(containersOf(forced).map(({ name, image }) => `${name} ${image}`)).toEqual(['a i', 'c j', 'b k']);
    const less = await apply('one', deployment(container('b', 'k')));
    expect(containersOf(less).map(({ name }) => name)).toEqual(['c', 'b']);
  });

  test.for<[JsonObject, string]>([
    [{ spec: { replicas: 'x' } }, '.spec.replicas: expected numeric (int or float), got string'],
    [{ spec: { template: 'x' } }, '.spec.template: expected map, got &{x}'],
    [{ spec: { paused: 1 } }, '.spec.paused: expected boolean, got &{1}'],
    [{ spec: { unknown: 1 } }, '.spec.unknown: field not declared in schema'],
    [
      { spec: { template: { spec: { containers: [{ name: 'a' }, { name: 'a' }] } } } },
      '.spec.template.spec.containers: duplicate entries for key [name="a"]',
    ],
    [
      { spec: { template: { spec: { containers: [{ name: 'a', bad: 1 }] } } } },
      '.spec.template.spec.containers[name="a"].bad: field not declared in schema',
    ],
  ])('and all else must fit the type: %j', async ([more, problem], { api, namespace }) => {
    const body = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, ...more };
    const reply = await api.patch(`${path(namespace)}?fieldManager=one`, 'apply', body);
    expect(reply.code).toBe(500);
    expect(reply.body.message).toBe(
      `failed to create typed patch object (/a; apps/v1, Kind=Deployment): ${problem}`,
    );
  });
});
