import { describe, expect } from 'vitest';
import { until } from '../until.ts';
import type { Watch } from './client.ts';
import { metaOf, pod, test, uidOf, versionOf } from './conformance.ts';

function seen(watch: Watch): string[] {
  return watch.events.map(({ type, object }) => `${type} ${metaOf(object).name}`);
}

async function seeing(watch: Watch, count: number): Promise<string[]> {
  await until(() => watch.events.length >= count, { what: `${count} events` });
  return seen(watch);
}

const secret = (name: string, labels: Record<string, string> = {}) => ({ metadata: { name, labels } });

describe('watch', () => {
  test('from a version tells every change after it, in order, at its version', async ({ api, core }) => {
    await api.post(`${core}/secrets`, secret('before'));
    const resourceVersion = versionOf(await api.get(`${core}/secrets`));
    const created = await api.post(`${core}/secrets`, secret('a'));
    const watch = await api.watch(`${core}/secrets`, { resourceVersion });
    const patched = await api.patch(`${core}/secrets/a`, 'merge', { metadata: { labels: { l: 'v' } } });
    await api.delete(`${core}/secrets/a`);
    expect(await seeing(watch, 3)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a']);
    const [first, second, third] = watch.events;
    expect(versionOf(first?.object ?? {})).toBe(versionOf(created));
    expect(versionOf(second?.object ?? {})).toBe(versionOf(patched));
    expect(Number(versionOf(third?.object ?? {}))).toBeGreaterThan(Number(versionOf(patched)));
    expect(metaOf(third?.object ?? {}).labels).toEqual({ l: 'v' });
    expect(uidOf(third?.object ?? {})).toBe(uidOf(created));
    expect(first?.object).toMatchObject({ kind: 'Secret', apiVersion: 'v1' });
    watch.close();
  });

  test.for([{}, { resourceVersion: '0' }])('%j begins with what is there', async (query, { api, core }) => {
    await api.post(`${core}/secrets`, secret('a'));
    await api.post(`${core}/secrets`, secret('b'));
    const watch = await api.watch(`${core}/secrets`, query);
    expect((await seeing(watch, 2)).sort()).toEqual(['ADDED a', 'ADDED b']);
    await api.post(`${core}/secrets`, secret('c'));
    expect((await seeing(watch, 3)).at(-1)).toBe('ADDED c');
    watch.close();
  });

  test('of all namespaces tells of each', async ({ api, core, namespace }) => {
    const resourceVersion = versionOf(await api.get('/api/v1/secrets'));
    const watch = await api.watch('/api/v1/secrets', { resourceVersion });
    await api.post(`${core}/secrets`, secret('a'));
    await until(() => watch.events.some(({ object }) => metaOf(object).namespace === namespace), {
      what: 'our Secret',
    });
    watch.close();
  });

  test('of one namespace tells of no other', async ({ api, core }) => {
    const resourceVersion = versionOf(await api.get('/api/v1/secrets'));
    const watch = await api.watch('/api/v1/namespaces/kube-public/secrets', {
      resourceVersion,
      timeoutSeconds: '1',
    });
    await api.post(`${core}/secrets`, secret('a'));
    await until(() => watch.hasEnded, { what: 'the end of the watch' });
    expect(seen(watch)).toEqual([]);
  });

  test('of one resource tells of no other', async ({ api, core }) => {
    const resourceVersion = versionOf(await api.get(`${core}/secrets`));
    const watch = await api.watch(`${core}/secrets`, { resourceVersion });
    await api.post(`${core}/configmaps`, secret('map'));
    await api.post(`${core}/secrets`, secret('a'));
    expect(await seeing(watch, 1)).toEqual(['ADDED a']);
    watch.close();
  });

  test('a write that changes nothing is no event', async ({ api, core }) => {
    const old = await api.post(`${core}/secrets`, secret('a', { l: 'v' }));
    const watch = await api.watch(`${core}/secrets`, { resourceVersion: versionOf(old) });
    await api.patch(`${core}/secrets/a`, 'merge', { metadata: { labels: { l: 'v' } } });
    await api.patch(`${core}/secrets/a`, 'merge', { metadata: { labels: { l: 'w' } } });
    const [first] = (await seeing(watch, 1)) && watch.events;
    expect(metaOf(first?.object ?? {}).labels).toEqual({ l: 'w' });
    watch.close();
  });

  test('a burst of changes arrives complete and in order', async ({ api, core }) => {
    const resourceVersion = versionOf(await api.get(`${core}/secrets`));
    const watch = await api.watch(`${core}/secrets`, { resourceVersion });
    const names = Array.from({ length: 40 }, (_, index) => `s${index}`);
    await Promise.all(names.map((name) => api.post(`${core}/secrets`, secret(name))));
    await seeing(watch, 40);
    const versions = watch.events.map(({ object }) => Number(versionOf(object)));
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    expect(new Set(seen(watch)).size).toBe(40);
    watch.close();
  });

  test('an object that is held until its finalizer goes is modified, then deleted', async ({ api, core }) => {
    const made = await api.post(`${core}/secrets`, {
      metadata: { name: 'a', finalizers: ['x.example.com/hold'] },
    });
    const watch = await api.watch(`${core}/secrets`, { resourceVersion: versionOf(made) });
    await api.delete(`${core}/secrets/a`);
    await api.patch(`${core}/secrets/a`, 'merge', { metadata: { finalizers: null } });
    expect(await seeing(watch, 2)).toEqual(['MODIFIED a', 'DELETED a']);
    watch.close();
  });
});

describe('watch with a selector', () => {
  test('an object that enters is added, one that leaves is deleted', async ({ api, core }) => {
    const made = await api.post(`${core}/secrets`, secret('a'));
    const watch = await api.watch(`${core}/secrets`, {
      resourceVersion: versionOf(made),
      labelSelector: 'in=yes',
    });
    const label = (value: string | null) =>
      api.patch(`${core}/secrets/a`, 'merge', { metadata: { labels: { in: value, other: 'x' } } });
    await label('yes');
    await api.patch(`${core}/secrets/a`, 'merge', { metadata: { labels: { other: 'y' } } });
    const left = await label(null);
    expect(await seeing(watch, 3)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a']);
    const last = watch.events.at(-1)?.object ?? {};
    expect(metaOf(last).labels).toEqual({ in: 'yes', other: 'y' });
    expect(versionOf(last)).toBe(versionOf(left));
    watch.close();
  });

  test('by name follows one object only', async ({ api, core }) => {
    const resourceVersion = versionOf(await api.get(`${core}/secrets`));
    const watch = await api.watch(`${core}/secrets`, { resourceVersion, fieldSelector: 'metadata.name=b' });
    await api.post(`${core}/secrets`, secret('a'));
    await api.post(`${core}/secrets`, secret('b'));
    await api.delete(`${core}/secrets/b`);
    expect(await seeing(watch, 2)).toEqual(['ADDED b', 'DELETED b']);
    watch.close();
  });

  test('by phase loses a Pod that changes it', async ({ api, core }) => {
    const made = await api.post(`${core}/pods`, pod('a'));
    const watch = await api.watch(`${core}/pods`, {
      resourceVersion: versionOf(made),
      fieldSelector: 'status.phase=Pending',
    });
    await api.patch(`${core}/pods/a/status`, 'merge', { status: { phase: 'Running' } });
    expect(await seeing(watch, 1)).toEqual(['DELETED a']);
    expect(watch.events[0]?.object).toMatchObject({ status: { phase: 'Pending' } });
    watch.close();
  });

  test('that cannot be read is refused before the watch begins', async ({ api, core }) => {
    const watch = await api.watch(`${core}/secrets`, { labelSelector: '!!' });
    expect(watch.code).toBe(400);
    watch.close();
  });
});

describe('the end of a watch', () => {
  test('comes after timeoutSeconds, in good order', async ({ api, core }) => {
    const watch = await api.watch(`${core}/secrets`, { timeoutSeconds: '1' });
    expect(watch.code).toBe(200);
    await until(() => watch.hasEnded, { what: 'the end of the watch' });
    expect(watch.events.filter(({ type }) => type === 'ERROR')).toEqual([]);
  });

  // A real server sends bookmarks as its load allows and promises none; more than once in a row it does not
  // leave them out.
  test('is preceded by a bookmark if the client takes them', { timeout: 15_000, retry: 2 }, async ({
    api,
    core,
  }) => {
    const made = await api.post(`${core}/secrets`, secret('a'));
    const watch = await api.watch(`${core}/secrets`, {
      resourceVersion: versionOf(made),
      timeoutSeconds: '5',
      allowWatchBookmarks: 'true',
    });
    await until(() => watch.hasEnded, { what: 'the end of the watch' });
    const bookmark = watch.events.find(({ type }) => type === 'BOOKMARK');
    expect(bookmark?.object).toMatchObject({ kind: 'Secret', apiVersion: 'v1' });
    expect(Number(versionOf(bookmark?.object ?? {}))).toBeGreaterThanOrEqual(Number(versionOf(made)));
  });

  test('brings no bookmark to a client that takes none', { timeout: 15_000 }, async ({ api, core }) => {
    const watch = await api.watch(`${core}/secrets`, { timeoutSeconds: '3' });
    await until(() => watch.hasEnded, { what: 'the end of the watch' });
    expect(watch.events).toEqual([]);
  });
});

describe('a watch that sends what is there first', () => {
  const query = {
    sendInitialEvents: 'true',
    resourceVersionMatch: 'NotOlderThan',
    allowWatchBookmarks: 'true',
  };

  test('says with a bookmark that this was all', async ({ api, core }) => {
    await api.post(`${core}/secrets`, secret('a'));
    const last = await api.post(`${core}/secrets`, secret('b'));
    const watch = await api.watch(`${core}/secrets`, query);
    const events = await seeing(watch, 3);
    expect(events.slice(0, 2).sort()).toEqual(['ADDED a', 'ADDED b']);
    const bookmark = watch.events[2];
    expect(bookmark?.type).toBe('BOOKMARK');
    expect(metaOf(bookmark?.object ?? {}).annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
    expect(Number(versionOf(bookmark?.object ?? {}))).toBeGreaterThanOrEqual(Number(versionOf(last)));
    watch.close();
  });

  test('needs resourceVersionMatch', async ({ api, core }) => {
    const watch = await api.watch(`${core}/secrets`, { sendInitialEvents: 'true' });
    expect(watch.code).toBe(422);
    watch.close();
  });

  test('a match without it is refused', async ({ api, core }) => {
    const watch = await api.watch(`${core}/secrets`, {
      resourceVersionMatch: 'NotOlderThan',
      resourceVersion: '1',
    });
    expect(watch.code).toBe(422);
    watch.close();
  });
});
