/** The readiness specification's "Must hold" on whole engines, in virtual time. Sentences in quotes are the specification's. */
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/random.ts';
import { BalancedNetwork } from './balanced-network.ts';
import { reachable, TestCluster } from './harness.ts';

const attempts = 3;
const ipOf = (n: number) => `10.0.0.${n + 1}`;
const hostOf = (n: number) => `10.1.0.${n + 1}`;

/** A cluster whose rounds go over a network that balances at random. */
function balanced(seed: number) {
  const cluster = new TestCluster();
  const network = new BalancedNetwork({ clock: cluster.clock, random: seededRandom(seed) });
  cluster.outside = network.outside;
  const patched = () => cluster.ranOf('pod-condition.patch');
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

  test.each([1, 2, 3])(
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

  test('when the routing comes late, the calls from then on are as few', { timeout: 60_000 }, async () => {
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
