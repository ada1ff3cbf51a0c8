import { describe, expect } from 'vitest';
import type { JsonObject } from './client.ts';
import { configMap, metaOf, pod, test } from './conformance.ts';

describe('JSON merge patch', () => {
  test('merges maps, replaces lists, and removes what is null', async ({ api, core }) => {
    await api.post(
      `${core}/configmaps`,
      configMap('a', { finalizers: ['x.example.com/a'] }, { keep: '1', go: '2' }),
    );
    const reply = await api.patch(`${core}/configmaps/a`, 'merge', {
      metadata: { finalizers: ['x.example.com/b'] },
      data: { go: null, come: '3' },
    });
    expect(reply.body.data).toEqual({ keep: '1', come: '3' });
    expect(metaOf(reply).finalizers).toEqual(['x.example.com/b']);
    await api.patch(`${core}/configmaps/a`, 'merge', { metadata: { finalizers: null } });
  });

  test('of an object that does not exist is answered 404', async ({ api, core }) => {
    expect((await api.patch(`${core}/configmaps/a`, 'merge', { data: {} })).code).toBe(404);
  });

  test('that is no JSON is refused with 400', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a'));
    const reply = await api.patch(`${core}/configmaps/a`, 'merge', 'nonsense');
    expect(reply.code).toBe(400);
    expect(String(reply.body.message)).toMatch(/^error decoding patch: /);
  });

  test('in another media type is refused with 415', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a'));
    const reply = await api.call('PATCH', `${core}/configmaps/a`, { data: {} }, { type: 'application/json' });
    expect(reply.code).toBe(415);
    expect(reply.body.reason).toBe('UnsupportedMediaType');
  });
});

describe('JSON patch', () => {
  test('adds, removes, replaces, copies and moves in order', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a', {}, { one: '1', two: '2', three: '3' }));
    const reply = await api.patch(`${core}/configmaps/a`, 'json', [
      { op: 'test', path: '/data/one', value: '1' },
      { op: 'add', path: '/data/four', value: '4' },
      { op: 'remove', path: '/data/two' },
      { op: 'replace', path: '/data/three', value: '33' },
      { op: 'copy', from: '/data/four', path: '/data/five' },
      { op: 'move', from: '/data/one', path: '/data/six' },
    ]);
    expect(reply.code).toBe(200);
    expect(reply.body.data).toEqual({ three: '33', four: '4', five: '4', six: '1' });
  });

  test('reaches into lists by index and behind their end', async ({ api, core }) => {
    await api.post(
      `${core}/configmaps`,
      configMap('a', { finalizers: ['x.example.com/a', 'x.example.com/c'] }),
    );
    const reply = await api.patch(`${core}/configmaps/a`, 'json', [
      { op: 'add', path: '/metadata/finalizers/1', value: 'x.example.com/b' },
      { op: 'add', path: '/metadata/finalizers/-', value: 'x.example.com/d' },
      { op: 'remove', path: '/metadata/finalizers/0' },
    ]);
    expect(metaOf(reply).finalizers).toEqual(['x.example.com/b', 'x.example.com/c', 'x.example.com/d']);
    await api.patch(`${core}/configmaps/a`, 'merge', { metadata: { finalizers: null } });
  });

  test('pointers escape "/" and "~"', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a', { annotations: { 'example.com/k': '1' } }));
    const reply = await api.patch(`${core}/configmaps/a`, 'json', [
      { op: 'replace', path: '/metadata/annotations/example.com~1k', value: '2' },
    ]);
    expect(metaOf(reply).annotations).toEqual({ 'example.com/k': '2' });
  });

  test.for([
    ['a test that fails', [{ op: 'test', path: '/data/k', value: 'other' }]],
    ['a path that is not there', [{ op: 'remove', path: '/data/none' }]],
    ['an unknown operation', [{ op: 'double', path: '/data/k' }]],
  ] as const)('%s is refused with 422 and changes nothing', async ([, operations], { api, core }) => {
    const old = await api.post(`${core}/configmaps`, configMap('a', {}, { k: 'v' }));
    const all = [{ op: 'add', path: '/data/x', value: 'y' }, ...operations];
    const reply = await api.patch(`${core}/configmaps/a`, 'json', all as unknown as JsonObject[]);
    expect(reply.code).toBe(422);
    expect(reply.body).toMatchObject({
      reason: 'Invalid',
      message: 'the server rejected our request due to an error in our request',
    });
    expect((await api.get(`${core}/configmaps/a`)).body.data).toEqual(old.body.data);
  });

  test('that is no list is refused with 400', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a'));
    const reply = await api.patch(`${core}/configmaps/a`, 'json', { op: 'remove', path: '/data' });
    expect(reply.code).toBe(400);
  });
});

describe('strategic merge patch', () => {
  const conditions = (body: JsonObject) => ((body.status as JsonObject).conditions ?? []) as JsonObject[];
  const types = (body: JsonObject) =>
    conditions(body)
      .map((condition) => condition.type)
      .sort();

  test('merges conditions by type', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a'));
    const set = (type: string, status: string) =>
      api.patch(`${core}/pods/a/status`, 'strategic', { status: { conditions: [{ type, status }] } });
    await set('example.com/one', 'False');
    await set('example.com/two', 'True');
    const reply = await set('example.com/one', 'True');
    expect(types(reply.body)).toEqual(['example.com/one', 'example.com/two']);
    expect(conditions(reply.body).every((condition) => condition.status === 'True')).toBe(true);
  });

  test('puts a new item before those that are there', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a'));
    for (const type of ['example.com/one', 'example.com/two'])
      await api.patch(`${core}/pods/a/status`, 'strategic', {
        status: { conditions: [{ type, status: 'True' }] },
      });
    const { body } = await api.get(`${core}/pods/a`);
    expect(conditions(body).map((condition) => condition.type)).toEqual([
      'example.com/two',
      'example.com/one',
    ]);
  });

  test('removes an item by $patch: delete', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a'));
    const both = ['example.com/one', 'example.com/two'].map((type) => ({ type, status: 'True' }));
    await api.patch(`${core}/pods/a/status`, 'strategic', { status: { conditions: both } });
    const reply = await api.patch(`${core}/pods/a/status`, 'strategic', {
      status: { conditions: [{ type: 'example.com/one', $patch: 'delete' }] },
    });
    expect(types(reply.body)).toEqual(['example.com/two']);
  });

  test('replaces a list by $patch: replace', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a'));
    const both = ['example.com/one', 'example.com/two'].map((type) => ({ type, status: 'True' }));
    await api.patch(`${core}/pods/a/status`, 'strategic', { status: { conditions: both } });
    const reply = await api.patch(`${core}/pods/a/status`, 'strategic', {
      status: { conditions: [{ $patch: 'replace' }, { type: 'example.com/three', status: 'True' }] },
    });
    expect(types(reply.body)).toEqual(['example.com/three']);
  });

  test('merges containers by name and their variables by name', async ({ api, namespace }) => {
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    const labels = { app: 'a' };
    await api.post(path, {
      metadata: { name: 'a' },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            containers: [
              {
                name: 'one',
                image: 'one:1',
                env: [
                  { name: 'A', value: '1' },
                  { name: 'B', value: '2' },
                ],
              },
              { name: 'two', image: 'two:1' },
            ],
          },
        },
      },
    });
    const reply = await api.patch(`${path}/a`, 'strategic', {
      spec: { template: { spec: { containers: [{ name: 'one', env: [{ name: 'B', value: '3' }] }] } } },
    });
    const { containers } = ((reply.body.spec as JsonObject).template as JsonObject).spec as {
      containers: JsonObject[];
    };
    const byName = new Map(containers.map((container) => [container.name, container]));
    expect([...byName.keys()].sort()).toEqual(['one', 'two']);
    expect(byName.get('one')).toMatchObject({ image: 'one:1' });
    expect(byName.get('one')?.env).toEqual(
      expect.arrayContaining([
        { name: 'A', value: '1' },
        { name: 'B', value: '3' },
      ]),
    );
  });

  test('merges owner references by uid', async ({ api, core }) => {
    // Owners of a kind that no server knows are never collected.
    const owner = (uid: string, name: string) => ({
      apiVersion: 'nobody.example.com/v1',
      kind: 'Nobody',
      name,
      uid,
    });
    await api.post(`${core}/configmaps`, configMap('a', { ownerReferences: [owner('u1', 'one')] }));
    const reply = await api.patch(`${core}/configmaps/a`, 'strategic', {
      metadata: { ownerReferences: [owner('u2', 'two')] },
    });
    expect((metaOf(reply).ownerReferences as JsonObject[]).map(({ uid }) => uid).sort()).toEqual([
      'u1',
      'u2',
    ]);
  });

  test('adds to finalizers and takes away by $deleteFromPrimitiveList', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a', { finalizers: ['x.example.com/a'] }));
    const added = await api.patch(`${core}/configmaps/a`, 'strategic', {
      metadata: { finalizers: ['x.example.com/b'] },
    });
    expect([...(metaOf(added).finalizers as string[])].sort()).toEqual([
      'x.example.com/a',
      'x.example.com/b',
    ]);
    const taken = await api.patch(`${core}/configmaps/a`, 'strategic', {
      metadata: { '$deleteFromPrimitiveList/finalizers': ['x.example.com/a'] },
    });
    expect(metaOf(taken).finalizers).toEqual(['x.example.com/b']);
    await api.patch(`${core}/configmaps/a`, 'merge', { metadata: { finalizers: null } });
  });

  test('orders items by $setElementOrder', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a'));
    const all = ['one', 'two', 'three'].map((name) => ({ type: `example.com/${name}`, status: 'True' }));
    await api.patch(`${core}/pods/a/status`, 'strategic', { status: { conditions: all } });
    const order = ['three', 'one', 'two'].map((name) => ({ type: `example.com/${name}` }));
    const reply = await api.patch(`${core}/pods/a/status`, 'strategic', {
      status: {
        '$setElementOrder/conditions': order,
        conditions: [{ type: 'example.com/one', status: 'False' }],
      },
    });
    expect(conditions(reply.body).map(({ type }) => type)).toEqual(order.map(({ type }) => type));
  });

  test('drops what $retainKeys does not name', async ({ api, namespace }) => {
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    const labels = { app: 'a' };
    const containers = [{ name: 'one', image: 'one:1' }];
    await api.post(path, {
      metadata: { name: 'a' },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers } },
      },
    });
    const reply = await api.patch(`${path}/a`, 'strategic', {
      spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } },
    });
    expect((reply.body.spec as JsonObject).strategy).toEqual({ type: 'Recreate' });
  });

  test('replaces lists that have no key', async ({ api, namespace }) => {
    const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
    await api.post(path, {
      metadata: { name: 'a' },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.0.0.1'] }, { addresses: ['10.0.0.2'] }],
    });
    const reply = await api.patch(`${path}/a`, 'strategic', { endpoints: [{ addresses: ['10.0.0.3'] }] });
    expect(reply.body.endpoints).toEqual([{ addresses: ['10.0.0.3'], conditions: {} }]);
  });
});
