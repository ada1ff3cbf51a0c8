/**
 * Ids of messages that somebody outside uses before an actor does: a producer may write any `Nats-Msg-Id`,
 * and the keys of effects can be guessed.
 */
import { expect, test } from 'vitest';
import {
  isRemembered,
  knownId,
  remembrance,
  shortId,
  tellId,
} from '../../../src/actors/shards/message-ids.ts';
import { encode } from '../../../src/bus/codec.ts';
import { shardOf } from '../../../src/bus/partition.ts';
import { TestCluster } from '../harness.ts';

const pods = ['pod/shop/web-0', 'pod/shop/web-1'] as const;
const services = ['service/shop/svc-0', 'service/shop/svc-1'] as const;

/** Every key that these actors may use next, as the feed and the charts tell them. */
function guesses(): string[] {
  const steps = Array.from({ length: 30 }, (_, rev) =>
    [0, 1, 2, 3].map((index) => `${rev + 1}/${index}`),
  ).flat();
  return [...pods, ...services].flatMap((id) =>
    steps.flatMap((step) => [`${id}/${step}/0`, `${id}/${step}/1`]),
  );
}

async function provenWithin(cluster: TestCluster, ms: number): Promise<number> {
  await cluster.replica('a');
  await cluster.shop(2, 2);
  await cluster.clock.advance(ms);
  return cluster.ranOf('pod-condition.patch').filter(({ effect }) => effect.status === 'True').length;
}

test('a producer that uses the ids of what actors will say takes nothing from them', async () => {
  const cluster = new TestCluster();
  const producer = cluster.hub.connect('producer');
  for (const msgId of guesses())
    await producer.append(cluster.subjects.send('nobody/_/x'), encode({ type: 'x' }), { msgId });
  expect(await provenWithin(cluster, 5_000)).toBe(2);
});

test('a public message under the id of what an actor says next does not stand for it', async () => {
  const cluster = new TestCluster();
  cluster.outside = () => new Promise(() => {});
  await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(500);
  const producer = cluster.hub.connect('producer');
  const replica = cluster.hub.connect('replica');
  const [id] = pods;
  const next = 'service/shop/svc-0/9/0';
  await producer.append(cluster.subjects.send(id), encode({ type: 'pod.recheck', id: `${next}/0` }));
  await cluster.clock.advance(100);
  const proven = {
    type: 'route.proven',
    service: 'svc-0',
    serviceUid: 'svc0-uid',
    uid: 'pod-uid-0',
    ip: '10.0.0.1',
  };
  const headers = { 'Orrery-From': 'service/shop/svc-0' };
  const options = { headers, msgId: tellId(next, 0, 'word') };
  await replica.append(cluster.subjects.tell(shardOf(id), id), encode(proven), options);
  await cluster.clock.advance(100);
  expect(cluster.transitions().map(({ event }) => event.type)).toContain('route.proven');
});

const key = 'service/shop/a~b/7/0';
const said = tellId(key, 1, 'drawn_word-1');
/** As a release that draws no words says it, and remembers it. */
const bare = tellId(key, 1, undefined);
const isKnown = (before: string, id: string) => isRemembered([`0 ${before}`, '1'], id);

test('what an actor says is known again, whoever says it again, and is not what people say', () => {
  expect(said).toBe('service/shop/a~b/7/0/1~drawn_word-1');
  for (const again of [said, bare]) expect(isKnown(remembrance(knownId(said, true)), again)).toBe(true);
  for (const again of [said, bare]) expect(isKnown(shortId(bare), again)).toBe(true);
  expect(isKnown(remembrance(bare), bare)).toBe(true);
  for (const id of [said, bare]) {
    expect(isKnown(remembrance(said), knownId(id, false))).toBe(false);
    expect(isKnown(remembrance(knownId(id, false)), said)).toBe(false);
    expect(isKnown(remembrance(knownId(id, false)), knownId(id, false))).toBe(true);
  }
  expect(isKnown(remembrance(knownId('a~1', false)), knownId('a', false))).toBe(false);
});

test('an actor that was forgotten and is born again is heard, though its keys begin anew', () => {
  expect(isKnown(remembrance(said), tellId(key, 1, 'another'))).toBe(false);
});
