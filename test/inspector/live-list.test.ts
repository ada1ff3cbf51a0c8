/** The rows of the live feed, and the lists that are read again and again: which of the two counts. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createControl } from '../../src/actors/control/control-client.ts';
import { limits } from '../../src/base/limits.ts';
import type { ControlPort, LiveRow } from '../../src/base/views.ts';
import { encodeJson } from '../../src/bus/codec.ts';
import { LiveWatch } from '../../src/inspector/live/live-watch.ts';
import { followDeadLetters } from '../../src/inspector/live/newest-dead-letters.ts';
import { TestCluster } from '../actors/harness.ts';

let cluster: TestCluster;
let liveWatch: LiveWatch | undefined;
beforeEach(() => {
  cluster = new TestCluster();
});
afterEach(() => liveWatch?.stop());

const row = (n: number, rev: number, shard = 1): LiveRow => ({
  id: `pod/shop/web-${n}`,
  state: `rev-${rev}`,
  since: 0,
  owner: 'a',
  shard,
  rev,
  nextTimer: null,
  lastError: null,
  parked: false,
  reason: { text: '', health: 'ok', since: 0, next: null },
});
type Page = Awaited<ReturnType<ControlPort['list']>>;

/** Reads pages that the test writes, each time the whole list is read. */
function watch(pages: () => readonly Page[], during: () => void = () => {}) {
  const bus = cluster.hub.connect('lists');
  let next: readonly Page[] = [];
  const scripted: ControlPort = {
    ...createControl({ bus, subjects: cluster.subjects }),
    list: async ({ after }) => {
      if (after === undefined) next = pages();
      during();
      const [page = { actors: [], next: null, missingShards: [] }, ...left] = next;
      next = left;
      return page;
    },
  };
  liveWatch = new LiveWatch({ ...cluster, bus, control: scripted, watcher: 'lists' });
  liveWatch.watchRows({ changed() {}, cluster() {} });
  const peer = cluster.hub.connect('owner');
  return {
    tell: (...rows: LiveRow[]) => peer.publish(cluster.subjects.peer('rows'), encodeJson({ rows })),
    states: () => [...(liveWatch?.rows.values() ?? [])].map(({ id, state }) => `${id} ${state}`).sort(),
  };
}
const page = (actors: readonly LiveRow[], more: Partial<Page> = {}): Page => ({
  actors,
  next: null,
  missingShards: [],
  ...more,
});

test('rows are those of the restored store after a backup was restored, though revisions went back', async () => {
  let list = [page([row(0, 90), row(1, 80), row(2, 70)])];
  const { states } = watch(() => list);
  await cluster.clock.advance(1_000);
  expect(states()).toEqual(['pod/shop/web-0 rev-90', 'pod/shop/web-1 rev-80', 'pod/shop/web-2 rev-70']);
  list = [page([row(0, 12), row(1, 80)])];
  await cluster.clock.advance(limits.inspectReadAgainMs);
  expect(states()).toEqual(['pod/shop/web-0 rev-12', 'pod/shop/web-1 rev-80']);
});

test('rows told while a list is read are newer than the list', async () => {
  let during = () => {};
  const { states, tell } = watch(
    () => [page([row(0, 5)])],
    () => during(),
  );
  await cluster.clock.advance(1_000);
  during = () => tell(row(0, 7));
  await cluster.clock.advance(limits.inspectReadAgainMs);
  expect(states()).toEqual(['pod/shop/web-0 rev-7']);
});

test('rows of two owners are those of the one that went on', async () => {
  const { states } = watch(() => [page([row(0, 9), row(0, 8), row(1, 3), row(1, 4)])]);
  await cluster.clock.advance(limits.inspectReadAgainMs + 1_000);
  expect(states()).toEqual(['pod/shop/web-0 rev-9', 'pod/shop/web-1 rev-4']);
});

test('rows of a shard that nobody answered for in any part of the list stay', async () => {
  const whole = [
    page([row(0, 1, 7)], { next: 'pod/shop/web-0' }),
    page([row(1, 1, 8)], { next: 'pod/shop/web-1' }),
    page([row(2, 1, 9)]),
  ];
  let list = whole;
  const { states } = watch(() => list);
  await cluster.clock.advance(1_000);
  expect(states()).toHaveLength(3);
  // Its owner was replaced while the first part was read.
  list = [page([], { next: 'pod/shop/web-0', missingShards: [7] }), ...whole.slice(1)];
  await cluster.clock.advance(limits.inspectReadAgainMs);
  expect(states()).toEqual(['pod/shop/web-0 rev-1', 'pod/shop/web-1 rev-1', 'pod/shop/web-2 rev-1']);
});

test('dead letters are those of the last day, also on a page that stays open, and without all that left', async () => {
  const { clock, subjects } = cluster;
  const bus = cluster.hub.connect('letters');
  const dead = () => bus.append(subjects.dead, encodeJson({ type: 'pod.explode' }));
  for (let n = 0; n < limits.inspectDeadLetters + 10; n++) await dead();
  const following = followDeadLetters({ bus, subjects, clock });
  await clock.advance(12 * 3_600_000);
  await dead();
  await clock.advance(0);
  const told = () => [following.letters().count, following.letters().newest.length];
  expect(told()).toEqual([61, 50]);
  // The first is beyond those that are shown.
  for (const sequence of [1, 61]) bus.publish(subjects.peer('letter'), encodeJson({ sequence }));
  await clock.advance(0);
  expect(told()).toEqual([59, 49]);
  await dead();
  await clock.advance(13 * 3_600_000);
  expect(told()).toEqual([1, 1]);
  following.stop();
});

test('a dead letter that left unheard is not counted for longer than some minutes', async () => {
  const { clock, subjects } = cluster;
  const bus = cluster.hub.connect('letters');
  const dead = () => bus.append(subjects.dead, encodeJson({ type: 'pod.explode' }));
  for (let n = 0; n < 3; n++) await dead();
  const following = followDeadLetters({ bus, subjects, clock });
  const told = async () => {
    following.letters();
    await clock.advance(10);
    return following.letters().count;
  };
  expect(await told()).toBe(3);
  await bus.remove('dead', 1);
  expect(await told()).toBe(3);
  await clock.advance(11 * 60_000);
  following.letters();
  bus.publish(subjects.peer('letter'), encodeJson({ sequence: 2 }));
  expect(await told()).toBe(1);
  await dead();
  expect(await told()).toBe(2);
  following.stop();
  await dead();
  expect(await told()).toBe(2);
});
