/**
 * Streams that lost messages which replicas had read: purged by an operator, or thinned by a setting or a
 * damaged disk.
 */
import { expect, test } from 'vitest';
import { watchLosses } from '../../src/actors/lost-messages.ts';
import { silentLog } from '../../src/base/log-port.ts';
import { encode, encodeJson } from '../../src/bus/codec.ts';
import { TestCluster, type TestReplica } from './harness.ts';

const everything = 'orrery.test.>';
const pods = ({ engine }: TestReplica) => [...engine.world.entries('pods')].map(({ name }) => name);
const isTold = (line: string) => line.startsWith('a stream has lost messages');

/** Two replicas and a shop of two Pods. */
async function shop() {
  const cluster = new TestCluster();
  const replicas = [await cluster.replica('a'), await cluster.replica('b')] as const;
  await cluster.shop(2, 1);
  await cluster.clock.advance(15_000);
  for (const replica of replicas) expect(pods(replica)).toEqual(['web-0', 'web-1']);
  return { cluster, replicas, operator: cluster.hub.connect('operator') };
}

test('a purged world is forgotten within seconds, nobody is told of the empty one, and it is mirrored again', async () => {
  const { cluster, replicas, operator } = await shop();
  await operator.purge('world', { subject: everything });
  await cluster.clock.advance(12_000);
  for (const replica of replicas) {
    expect(pods(replica)).toEqual([]);
    expect(replica.said.filter(isTold)).toHaveLength(1);
  }
  expect(cluster.transitions().filter(({ to }) => to === 'gone')).toEqual([]);
  await cluster.shop(2, 1);
  await cluster.clock.advance(30_000);
  for (const replica of replicas) expect(pods(replica)).toEqual(['web-0', 'web-1']);
  expect(cluster.transitions().filter(({ to }) => to === 'gone')).toEqual([]);
  for (const { said } of replicas) expect(said.filter(isTold)).toHaveLength(1);
});

test('a mirror that begins after a purge compares Kubernetes with nothing, not with the picture of before', async () => {
  const { cluster, replicas, operator } = await shop();
  const [{ engine }] = replicas;
  await operator.purge('world', { subject: everything });
  const pictured = engine.pictured(engine.world.sequence);
  await cluster.clock.advance(1_500);
  await pictured;
  expect([...engine.world.entries('pods')]).toEqual([]);
});

test('purged records: every shard is claimed again within seconds, and a replica that starts later finds an owner for each', async () => {
  const { cluster, operator } = await shop();
  await operator.purge('state', { subject: everything });
  await cluster.clock.advance(15_000);
  const { engine } = await cluster.replica('c');
  await cluster.clock.advance(1_000);
  const unowned = engine.ownership.views().filter(({ name, owner }) => /^shard/.test(name) && owner === null);
  expect(unowned).toEqual([]);
  expect(cluster.states()).toMatchObject({ 'pod/shop/web-0': 'gated.ready.proven' });
});

test('what is removed on purpose is no loss: an object, and a mirror that is retired with all it had', async () => {
  const { cluster, replicas, operator } = await shop();
  const { subjects } = cluster;
  await cluster.remove('pods', 'shop', 'web-1');
  const fence = subjects.worldFence('widgets');
  const nobody = { replica: null, incarnation: '', at: 0, releasedAt: null };
  const held = { ...nobody, replica: 'mirror', incarnation: '1', statesAnew: true };
  await operator.append(fence, encodeJson(held));
  for (let n = 0; n < 50; n++)
    await operator.append(
      subjects.world('widgets', 'shop', `w${n}`),
      encode({ kind: 'widget', uid: `${n}`, labels: {}, resourceVersion: '1' }),
    );
  await cluster.clock.advance(11_000);
  expect([...replicas[0].engine.world.entries('widgets')]).toHaveLength(50);
  await operator.append(fence, encodeJson({ ...nobody, isRetired: true }), { ttlSeconds: 3_600 });
  await operator.purge('world', { subject: subjects.worldOf('widgets') });
  await cluster.clock.advance(30_000);
  for (const { engine, said } of replicas) {
    expect(said.filter(isTold)).toEqual([]);
    expect([...engine.world.entries('widgets')]).toEqual([]);
    expect([...engine.world.entries('pods')]).toHaveLength(1);
  }
});

test('a replica whose holdings others took while it was cut off finds nothing lost', async () => {
  const { cluster, replicas } = await shop();
  const [{ bus, said }] = replicas;
  bus.faults.setLink('silent');
  await cluster.clock.advance(20_000);
  bus.faults.setLink('up');
  await cluster.clock.advance(30_000);
  expect(said.filter(isTold)).toEqual([]);
});

test('a retired fence that this replica asked for, and then did not want, is no loss once it has expired', async () => {
  const { clock, subjects } = new TestCluster();
  const value = { replica: null, incarnation: '', at: 0, releasedAt: null };
  const known = (isRetired: boolean) =>
    new Map([[subjects.worldFence('widgets'), { sequence: 3, value: { ...value, isRetired } }]]);
  const bus = {
    streamState: async () => ({ firstSequence: 10, messages: 5 }),
    lastOfMany: async () => new Map(),
    startOver() {},
  };
  const look = async (isRetired: boolean) => {
    const ownership = { fencesBySubject: () => known(isRetired) };
    const parts = { bus, subjects, clock, log: silentLog, ownership, world: { size: 0 } };
    const losses = watchLosses(parts as never);
    const isLost = await losses.look('world');
    losses.stop();
    return isLost;
  };
  expect([await look(false), await look(true)]).toEqual([true, false]);
});
