/**
 * What docs/features/routes.md §4 promises on whole engines, in virtual time. Sentences in quotes are the
 * specification's.
 */
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../src/base/random.ts';
import { pod, reachable, service, TestCluster } from '../../actors/harness.ts';
import { BalancedNetwork } from './balanced-network.ts';

const attempts = 3;
const ipOf = (n: number) => `10.0.0.${n + 1}`;
const hostOf = (n: number) => `10.1.0.${n + 1}`;

/** A cluster whose rounds go over a network that balances at random. */
function balanced(seed: number) {
  const cluster = new TestCluster();
  const network = new BalancedNetwork({ clock: cluster.clock, random: seededRandom(seed) });
  cluster.outside = network.outside;
  const patched = () => cluster.ranOf('pod-condition.patch').filter(({ effect }) => effect.status === 'True');
  return { cluster, network, patched };
}

/** Advances until it is so. @returns the virtual time that it took, ms */
async function timeUntil(cluster: TestCluster, isSo: () => boolean, boundMs: number): Promise<number> {
  const begin = cluster.clock.now();
  while (!isSo() && cluster.clock.now() - begin < boundMs) await cluster.clock.advance(10);
  return cluster.clock.now() - begin;
}

describe('“200 Services × 3 Pods with random balancing”', () => {
  const [pods, services] = [3, 200];
  const callsMax = 2 * attempts * pods * services;

  test.each([1, 2])(
    '“all Pods ready within 10 s of routing, with fewer than 2 × attemptsPerReplica × replicas × Services calls” (seed %i)',
    async (seed) => {
      const { cluster, network, patched } = balanced(seed);
      await cluster.replica('a');
      await cluster.shop(pods, services);
      for (let s = 0; s < services; s++) for (let p = 0; p < pods; p++) network.program(hostOf(s), ipOf(p));
      expect(await timeUntil(cluster, () => patched().length === pods, 20_000)).toBeLessThan(10_000);
      expect(network.calls).toBeLessThan(callsMax);
      expect(network.inFlightMax).toBeLessThanOrEqual(64);
    },
  );

  test('when the routing comes late, the calls from then on are as few', async () => {
    const { cluster, network, patched } = balanced(4);
    await cluster.replica('a');
    await cluster.shop(pods, services);
    await cluster.clock.advance(2_000);
    expect(patched()).toEqual([]);
    const before = network.calls;
    for (let s = 0; s < services; s++) for (let p = 0; p < pods; p++) network.program(hostOf(s), ipOf(p));
    expect(await timeUntil(cluster, () => patched().length === pods, 20_000)).toBeLessThan(10_000);
    expect(network.calls - before).toBeLessThan(callsMax);
  });
});

test('“one reply credits whoever answered”: also answers that come with the very end of a round, while the next one is due already', async () => {
  const cluster = new TestCluster();
  cluster.outside = async (effect, run, replica) => {
    if (effect.type === 'route.sample')
      for (const n of [0, 1, 2]) run.emit({ type: 'sample.answered', round: effect.round, ip: ipOf(n) });
    return reachable(effect, run, replica);
  };
  await cluster.replica('a');
  await cluster.shop(3, 10);
  await cluster.clock.advance(1_000);
  expect(cluster.ranOf('pod-condition.patch')).toHaveLength(3);
  expect(cluster.ranOf('route.sample')).toHaveLength(10);
});

describe('“A moved shard keeps the proofs; a restarted Orrery does not probe what it had proven.”', () => {
  const services = 12;
  const open = (s: number) => s % 2 === 0;

  /** Three Pods that wait for every second Service, and are proven by the others. */
  async function halfWay() {
    const all = balanced(6);
    const first = await all.cluster.replica('a');
    await all.cluster.shop(3, services);
    for (let s = 0; s < services; s++)
      for (let p = 0; p < 3; p++) if (open(s)) all.network.program(hostOf(s), ipOf(p));
    await all.cluster.clock.advance(4_000);
    all.network.callsTo.clear();
    return { ...all, first };
  }

  async function finish({ cluster, network, patched }: Awaited<ReturnType<typeof halfWay>>) {
    await cluster.clock.advance(8_000);
    expect(patched()).toEqual([]);
    for (let s = 0; s < services; s++) for (let p = 0; p < 3; p++) network.program(hostOf(s), ipOf(p));
    await cluster.clock.advance(10_000);
    expect(patched().map(({ effect }) => effect.name)).toHaveLength(3);
    const probed = Array.from({ length: services }, (_, s) => network.callsTo.has(hostOf(s)));
    expect(probed).toEqual(probed.map((_, s) => !open(s)));
  }

  test('shards move to a replica that joins', async () => {
    const scene = await halfWay();
    const second = await scene.cluster.replica('b');
    await scene.cluster.clock.advance(12_000);
    expect(second.engine.ownership.active().length).toBeGreaterThan(10);
    await finish(scene);
  });

  test('the owner of everything is killed, and another replica takes over', async () => {
    const scene = await halfWay();
    await scene.cluster.replica('b');
    scene.first.engine.kill();
    await finish(scene);
  });

  test('everything is down for a minute, then started anew', async () => {
    const scene = await halfWay();
    scene.first.engine.kill();
    await scene.cluster.clock.advance(60_000);
    scene.network.callsTo.clear();
    await scene.cluster.replica('c');
    await finish(scene);
  });

  test('Pods that were ready are not probed at all after a restart', async () => {
    const { cluster, network, patched } = balanced(7);
    const first = await cluster.replica('a');
    await cluster.shop(3, 4);
    for (let s = 0; s < 4; s++) for (let p = 0; p < 3; p++) network.program(hostOf(s), ipOf(p));
    await cluster.clock.advance(3_000);
    expect(patched()).toHaveLength(3);
    network.callsTo.clear();
    first.engine.kill();
    await cluster.replica('b');
    await cluster.clock.advance(60_000);
    expect([...network.callsTo]).toEqual([]);
    expect(patched()).toHaveLength(3);
  });
});

describe('“from "the balancer reaches the Pod" to the condition True under 1 s at p99 (a 3-replica group, 20 Services), with no retry storm”', () => {
  const services = 20;

  test('of thirty Pods that are replaced while the routing takes 0.2 to 3 s, each is ready within a second of its last route', {
    timeout: 120_000,
  }, async () => {
    const { cluster, network, patched } = balanced(8);
    const random = seededRandom(9);
    await cluster.replica('a');
    await cluster.shop(3, services);
    for (let s = 0; s < services; s++) for (let p = 0; p < 3; p++) network.program(hostOf(s), ipOf(p));
    await cluster.clock.advance(3_000);
    const times: number[] = [];
    const [callsBefore, begun] = [network.calls, cluster.clock.now()];
    for (let roll = 0; roll < 30; roll++) {
      const n = roll % 3;
      for (let s = 0; s < services; s++)
        network.withdraw(hostOf(s), roll < 3 ? ipOf(n) : `10.0.1.${roll - 2}`);
      const ip = `10.0.1.${roll + 1}`;
      await cluster.put(
        'pods',
        'shop',
        `web-${n}`,
        pod(n, { uid: `new-${roll}`, address: { ip, family: 'IPv4' } }),
      );
      const delays = Array.from({ length: services }, () => 200 + 2_800 * random.next());
      const last = cluster.clock.now() + Math.max(...delays);
      for (const [s, delay] of delays.entries())
        cluster.clock.after(delay, () => network.program(hostOf(s), ip));
      const before = patched().length;
      await timeUntil(cluster, () => patched().length > before, 20_000);
      times.push(cluster.clock.now() - last);
    }
    times.sort((a, b) => a - b);
    expect(times[0]).toBeGreaterThan(0);
    expect(times.at(-1)).toBeLessThan(1_000);
    const callsPerSecond = (network.calls - callsBefore) / ((cluster.clock.now() - begun) / 1000);
    // Three rounds a second for each Service, while a route is missing.
    expect(callsPerSecond).toBeLessThan(3 * attempts * 3 * services);
  });

  test('a Pod that no Service ever reaches costs ever fewer calls: at last one round in 5 s for each Service', async () => {
    const { cluster, network } = balanced(10);
    await cluster.replica('a');
    await cluster.shop(3, services);
    for (let s = 0; s < services; s++) for (let p = 0; p < 2; p++) network.program(hostOf(s), ipOf(p));
    await cluster.clock.advance(150_000);
    const before = network.calls;
    await cluster.clock.advance(60_000);
    const rounds = (network.calls - before) / (services * attempts * 3);
    expect(rounds).toBeGreaterThan(8);
    expect(rounds).toBeLessThan(16);
  });
});

test('“a black-holed Service delays nobody else”: fifty that swallow every call, and a Pod behind another is ready within a second', async () => {
  const { cluster, network, patched } = balanced(11);
  await cluster.replica('a');
  await cluster.shop(1, 50);
  network.manners.set(ipOf(0), 'silent');
  for (let s = 0; s < 50; s++) network.program(hostOf(s), ipOf(0));
  await cluster.clock.advance(10_000);
  const labels = { app: 'web', group: 'two' };
  const address = { ip: '10.0.2.1', family: 'IPv4' } as const;
  const two = { ...service(200), labels: { routed: 'yes', group: 'two' } };
  network.program(hostOf(200), address.ip);
  await cluster.put('services', 'shop', 'two', two);
  await cluster.put('pods', 'shop', 'two-0', pod(0, { uid: 'two-uid', labels, address }));
  await cluster.clock.advance(1_000);
  expect(patched().map(({ effect }) => effect.name)).toEqual(['two-0']);
});
