/**
 * Streams that were made anew or put back while actors went on: what a place in another stream means, which
 * is nothing.
 */
import { expect, test } from 'vitest';
import { unpackRecord } from '../../src/actors/host/records.ts';
import type { ActorId } from '../../src/base/ids.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { encode } from '../../src/bus/codec.ts';
import { TestCluster } from './harness.ts';

const id: ActorId = 'pod/shop/web-0';

async function send(cluster: TestCluster, message: string): Promise<void> {
  const sender = cluster.hub.connect('sender');
  await sender.append(cluster.subjects.send(id), encode({ type: 'pod.recheck', id: message }));
}
const taken = (cluster: TestCluster) =>
  cluster.transitions().flatMap(({ event, cause }) => (event.type === 'pod.recheck' ? [cause] : []));

/** A Pod that took mail under high numbers. */
async function withMail() {
  const cluster = new TestCluster();
  const first = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(2_000);
  for (let n = 0; n < 30; n++) {
    await send(cluster, `before-${n}`);
    await cluster.clock.advance(200);
  }
  await cluster.clock.advance(3_000);
  expect(taken(cluster)).toContain('before-29');
  return { cluster, first };
}

test('mail of a stream that was made anew is taken, though its numbers are low', async () => {
  const { cluster, first } = await withMail();
  first.bus.faults.setLink('down');
  cluster.hub.makeAnew('mail');
  first.bus.faults.setLink('up');
  await cluster.clock.advance(5_000);
  await send(cluster, 'after');
  await cluster.clock.advance(5_000);
  expect(taken(cluster)).toContain('after');
  expect(cluster.dead).toEqual([]);
});

test('so it is by an owner that was not there when it happened, and by the next', async () => {
  const { cluster, first } = await withMail();
  first.engine.kill();
  cluster.hub.makeAnew('mail');
  await send(cluster, 'while nobody ran');
  const second = await cluster.replica('b');
  await cluster.clock.advance(8_000);
  expect(taken(cluster)).toContain('while nobody ran');
  second.engine.kill();
  await cluster.replica('c');
  await cluster.clock.advance(4_000);
  await send(cluster, 'later');
  await cluster.clock.advance(4_000);
  const told = taken(cluster);
  expect(told.filter((cause) => cause === 'while nobody ran')).toHaveLength(1);
  expect(told.filter((cause) => cause === 'later')).toHaveLength(1);
});

test('a record says in which mail stream its place is', async () => {
  const { cluster } = await withMail();
  const stored = cluster.hub
    .stored('state')
    .find(({ subject }) => cluster.subjects.parseState(subject)?.id === id);
  const record = unpackRecord(stored?.data ?? new Uint8Array(), id);
  expect(record.mail).toBeGreaterThan(30);
  expect(record.mailOf).toBe((await cluster.hub.connect('asks').streamState('mail')).created);
});

test('records restored from a backup work beside a newer mail stream, also under lower fences', async () => {
  const { cluster, first } = await withMail();
  const backup = cluster.hub.stored('state');
  for (let n = 0; n < 30; n++) {
    await send(cluster, `lost-${n}`);
    await cluster.clock.advance(200);
  }
  first.engine.kill();
  await send(cluster, 'while nobody ran');
  cluster.hub.putBack('state', backup);
  // As the runbook says: what was sent shortly before is told apart by ids that come again.
  await cluster.clock.advance(130_000);
  const highest = backup.at(-1)?.sequence ?? 0;
  expect(cluster.hub.stored('state').at(-1)?.sequence).toBe(highest);
  const second = await cluster.replica('b');
  await cluster.clock.advance(8_000);
  // The backup is older than what was taken since: that is taken again, none is lost.
  expect(taken(cluster)).toEqual(expect.arrayContaining(['lost-29', 'while nobody ran']));
  expect(second.engine.ownership.active()).toHaveLength(64);
  expect(cluster.states()[id]).toBe('gated.ready.proven');
});

test('records put back while their owners run: the shards are claimed anew, and go on from the backup', async () => {
  const { cluster, first } = await withMail();
  const backup = cluster.hub.stored('state');
  await send(cluster, 'lost');
  await cluster.clock.advance(1_000);
  first.bus.faults.setLink('down');
  cluster.hub.putBack('state', backup);
  first.bus.faults.setLink('up');
  await cluster.clock.advance(10_000);
  await send(cluster, 'after');
  await cluster.clock.advance(5_000);
  expect(taken(cluster)).toContain('after');
  expect(first.engine.ownership.active()).toHaveLength(64);
});

test('records that are lost while their owners run: each step since is told, from revision 1 on', async () => {
  const { cluster, first } = await withMail();
  const second = await cluster.replica('b');
  await cluster.clock.advance(8_000);
  const lostBehind = cluster.hub.stored('event').length;
  const fences = (await first.bus.streamState('state')).lastSequence;
  for (const { bus } of [first, second]) bus.faults.setLink('down');
  cluster.hub.makeAnew('state');
  for (const { bus } of [first, second]) bus.faults.setLink('up');
  await cluster.clock.advance(10_000);
  await send(cluster, 'after');
  await cluster.clock.advance(3_000);
  second.engine.kill();
  await cluster.clock.advance(8_000);
  const told = cluster
    .transitions()
    .slice(lostBehind)
    .filter((one) => one.id === id);
  expect(told.map(({ rev }) => rev)).toEqual(told.map((_, n) => n + 1));
  expect(told.every(({ fence }) => fence > fences)).toBe(true);
  expect(taken(cluster)).toContain('after');
  expect(cluster.states()[id]).toBe('gated.ready.proven');
});

test('mail restored from a backup is read from its first message, and what comes then is taken', async () => {
  const { cluster, first } = await withMail();
  const backup = cluster.hub.stored('mail').slice(0, 5);
  first.bus.faults.setLink('down');
  cluster.hub.putBack('mail', backup);
  first.bus.faults.setLink('up');
  await cluster.clock.advance(5_000);
  await send(cluster, 'after');
  await cluster.clock.advance(5_000);
  expect(taken(cluster)).toContain('after');
});

/** An older state of the disk is the stream of before, as far as its server says. */
const asBefore = (bus: Bus): Bus => ({
  ...bus,
  streamState: async (stream) => ({ ...(await bus.streamState(stream)), created: '0' }),
  follow(stream, options) {
    const { from } = options;
    if (stream !== 'mail' || from.kind !== 'sequence') return bus.follow(stream, options);
    return bus.follow(stream, { ...options, from: { kind: 'sequence', sequence: from.sequence } });
  },
});

test('so it is where as much comes at once as was lost: the only copy of a stream waits for nobody', async () => {
  const { cluster, first } = await withMail();
  first.engine.kill();
  cluster.hub.putBack('mail', cluster.hub.stored('mail').slice(0, 5));
  await cluster.replica('b', { bend: asBefore });
  for (let n = 0; n < 100; n++) await send(cluster, `after-${n}`);
  await cluster.clock.advance(8_000);
  expect(taken(cluster)).toContain('after-0');
});
