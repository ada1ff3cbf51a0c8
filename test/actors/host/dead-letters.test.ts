/** Mail that nobody can take: it is buried, not lost, and holds nobody up for ever. */
import { expect, test } from 'vitest';
import { limits } from '../../../src/base/limits.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import { encode } from '../../../src/bus/codec.ts';
import { writeHeaderBlock } from '../../../src/bus/nats/stored-message.ts';
import { shardOf } from '../../../src/bus/partition.ts';
import { pod, TestCluster } from '../harness.ts';

const id = 'pod/shop/web-0' as const;

function buried(cluster: TestCluster): string[] {
  return cluster.hub.stored('dead').map(({ headers }) => headers['Orrery-Error'] ?? '');
}

test('I5: a refused message whose dead letter could not be stored is buried by the next owner, whatever the actor took since', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(1_000);
  await cluster.put('pods', 'shop', 'web-0', null);
  await cluster.clock.advance(500);
  const sender = cluster.hub.connect('sender');
  // The dead letter stream is out of reach for this replica, until it dies.
  a.bus.faults.onAppend = (subject) => (subject.endsWith('.dead') ? 'requestLost' : 'store');
  await sender.append(cluster.subjects.send(id), encode({ type: 'pod.recheck', id: 'refused' }));
  await cluster.clock.advance(100);
  await cluster.put('pods', 'shop', 'web-0', pod(0, { uid: 'second' }));
  await cluster.clock.advance(100);
  await sender.append(cluster.subjects.send(id), encode({ type: 'pod.recheck', id: 'later' }));
  await cluster.clock.advance(4_000);
  a.engine.kill();
  await cluster.replica('b');
  await cluster.clock.advance(8_000);
  const taken = cluster.transitions().filter(({ event }) => event.type === 'pod.recheck');
  const told = [...taken.map(({ cause }) => cause), ...buried(cluster)];
  expect(told.filter((one) => one === 'later')).toHaveLength(1);
  // Buried, or taken by the Pod that has the name now: not lost.
  expect(told.filter((one) => one === 'refused' || one?.startsWith('ACTOR_MISSING'))).toHaveLength(1);
});

test('a dead letter that is slow to be stored holds up its actor alone', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  await cluster.shop(2, 1);
  await cluster.clock.advance(1_000);
  const sender = cluster.hub.connect('sender');
  a.bus.faults.onAppend = (subject) => (subject.endsWith('.dead') ? 'requestLost' : 'store');
  await sender.append(
    cluster.subjects.send('pod/shop/web-9'),
    encode({ type: 'pod.recheck', id: 'refused' }),
  );
  await sender.append(
    cluster.subjects.send('pod/shop/web-1'),
    encode({ type: 'pod.recheck', id: 'ordinary' }),
  );
  await cluster.clock.advance(1_000);
  expect(cluster.transitions().filter(({ cause }) => cause === 'ordinary')).toHaveLength(1);
  a.bus.faults.onAppend = undefined;
  await cluster.clock.advance(10_000);
  expect(buried(cluster)).toHaveLength(1);
});

/** An actor whose record no release can read, and an owner that has just loaded it. */
async function withParkedActor() {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  await cluster.shop(2, 1);
  await cluster.clock.advance(2_000);
  a.engine.kill();
  await cluster.hub.connect('vandal').append(cluster.subjects.state(shardOf(id), id), new Uint8Array([0xc1]));
  const b = await cluster.replica('b');
  await cluster.clock.advance(3_000);
  await cluster.hub
    .connect('sender')
    .append(cluster.subjects.send(id), encode({ type: 'pod.recheck', id: 'to the parked one' }));
  return { cluster, b };
}

test('mail to a parked actor waits for a release that can read its record', async () => {
  const { cluster, b } = await withParkedActor();
  await cluster.clock.advance(limits.parkedMailMs - 60_000);
  expect(buried(cluster)).toEqual([]);
  // The operator removes what nobody can read, and another replica takes over.
  await cluster.hub.connect('operator').purge('state', { subject: cluster.subjects.state(shardOf(id), id) });
  b.engine.kill();
  await cluster.replica('c');
  await cluster.clock.advance(5_000);
  expect(cluster.transitions().filter(({ cause }) => cause === 'to the parked one')).toHaveLength(1);
});

test('but not for ever: it becomes a dead letter, and the position of the mail goes on', async () => {
  const { cluster, b } = await withParkedActor();
  await cluster.clock.advance(10_000);
  const pinned = b.engine.shards.runOf(id)?.mail.outstanding.size;
  await cluster.clock.advance(limits.parkedMailMs);
  expect(pinned).toBe(1);
  expect(buried(cluster)).toEqual([expect.stringContaining('ACTOR_PARKED')]);
  expect(b.engine.shards.runOf(id)?.mail.outstanding.size).toBe(0);
});

test('a stream of dead letters that refuses holds its actor up for half a minute, not for ever', async () => {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(1_000);
  a.bus.faults.onAppend = (subject) => (subject.endsWith('.dead') ? 'refuse' : 'store');
  const sender = cluster.hub.connect('sender');
  await cluster.put('pods', 'shop', 'web-0', null);
  await cluster.clock.advance(500);
  await sender.append(cluster.subjects.send(id), encode({ type: 'pod.recheck', id: 'refused' }));
  await cluster.clock.advance(100);
  await cluster.put('pods', 'shop', 'web-0', pod(0, { uid: 'second' }));
  await cluster.clock.advance(40_000);
  expect(cluster.states()[id]).toBe('gated.ready.proven');
  expect(a.engine.shards.runOf(id)?.mail.outstanding.size).toBe(0);
});

test.each([
  ['a name that is not ASCII', { café: 'x' }],
  ['a line break in a value', { Note: 'one\ntwo' }],
  ['more headers than fit', Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`h${n}`, 'x']))],
])('a message with %s becomes a letter at once, with its other headers', async (_, odd) => {
  const cluster = new TestCluster();
  // As NATS delivers what another program sent.
  const oddly =
    (bus: Bus): Bus['follow'] =>
    (stream, options) =>
      bus.follow(stream, {
        ...options,
        onMessage: (message) =>
          options.onMessage(
            'X-Kept' in message.headers ? { ...message, headers: { ...message.headers, ...odd } } : message,
          ),
      });
  await cluster.replica('a', { bend: (bus) => Object.create(bus, { follow: { value: oddly(bus) } }) as Bus });
  await cluster.shop(1, 1);
  await cluster.clock.advance(1_000);
  const headers = { 'X-Kept': 'yes' };
  await cluster.hub.connect('sender').append(cluster.subjects.send(id), new Uint8Array([0xc1]), { headers });
  await cluster.clock.advance(500);
  const [letter] = cluster.hub.stored('dead');
  expect(letter?.headers).toMatchObject({
    ...headers,
    'Orrery-Error': expect.stringMatching(/^MESSAGE_UNREADABLE/),
  });
  expect(writeHeaderBlock(letter?.headers ?? {}).length).toBeLessThan(8_192);
});
