/** What stands in STATE and WORLD and has not the form it must have hurts one actor, and no replica. */
import { expect, test } from 'vitest';
import type { ActorId } from '../../../src/base/ids.ts';
import { encode, encodeJson } from '../../../src/bus/codec.ts';
import { shardOf } from '../../../src/bus/partition.ts';
import { fields, TestCluster } from './vandal.ts';

const pod = 'pod/shop/web-0' as const;
const shard = shardOf(pod);

/** A cluster whose replica has gone, and somebody who may write to its streams. */
async function abandoned() {
  const cluster = new TestCluster();
  const first = await cluster.replica('a');
  await cluster.shop(2, 1);
  await cluster.clock.advance(2_000);
  first.engine.kill();
  await first.bus.close();
  return { cluster, vandal: cluster.hub.connect('vandal') };
}

/** Whether the actor takes what it is sent. */
async function takes(cluster: TestCluster, id: ActorId): Promise<boolean> {
  const event = { type: 'pod.recheck', id: `ask-${id}-${cluster.clock.now()}` };
  await cluster.hub.connect('sender').append(cluster.subjects.send(id), encode(event));
  await cluster.clock.advance(1_000);
  return cluster.transitions().some(({ cause }) => cause === event.id);
}

test.each([
  ['no replica', { incarnation: 'x', at: 1 }],
  ['a replica that is a number', { replica: 7, incarnation: 'x', at: 1 }],
  ['no incarnation', { replica: 'ghost', at: 1 }],
  ['a list', []],
  ['nothing', null],
])('a fence with %s is nobody’s: it is told, and claimed', async (_, value) => {
  const { cluster, vandal } = await abandoned();
  await vandal.append(cluster.subjects.fence(shard), encodeJson(value));
  const { engine, unreadable } = await cluster.replica('b');
  await cluster.clock.advance(8_000);
  expect(engine.ownership.active()).toContain(`shard/${shard}`);
  expect(unreadable).toContain('fence');
  expect(await takes(cluster, pod)).toBe(true);
  // And while the replica lives, which loses the shard and takes it back.
  await vandal.append(cluster.subjects.fence(shard), encodeJson(value));
  await cluster.clock.advance(3_000);
  expect(await takes(cluster, pod)).toBe(true);
});

test.each([
  ['no mail', { feed: 3 }],
  ['a mail that is text', { mail: '12', feed: 3 }],
  ['a negative mail', { mail: -1, feed: 3 }],
  ['nothing', null],
])(
  'a checkpoint with %s: the shard begins at the oldest message, takes nothing twice, and is told of',
  async (_, value) => {
    const { cluster, vandal } = await abandoned();
    await vandal.append(cluster.subjects.checkpoint(shard), encode(value));
    const { unreadable } = await cluster.replica('b');
    await cluster.clock.advance(8_000);
    expect(unreadable).toEqual(['checkpoint']);
    expect(await takes(cluster, pod)).toBe(true);
    const revisions = cluster
      .transitions()
      .filter(({ id }) => id === pod)
      .map(({ rev }) => rev);
    expect(revisions).toEqual([...new Set(revisions)]);
  },
);

test.each(fields)('a record with %s parks its actor, and no other', async (_, change) => {
  const { cluster, vandal } = await abandoned();
  const neighbour = 'pod/shop/web-1' as const;
  await cluster.rewrite(vandal, pod, change);
  const { engine, unreadable } = await cluster.replica('b');
  await cluster.clock.advance(8_000);
  expect(engine.ownership.active()).toHaveLength(64);
  expect(unreadable).toEqual(['record']);
  expect(await takes(cluster, neighbour)).toBe(true);
  expect(await takes(cluster, pod)).toBe(false);
});

test.each([
  ['a list', [1]],
  ['no kind', { uid: 'x' }],
  ['a uid that is a number', { kind: 'pods', uid: 7, labels: {} }],
  ['labels that are text', { kind: 'pods', uid: 'x', labels: 'app=web' }],
])('a digest that is %s changes nothing that is known', async (_, digest) => {
  const cluster = new TestCluster();
  const { engine, unreadable, said } = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(1_000);
  const known = engine.world.get('pods', 'shop', 'web-0');
  await cluster.put('pods', 'shop', 'web-0', digest as object);
  await cluster.clock.advance(1_000);
  expect(engine.world.get('pods', 'shop', 'web-0')).toEqual(known);
  expect(unreadable).toEqual(['world']);
  expect(said).toEqual([expect.stringMatching(/^a part of the world cannot be read: .*what was known/)]);
  expect(await takes(cluster, pod)).toBe(true);
});

test('a checkpoint that is not saved is told of with what follows, and tried again', async () => {
  const cluster = new TestCluster();
  const { bus, engine, said } = await cluster.replica('a');
  await cluster.shop(1, 1);
  bus.faults.onAppend = (subject) => (subject.includes('checkpoint') ? 'full' : 'store');
  await cluster.mail(pod, { type: 'pod.recheck', id: 'ask' });
  await cluster.clock.advance(3_000);
  expect(new Set(said)).toEqual(
    new Set([expect.stringMatching(/^work on a shard failed: its checkpoint.*tried again.*nothing is lost/)]),
  );
  bus.faults.onAppend = undefined;
  await cluster.clock.advance(3_000);
  const lines = said.length;
  await cluster.clock.advance(3_000);
  expect(said).toHaveLength(lines);
  Object.assign(engine.shards, { checkpoint: () => Promise.reject(new Error('broken')) });
  await cluster.clock.advance(1_000);
  expect(said.at(-1)).toMatch(/^checkpoint failed; it is tried again in a second, and nothing is lost/);
});
