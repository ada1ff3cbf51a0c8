import { describe, expect } from 'vitest';
import { until } from '../until.ts';
import { configMap, metaOf, versionOf } from './conformance.ts';
import { accept, columns, type Row, rows } from './table.ts';
import { test } from './things.ts';

describe('the columns of', () => {
  const name = 'Name string name 0';
  const text = (...names: string[]) => names.map((column) => `${column} string  0`);
  const wide = (...names: string[]) => names.map((column) => `${column} string  1`);
  const whole = (...names: string[]) => names.map((column) => `${column} integer  0`);

  test.for([
    [
      '/api/v1/pods',
      [name, ...text('Ready', 'Status', 'Restarts', 'Age')],
      wide('IP', 'Node', 'Nominated Node', 'Readiness Gates'),
    ],
    [
      '/api/v1/services',
      [name, ...text('Type', 'Cluster-IP', 'External-IP', 'Port(s)', 'Age')],
      wide('Selector'),
    ],
    [
      '/api/v1/nodes',
      [name, ...text('Status', 'Roles', 'Age', 'Version')],
      wide('Internal-IP', 'External-IP', 'OS-Image', 'Kernel-Version', 'Container-Runtime'),
    ],
    ['/api/v1/namespaces', [name, ...text('Status', 'Age')], []],
    ['/api/v1/configmaps', [name, ...text('Data', 'Age')], []],
    ['/api/v1/secrets', [name, ...text('Type', 'Data', 'Age')], []],
    ['/api/v1/serviceaccounts', [name, ...text('Age')], []],
    [
      '/apis/apps/v1/deployments',
      [name, ...text('Ready', 'Up-to-date', 'Available', 'Age')],
      wide('Containers', 'Images', 'Selector'),
    ],
    [
      '/apis/apps/v1/replicasets',
      [name, ...whole('Desired', 'Current', 'Ready'), ...text('Age')],
      wide('Containers', 'Images', 'Selector'),
    ],
    ['/apis/apps/v1/statefulsets', [name, ...text('Ready', 'Age')], wide('Containers', 'Images')],
    [
      '/apis/discovery.k8s.io/v1/endpointslices',
      [name, ...text('AddressType', 'Ports', 'Endpoints', 'Age')],
      [],
    ],
    ['/apis/apps/v1/controllerrevisions', [name, ...text('Controller', 'Revision', 'Age')], []],
    ['/apis/coordination.k8s.io/v1/leases', [name, ...text('Holder', 'Age')], []],
    ['/apis/apiextensions.k8s.io/v1/customresourcedefinitions', [name, 'Created At date  0'], []],
  ] as const)('%s are those that kubectl shows', async ([path, narrow, more], { api }) => {
    const reply = await api.get(path, { accept });
    expect(reply.code).toBe(200);
    expect(reply.body).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
    expect(columns(reply)).toEqual([...narrow, ...more]);
  });

  test.for(['/api/v1/events', '/apis/events.k8s.io/v1/events'])(
    '%s, whose name comes last',
    async (path, { api }) => {
      const found = columns(await api.get(path, { accept }));
      expect(found.map((column) => column.replace(/ string.*/, ''))).toEqual([
        'Last Seen',
        'Type',
        'Reason',
        'Object',
        'Subobject',
        'Source',
        'Message',
        'First Seen',
        'Count',
        'Name',
      ]);
    },
  );
});

describe('a table', () => {
  test('of a list has its version and pages', async ({ api, core }) => {
    for (const name of ['a', 'b']) await api.post(`${core}/secrets`, { metadata: { name } });
    const first = await api.get(`${core}/secrets?limit=1`, { accept });
    expect(rows(first).map(({ cells }) => cells.slice(0, 3))).toEqual([['a', 'Opaque', 0]]);
    const { continue: token, resourceVersion } = metaOf(first);
    expect(Number(resourceVersion)).toBeGreaterThan(0);
    const second = await api.get(`${core}/secrets?limit=1&continue=${encodeURIComponent(String(token))}`, {
      accept,
    });
    expect(rows(second).map(({ cells }) => cells[0])).toEqual(['b']);
  });

  test('of one object has its version, and comes for writes too', async ({ api, core }) => {
    const made = await api.post(`${core}/configmaps`, configMap('a', {}, { x: '1', y: '2' }), { accept });
    expect(made.code).toBe(201);
    expect(rows(made)[0]?.cells.slice(0, 2)).toEqual(['a', 2]);
    const plain = await api.get(`${core}/configmaps/a`);
    const table = await api.get(`${core}/configmaps/a`, { accept });
    expect(metaOf(table).resourceVersion).toBe(versionOf(plain));
    expect(rows(table)[0]?.object).toMatchObject({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { name: 'a', resourceVersion: versionOf(plain) },
    });
    expect(rows(table)[0]?.object).not.toHaveProperty('data');
  });

  test('brings of each object what is asked for', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a', {}, { x: '1' }));
    const including = async (what: string) => {
      const reply = await api.get(`${core}/configmaps/a?includeObject=${what}`, { accept });
      return rows(reply)[0]?.object;
    };
    expect(await including('None')).toBeNull();
    expect(await including('Metadata')).toMatchObject({ kind: 'PartialObjectMetadata' });
    expect(await including('Object')).toMatchObject({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      data: { x: '1' },
    });
    const refused = await api.get(`${core}/configmaps/a?includeObject=Everything`, { accept });
    expect(refused.code).toBe(400);
    expect(refused.body.message).toBe(
      "Unable to convert to Table as requested: includeObject: Invalid value: \"Everything\": must be 'Metadata', 'Object', 'None', or empty",
    );
  });

  test('is no form for errors', async ({ api, core }) => {
    const reply = await api.get(`${core}/configmaps/none`, { accept });
    expect(reply.code).toBe(404);
    expect(reply.body).toMatchObject({ kind: 'Status', reason: 'NotFound' });
  });

  test('of a watch has columns in its first event alone', async ({ api, core }) => {
    await api.post(`${core}/secrets`, { metadata: { name: 'a' } });
    const watch = await api.watch(`${core}/secrets`, {}, { accept });
    await until(() => watch.events.length > 0, { what: 'the first event' });
    await api.post(`${core}/secrets`, { metadata: { name: 'b' } });
    await api.delete(`${core}/secrets/b`);
    await until(() => watch.events.length > 2, { what: 'three events' });
    watch.close();
    const [first, second, third] = watch.events;
    expect([first, second, third].map((event) => event?.type)).toEqual(['ADDED', 'ADDED', 'DELETED']);
    expect(first?.object.kind).toBe('Table');
    expect(columns(first?.object ?? {})).toHaveLength(4);
    expect(second?.object.columnDefinitions).toBeNull();
    expect(((second?.object.rows ?? []) as Row[])[0]?.cells[0]).toBe('b');
  });
});

describe('metadata alone', () => {
  const partial = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
  const partialList = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

  test('of an object and of a list', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a', { labels: { l: 'v' } }, { x: '1' }));
    const one = await api.get(`${core}/configmaps/a`, { accept: partial });
    expect(one.body).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { labels: { l: 'v' } } });
    expect(one.body).not.toHaveProperty('data');
    const list = await api.get(`${core}/configmaps?labelSelector=l`, { accept: partialList });
    expect(list.body).toMatchObject({
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      items: [{ metadata: { name: 'a' } }],
    });
  });

  test('in a watch', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a', {}, { x: '1' }));
    const watch = await api.watch(`${core}/configmaps`, { labelSelector: '!none' }, { accept: partial });
    const event = await until(() => watch.events[0], { what: 'an event' });
    watch.close();
    expect(event.object).toMatchObject({ kind: 'PartialObjectMetadata' });
    expect(event.object).not.toHaveProperty('data');
  });
});

describe('what a client accepts', () => {
  test.for([
    ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', 'Table'],
    ['application/json;as=Table;v=v9;g=meta.k8s.io,application/json', 'NamespaceList'],
    ['application/json,application/json;as=Table;v=v1;g=meta.k8s.io', 'NamespaceList'],
  ] as const)('%s gets a %s', async ([wanted, kind], { api }) => {
    expect((await api.get('/api/v1/namespaces', { accept: wanted })).body.kind).toBe(kind);
  });

  test('a form that nobody knows is answered 406', async ({ api }) => {
    const reply = await api.get('/api/v1/namespaces', {
      accept: 'application/json;as=Song;v=v1;g=meta.k8s.io',
    });
    expect(reply.code).toBe(406);
  });
});
