/**
 * What happens beyond the bound of the history; on a real server this takes minutes, so it is tested here
 * alone.
 */
import { describe, expect, test } from 'vitest';
import { Collection } from '../../packages/kube-api/storage/collection.ts';
import { History } from '../../packages/kube-api/storage/latest-changes.ts';
import type { Change, Version } from '../../packages/kube-api/storage/version.ts';
import type { JsonObject } from '../conformance/client.ts';
import { until } from '../until.ts';
import { type MemoryCluster, memoryCluster, secrets } from './memory-cluster.ts';

const change = (revision: number): Change => ({
  revision,
  storage: 'secrets',
  namespace: 'default',
  name: 'a',
  current: null,
  previous: null,
  lines: new Map(),
});

describe('a history', () => {
  const filled = (max: number, count: number) => {
    const history = new History(max);
    for (let revision = 1; revision <= count; revision += 1) history.add(change(revision * 10));
    return history;
  };
  const revisions = (history: History, since: number) =>
    history.since(since)?.map(({ revision }) => revision);

  test('tells all changes after a revision, in order', () => {
    const history = filled(5, 4);
    expect(revisions(history, 0)).toEqual([10, 20, 30, 40]);
    expect(revisions(history, 20)).toEqual([30, 40]);
    expect(revisions(history, 25)).toEqual([30, 40]);
    expect(revisions(history, 99)).toEqual([]);
  });

  test('says so when some of them are gone', () => {
    const history = filled(5, 8);
    expect(history.oldest).toBe(30);
    expect(revisions(history, 30)).toEqual([40, 50, 60, 70, 80]);
    expect(revisions(history, 29)).toBeUndefined();
    expect(revisions(history, 0)).toBeUndefined();
  });
});

describe('a list in pages', () => {
  const size = 2_000;
  const limit = 10;

  /** Objects whose metadata counts who looks at it. */
  function filled(looks: { count: number }): Collection {
    const collection = new Collection(new History(1_000));
    for (let n = 0; n < size; n++) collection.add(created(looks, n, n + 1));
    return collection;
  }
  const nameOf = (n: number) => String(n).padStart(4, '0');
  const versionOf = (looks: { count: number }, n: number, revision: number): Version => {
    const metadata = { name: nameOf(n), namespace: 'default', uid: String(n), creationTimestamp: '' };
    const object = {
      get metadata() {
        looks.count += 1;
        return { ...metadata, resourceVersion: String(revision) };
      },
    };
    return { object, revision, texts: new Map() };
  };
  const created = (looks: { count: number }, n: number, revision: number): Change => ({
    ...{ revision, storage: 'secrets', namespace: 'default', name: nameOf(n), lines: new Map() },
    ...{ current: versionOf(looks, n, revision), previous: null },
  });
  const namesOf = (versions: Iterable<Version>) => [...versions].map(({ object }) => object.metadata.name);

  test('a page looks at what it shows, however long the list is and whatever changed meanwhile', () => {
    const looks = { count: 0 };
    const collection = filled(looks);
    const before = collection.get({ namespace: 'default', name: nameOf(7) }) as Version;
    collection.add({ ...created(looks, 7, size + 1), previous: before });
    looks.count = 0;
    const rest = collection.listAt(size, 'default', `default/${nameOf(4)}`);
    const names: string[] = [];
    for (const { object } of rest?.versions ?? []) {
      names.push(object.metadata.name);
      if (names.length === limit) break;
    }
    expect(names).toEqual(Array.from({ length: limit }, (_, at) => nameOf(at + 5)));
    expect(rest?.count).toBe(size - 5);
    expect(looks.count).toBeLessThanOrEqual(2 * limit);
  });

  test('what came or went since then is left out, or in', () => {
    const looks = { count: 0 };
    const collection = filled(looks);
    const gone = collection.get({ namespace: 'default', name: nameOf(3) }) as Version;
    collection.add({ ...created(looks, 3, size + 1), previous: gone, current: null });
    collection.add(created(looks, size, size + 2));
    expect(namesOf(collection.listAt(size)?.versions ?? [])).toEqual(
      Array.from({ length: size }, (_, n) => nameOf(n)),
    );
    expect(collection.list()).toHaveLength(size);
    expect(collection.listAt(size - 1, 'default')?.count).toBe(size - 1);
  });
});

describe('beyond the history', () => {
  async function write(cluster: MemoryCluster, names: readonly string[]): Promise<void> {
    for (const name of names) await cluster.api.post(secrets, { metadata: { name } });
  }

  test('a watch is told 410 Expired inside the stream, and ends', async () => {
    await using cluster = await memoryCluster({ historyChanges: 3 });
    const { body } = await cluster.api.get(secrets);
    await write(cluster, ['a', 'b', 'c', 'd']);
    const resourceVersion = String((body.metadata as JsonObject).resourceVersion);
    const watch = await cluster.api.watch(secrets, { resourceVersion });
    await until(() => watch.hasEnded, { what: 'the end of the watch' });
    expect(watch.code).toBe(200);
    expect(watch.events).toEqual([
      {
        type: 'ERROR',
        object: expect.objectContaining({
          kind: 'Status',
          code: 410,
          reason: 'Expired',
          message: expect.stringMatching(/^too old resource version: \d+ \(\d+\)$/),
        }),
      },
    ]);
  });

  test('a watch from the oldest known version goes on', async () => {
    await using cluster = await memoryCluster({ historyChanges: 3 });
    await write(cluster, ['a']);
    const { body } = await cluster.api.get(`${secrets}/a`);
    await write(cluster, ['b', 'c', 'd']);
    const resourceVersion = String((body.metadata as JsonObject).resourceVersion);
    const watch = await cluster.api.watch(secrets, { resourceVersion });
    await until(() => watch.events.length === 3, { what: 'three events' });
    expect(watch.events.map(({ object }) => (object.metadata as JsonObject).name)).toEqual(['b', 'c', 'd']);
    watch.close();
  });

  test('busy resources do not make others forget', async () => {
    await using cluster = await memoryCluster({ historyChanges: 3 });
    const { body } = await cluster.api.get('/api/v1/configmaps');
    await write(cluster, ['a', 'b', 'c', 'd', 'e']);
    const resourceVersion = String((body.metadata as JsonObject).resourceVersion);
    const watch = await cluster.api.watch('/api/v1/configmaps', { resourceVersion });
    await cluster.api.post('/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' } });
    await until(() => watch.events.length === 1, { what: 'an event' });
    expect(watch.events[0]?.type).toBe('ADDED');
    watch.close();
  });

  test('a page is told 410 with a token that goes on without consistency', async () => {
    await using cluster = await memoryCluster({ historyChanges: 3 });
    await write(cluster, ['a', 'b', 'c']);
    const first = await cluster.api.get(`${secrets}?limit=1`);
    await write(cluster, ['d', 'e', 'f', 'g']);
    const token = String((first.body.metadata as JsonObject).continue);
    const late = await cluster.api.get(`${secrets}?limit=1&continue=${token}`);
    expect(late.code).toBe(410);
    expect(late.body).toMatchObject({ kind: 'Status', reason: 'Expired', code: 410 });
    const onward = String((late.body.metadata as JsonObject).continue);
    const rest = await cluster.api.get(`${secrets}?continue=${onward}`);
    expect((rest.body.items as JsonObject[]).map(({ metadata }) => (metadata as JsonObject).name)).toEqual([
      'b',
      'c',
      'd',
      'e',
      'f',
      'g',
    ]);
  });

  test('an exact version is told 410', async () => {
    await using cluster = await memoryCluster({ historyChanges: 3 });
    await write(cluster, ['a', 'b', 'c', 'd', 'e']);
    const reply = await cluster.api.get(`${secrets}?resourceVersion=3&resourceVersionMatch=Exact`);
    expect(reply.code).toBe(410);
    expect(reply.body.message).toBe('The resourceVersion for the provided list is too old.');
  });
});
