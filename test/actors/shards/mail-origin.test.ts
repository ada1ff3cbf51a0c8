/**
 * Who may say what to an actor: people public messages, actors their own over `tell`, and nobody
 * for another.
 */
import { expect, test } from 'vitest';
import { createAdmission } from '../../../src/actors/admission.ts';
import type { Clock } from '../../../src/base/clock.ts';
import type { ActorId } from '../../../src/base/ids.ts';
import { encode, encodeJson } from '../../../src/bus/codec.ts';
import { shardOf } from '../../../src/bus/partition.ts';
import { featuresOf } from '../../../src/replica/features.ts';
import { TestCluster, type TestReplica } from '../harness.ts';

const pod = 'pod/shop/web-0' as const;
/** As svc-0 would say it to web-0. */
const proven = {
  type: 'route.proven',
  service: 'svc-0',
  serviceUid: 'svc0-uid',
  uid: 'pod-uid-0',
  ip: '10.0.0.1',
};
const fromHeader = 'Orrery-From';

const buried = (cluster: TestCluster) =>
  cluster.hub.stored('dead').map(({ headers }) => headers['Orrery-Error'] ?? '');
const tellOf = (cluster: TestCluster, id: ActorId) => cluster.subjects.tell(shardOf(id), id);
const mailTo = (cluster: TestCluster, id: ActorId) =>
  cluster.hub.stored('mail').filter(({ subject }) => subject.endsWith(id.replaceAll('/', '.')));

/** No Service answers: what a Pod hears of its routes is what the test says. */
async function silentShop() {
  const cluster = new TestCluster();
  cluster.outside = () => new Promise(() => {});
  const replica = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(500);
  return { cluster, replica, sender: cluster.hub.connect('sender') };
}

async function end(cluster: TestCluster, { engine, bus }: TestReplica): Promise<void> {
  const ending = engine.stop(1_000).then(() => bus.close());
  await cluster.clock.advance(2_000);
  await ending;
}

/** A replica of 0.1.0 (be27528): its beats say nothing of `tell`. */
function earlierReplica(cluster: TestCluster): { stop(): void } {
  const bus = cluster.hub.connect('earlier');
  const beat = { replica: 'earlier', incarnation: 'x', release: '0.1.0', leaving: false, serving: false };
  let isStopped = false;
  const tick = () => {
    if (isStopped) return;
    bus.publish(
      cluster.subjects.member('earlier'),
      encodeJson({ ...beat, shards: [], actors: 0, stepsPerSecond: 0 }),
    );
    cluster.clock.after(500, tick);
  };
  tick();
  return {
    stop: () => {
      isStopped = true;
    },
  };
}

test('actors speak over `tell`, and people over `send`', async () => {
  const { cluster, sender } = await silentShop();
  expect(mailTo(cluster, 'service/shop/svc-0').map(({ subject }) => subject)).toEqual([
    tellOf(cluster, 'service/shop/svc-0'),
  ]);
  await sender.append(cluster.subjects.send(pod), encodeJson({ type: 'pod.recheck', id: 'mine' }));
  await cluster.clock.advance(100);
  expect(cluster.transitions().filter(({ cause }) => cause === 'mine')).toHaveLength(1);
  expect(buried(cluster)).toEqual([]);
});

test('a forged proof over `send` makes no Pod Ready early, whatever header it carries', async () => {
  const { cluster, sender } = await silentShop();
  const before = cluster.transitions().length;
  for (const headers of [
    {},
    { [fromHeader]: 'service/shop/svc-0' },
    { 'orrery-from': 'service/shop/svc-0' },
  ]) {
    await sender.append(cluster.subjects.send(pod), encode(proven), { headers });
  }
  await cluster.clock.advance(200);
  expect(buried(cluster)).toHaveLength(3);
  for (const reason of buried(cluster))
    expect(reason).toContain('MESSAGE_NOT_ALLOWED: only actors say "route.proven"');
  expect(cluster.transitions()).toHaveLength(before);
});

test('the same proof by its Service over `tell` is taken; by another Service, for nobody, or from another namespace it is not', async () => {
  const { cluster, sender } = await silentShop();
  const tell = (from: string | undefined) => {
    const headers: Record<string, string> = from === undefined ? {} : { [fromHeader]: from };
    return sender.append(tellOf(cluster, pod), encode(proven), { headers });
  };
  for (const from of ['service/shop/svc-1', 'service/other/svc-0', 'pod/shop/svc-0', 'nonsense', undefined])
    await tell(from);
  await cluster.clock.advance(200);
  expect(buried(cluster)).toHaveLength(5);
  expect(cluster.transitions().filter(({ event }) => event.type === 'route.proven')).toEqual([]);
  await tell('service/shop/svc-0');
  await cluster.clock.advance(200);
  expect(buried(cluster)).toHaveLength(5);
  expect(cluster.transitions().filter(({ event }) => event.type === 'route.proven')).toHaveLength(1);
});

test('while a replica lives that knows `send` alone, actors are heard and speak there; afterwards nobody is', async () => {
  const { cluster, sender } = await silentShop();
  const earlier = earlierReplica(cluster);
  await cluster.clock.advance(600);
  const headers = { [fromHeader]: 'service/shop/svc-0' };
  await sender.append(cluster.subjects.send(pod), encode(proven), { headers });
  await cluster.clock.advance(200);
  expect(cluster.transitions().filter(({ event }) => event.type === 'route.proven')).toHaveLength(1);
  const tells = () =>
    mailTo(cluster, 'service/shop/svc-0').filter(({ subject }) => subject.includes('.tell.'));
  expect(tells()).toHaveLength(1);
  // It holds what it speaks of there, too.
  await sender.append(cluster.subjects.send(pod), encode(proven), {
    headers: { [fromHeader]: 'service/shop/svc-1' },
  });
  await cluster.clock.advance(200);
  expect(buried(cluster)).toHaveLength(1);
  earlier.stop();
  await cluster.clock.advance(11_000);
  await sender.append(cluster.subjects.send(pod), encode(proven), { headers });
  await cluster.clock.advance(200);
  expect(buried(cluster)).toHaveLength(2);
});

test('what actors of the release before said over `send` is taken by the first of this release, and nothing after that', async () => {
  const cluster = new TestCluster();
  cluster.outside = () => new Promise(() => {});
  const first = await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(2_000);
  await end(cluster, first);
  // As the release before leaves it: a checkpoint that says nothing of `send`, and a message that nobody
  // read.
  const writer = cluster.hub.connect('before');
  const shard = shardOf(pod);
  const mail = cluster.hub.stored('mail').at(-1)?.sequence ?? 0;
  await writer.append(cluster.subjects.checkpoint(shard), encode({ mail, feed: 0 }));
  const headers = { [fromHeader]: 'service/shop/svc-0' };
  await writer.append(cluster.subjects.send(pod), encode(proven), { headers });
  const second = await cluster.replica('b');
  await cluster.clock.advance(5_000);
  expect(cluster.transitions().filter(({ event }) => event.type === 'route.proven')).toHaveLength(1);
  expect(buried(cluster)).toEqual([]);
  await end(cluster, second);
  await writer.append(cluster.subjects.send(pod), encode(proven), { headers });
  await cluster.replica('c');
  await cluster.clock.advance(5_000);
  expect(buried(cluster)).toHaveLength(1);
});

test('no internal message of any feature is admitted from outside', () => {
  const features = featuresOf();
  const { admit, eventsOf } = createAdmission(features.flatMap(({ kinds }) => kinds));
  const origin = { receivedAt: 0, isTrusted: true };
  const internal = features.flatMap(({ kinds }) =>
    kinds.flatMap(({ chart, messages }) =>
      Object.keys(messages?.internal ?? {}).map((type) => ({ kind: chart.name, type })),
    ),
  );
  expect(internal.length).toBeGreaterThan(10);
  for (const { kind, type } of internal) {
    expect(eventsOf(kind)).not.toContain(type);
    expect(() => admit(kind, { type }, origin)).toThrow(
      expect.objectContaining({ code: 'MESSAGE_NOT_ALLOWED' }),
    );
  }
});

test.each([
  ['domain', { type: 'permit.granted', issuer: 'ca' }, 'issuer/_/ca', 'issuer/_/other'],
  [
    'issuer',
    { type: 'permit.asked', domain: 'domain/_/a.example', registered: 'a.example', exempt: false },
    'domain/_/a.example',
    'domain/_/b.example',
  ],
  [
    'service',
    { type: 'route.unwanted', pod: 'pod/shop/web-0', uid: 'u' },
    'pod/shop/web-0',
    'pod/shop/web-1',
  ],
  ['service', { type: 'header.asked', service: 'service/shop/b' }, 'service/shop/b', 'service/shop/c'],
  ['service', { type: 'header.unseen', service: 'service/shop/b' }, 'service/shop/b', 'service/shop/c'],
  ['service', { type: 'header.seen' }, 'service/shop/b', 'pod/shop/b'],
] as const)('a %s takes $1.type from its own sender alone', (kind, event, from, forger) => {
  const { admit } = createAdmission(featuresOf().flatMap(({ kinds }) => kinds));
  const to: ActorId = kind === 'service' ? 'service/shop/a' : `${kind}/_/a`;
  const origin = { receivedAt: 0, isTrusted: false };
  expect(admit(kind, event, { ...origin, between: { from, to } })).toEqual(event);
  expect(() => admit(kind, event, { ...origin, between: { from: forger, to } })).toThrow(/may not say/);
});

test('a resignation without a term is for those who ask, not for those who send', () => {
  const { admit } = createAdmission(featuresOf().flatMap(({ kinds }) => kinds));
  const resign = (term: number, isTrusted: boolean) =>
    admit('election', { type: 'election.resign', candidate: 'a', term }, { receivedAt: 0, isTrusted });
  expect(resign(0, true)).toMatchObject({ term: 0 });
  expect(resign(7, false)).toMatchObject({ term: 7 });
  expect(() => resign(0, false)).toThrow(expect.objectContaining({ code: 'MESSAGE_NOT_ALLOWED' }));
});

test('a shard that has just been opened for the first time says at once since when `send` speaks for no actor', async () => {
  const { cluster, replica, sender } = await silentShop();
  // As if its owner had been away before it had a reason to save anything else.
  const { checkpoint } = cluster.subjects;
  const saved = new Set(cluster.hub.stored('state').map(({ subject }) => subject));
  expect(Array.from({ length: 64 }, (_, shard) => saved.has(checkpoint(shard)))).toEqual(
    Array(64).fill(true),
  );
  await end(cluster, replica);
  const headers = { [fromHeader]: 'service/shop/svc-0' };
  await sender.append(cluster.subjects.send(pod), encode(proven), { headers });
  await cluster.replica('b');
  await cluster.clock.advance(5_000);
  expect(buried(cluster)).toEqual([expect.stringMatching(/^MESSAGE_NOT_ALLOWED/)]);
});

test('what was written over `send` before a shard had its first owner comes from no actor', async () => {
  const cluster = new TestCluster();
  cluster.outside = () => new Promise(() => {});
  const headers = { [fromHeader]: 'service/shop/svc-0' };
  await cluster.hub.connect('sender').append(cluster.subjects.send(pod), encode(proven), { headers });
  await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(5_000);
  expect(buried(cluster)).toEqual([expect.stringMatching(/^MESSAGE_NOT_ALLOWED/)]);
});

test('a first owner whose clock is ahead holds `send` open no longer than one whose clock is right', async () => {
  const cluster = new TestCluster();
  cluster.outside = () => new Promise(() => {});
  const { clock } = cluster;
  const ahead: Clock = {
    now: () => clock.now() + 2_400_000,
    monotonic: () => clock.monotonic(),
    after: (delayMs, run) => clock.after(delayMs, run),
  };
  await cluster.replica('a', { clock: ahead });
  await cluster.shop(1, 1);
  await clock.advance(500);
  const headers = { [fromHeader]: 'service/shop/svc-0' };
  const sender = cluster.hub.connect('sender');
  await sender.append(cluster.subjects.send(pod), encode(proven), { headers });
  await clock.advance(1_000);
  expect(buried(cluster)).toEqual([expect.stringMatching(/^MESSAGE_NOT_ALLOWED/)]);
});
