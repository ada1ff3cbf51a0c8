/** Letters to one actor are taken in their order, because its record names the last one only. */
import { expect, test } from 'vitest';
import { encode } from '../../../src/bus/codec.ts';
import { shardOf } from '../../../src/bus/partition.ts';
import { pod as podDigest, TestCluster } from '../harness.ts';

const pod = 'pod/shop/web-0' as const;
const proven = { type: 'route.proven', service: 'svc-0', serviceUid: 'svc0-uid' } as const;

test('a letter that waits for its actor is not lost to one behind it that was in the mailbox already', async () => {
  const cluster = new TestCluster();
  cluster.outside = () => new Promise(() => {});
  const { bus } = await cluster.replica('a');
  await cluster.shop(1, 2);
  await cluster.clock.advance(1_000);
  const sender = cluster.hub.connect('sender');
  const { tell, send } = cluster.subjects;
  // The step that ends the actor is stored late: meanwhile a letter comes, the Pod again, and a letter.
  bus.faults.onAppend = (subject) => (subject.includes('.state.') ? { lateMs: 300 } : 'store');
  await cluster.put('pods', 'shop', 'web-0', null);
  await cluster.clock.advance(50);
  const headers = { 'Orrery-From': 'service/shop/svc-0' };
  const proof = encode({ ...proven, uid: 'pod-uid-0', ip: '10.0.0.1' });
  await sender.append(tell(shardOf(pod), pod), proof, { headers });
  await cluster.put('pods', 'shop', 'web-0', podDigest(0));
  await cluster.clock.advance(50);
  await sender.append(send(pod), encode({ type: 'pod.recheck', id: 'mine' }));
  await cluster.clock.advance(50);
  bus.faults.onAppend = undefined;
  await cluster.clock.advance(10_000);
  const taken = cluster.transitions().flatMap(({ id, event }) => (id === pod ? [event.type] : []));
  expect(taken.filter((type) => ['route.proven', 'pod.recheck'].includes(type))).toEqual([
    'route.proven',
    'pod.recheck',
  ]);
  expect(cluster.dead).toEqual([]);
});

test('however many letters wait for an actor that does not come, they wait for a second together', async () => {
  const cluster = new TestCluster();
  cluster.outside = () => new Promise(() => {});
  await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(1_000);
  const sender = cluster.hub.connect('sender');
  const { tell, send } = cluster.subjects;
  const gone = 'pod/shop/gone';
  for (let n = 0; n < 60; n++) {
    const headers = { 'Orrery-From': `service/shop/svc-${n}` };
    const letter = encode({ ...proven, service: `svc-${n}`, uid: 'pod-uid-9', ip: '10.0.0.9' });
    await sender.append(tell(shardOf(gone), gone), letter, { headers });
  }
  await sender.append(send(gone), encode({ type: 'pod.recheck', id: 'mine' }));
  await cluster.clock.advance(500);
  expect(cluster.dead).toEqual([]);
  await cluster.clock.advance(1_000);
  expect(cluster.dead).toEqual(['ACTOR_MISSING']);
});
