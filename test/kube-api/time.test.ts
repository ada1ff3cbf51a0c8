/** What happens by the clock: bookmarks, the end of watches, the end of Events. */
import { describe, expect, test } from 'vitest';
import type { JsonObject, Watch } from '../conformance/client.ts';
import { versionOf } from '../conformance/conformance.ts';
import { until } from '../until.ts';
import { memoryCluster, secrets } from './memory-cluster.ts';

const bookmarks = (watch: Watch) => watch.events.filter(({ type }) => type === 'BOOKMARK');

describe('by the clock', () => {
  test('bookmarks come every minute and at the end, at the version of the store', async () => {
    await using cluster = await memoryCluster();
    const watch = await cluster.api.watch(secrets, { allowWatchBookmarks: 'true', timeoutSeconds: '150' });
    await cluster.clock.advance(60_000);
    await until(() => bookmarks(watch).length === 1, { what: 'the first bookmark' });
    const other = await cluster.api.post('/api/v1/namespaces/default/configmaps', {
      metadata: { name: 'a' },
    });
    await cluster.clock.advance(60_000);
    await until(() => bookmarks(watch).length === 2, { what: 'the second bookmark' });
    expect(versionOf(bookmarks(watch)[1]?.object ?? {})).toBe(versionOf(other));
    await cluster.clock.advance(30_000);
    await until(() => watch.hasEnded, { what: 'the end of the watch' });
    expect(bookmarks(watch).length).toBe(4);
    expect(watch.events.at(-1)?.type).toBe('BOOKMARK');
  });

  test('a watch without a time of its own ends within an hour', async () => {
    await using cluster = await memoryCluster();
    const watch = await cluster.api.watch(secrets);
    await cluster.clock.advance(1_799_000);
    expect(watch.hasEnded).toBe(false);
    await cluster.clock.advance(1_801_000);
    await until(() => watch.hasEnded, { what: 'the end of the watch' });
  });

  test('a watch that is left behind leaves no timer', async () => {
    await using cluster = await memoryCluster();
    const before = cluster.clock.pending;
    const watch = await cluster.api.watch(secrets, { allowWatchBookmarks: 'true' });
    expect(cluster.clock.pending).toBeGreaterThan(before);
    watch.close();
    await until(() => cluster.clock.pending === before, { what: 'no timer' });
  });

  test('Events are forgotten an hour after their last change', async () => {
    await using cluster = await memoryCluster();
    const events = '/api/v1/namespaces/default/events';
    const create = (name: string) =>
      cluster.api.post(events, { metadata: { name }, involvedObject: { namespace: 'default' } });
    await create('early');
    await create('changed');
    await cluster.clock.advance(1_800_000);
    await create('late');
    await cluster.api.patch(`${events}/changed`, 'merge', { count: 2 });
    await cluster.clock.advance(1_800_000);
    const names = async () =>
      ((await cluster.api.get(events)).body.items as JsonObject[]).map(
        ({ metadata }) => (metadata as JsonObject).name,
      );
    expect(await names()).toEqual(['changed', 'late']);
    await cluster.clock.advance(1_800_000);
    expect(await names()).toEqual([]);
  });

  test('times are those of the clock, in whole seconds', async () => {
    await using cluster = await memoryCluster();
    await cluster.clock.advance(1_500);
    const { body } = await cluster.api.post(secrets, { metadata: { name: 'a' } });
    expect((body.metadata as JsonObject).creationTimestamp).toBe('2023-11-14T22:13:21Z');
  });
});
