/**
 * “1,000 gated Pods × 20 Services on one replica: bounded memory and sockets, no starvation.”
 * (docs/features/routes.md §4, "Must hold" 6)
 */
import { expect, test } from 'vitest';
import { recordOf } from '../../../src/actors/host/cell.ts';
import { limits } from '../../../src/base/limits.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { pod, service, TestCluster, type TestReplica } from '../../actors/harness.ts';
import { BalancedNetwork } from './balanced-network.ts';

/** Half of it: 1,500 calls want one of 64 places as well, and it takes half as long. */
const [groups, podsPerGroup, servicesPerGroup] = [25, 20, 20];
const podCount = groups * podsPerGroup;
const ipOf = (n: number) => `10.0.${n >> 8}.${n & 255}`;
const hostOf = (group: number, n: number) => `10.1.${group}.${n + 1}`;

/** Puts a group into the world, all at once. */
async function putGroup(cluster: TestCluster, group: number, pods: number, services: number): Promise<void> {
  const label = `g${group}`;
  const puts: Promise<void>[] = [];
  for (let n = 0; n < services; n++) {
    const digest = {
      ...service(n),
      uid: `svc-${group}-${n}-uid`,
      labels: { routed: 'yes', group: label },
      clusterIPs: [{ ip: hostOf(group, n), family: 'IPv4' }],
    };
    puts.push(cluster.put('services', 'shop', `svc-${group}-${n}`, digest));
  }
  for (let n = 0; n < pods; n++) {
    const address = { ip: ipOf(group * podsPerGroup + n), family: 'IPv4' } as const;
    const change = { uid: `pod-${group}-${n}`, labels: { app: 'web', group: label }, address };
    puts.push(cluster.put('pods', 'shop', `web-${group}-${n}`, pod(n, change)));
  }
  await Promise.all(puts);
}

function program(network: BalancedNetwork, group: number, pods: number, services: number): void {
  for (let s = 0; s < services; s++)
    for (let p = 0; p < pods; p++) network.program(hostOf(group, s), ipOf(group * podsPerGroup + p));
}

/** The largest that any actor of the replica holds now. */
function largest({ engine }: TestReplica): { mailbox: number; outbox: number } {
  let [mailbox, outbox] = [0, 0];
  for (const run of engine.shards.open()) {
    for (const cell of run.cells.values()) {
      mailbox = Math.max(mailbox, cell.hot?.mailbox.length ?? 0);
      outbox = Math.max(outbox, cell.hot === null ? 0 : (recordOf(cell)?.outbox.length ?? 0));
    }
  }
  return { mailbox, outbox };
}

test('five hundred Pods that wait for their routes hold up nobody, and become ready when the routes come; what they hold is bounded', {
  timeout: 120_000,
}, async () => {
  const cluster = new TestCluster();
  const network = new BalancedNetwork({ clock: cluster.clock, random: seededRandom(5), latencyMs: 1 });
  cluster.outside = network.outside;
  const patched = () =>
    cluster.ranOf('pod-condition.patch').filter(({ effect }) => effect.status === 'True').length;
  const replica = await cluster.replica('a');
  await cluster.shop(0, 0);
  for (let group = 0; group < groups; group++) await putGroup(cluster, group, podsPerGroup, servicesPerGroup);
  const peak = { mailbox: 0, outbox: 0 };
  const advance = async (ms: number) => {
    await cluster.clock.advance(ms);
    const now = largest(replica);
    peak.mailbox = Math.max(peak.mailbox, now.mailbox);
    peak.outbox = Math.max(peak.outbox, now.outbox);
  };
  await advance(100);
  expect(patched()).toBe(0);

  program(network, groups, 3, 5);
  await putGroup(cluster, groups, 3, 5);
  await advance(1_000);
  expect(patched()).toBe(3);

  for (let group = 0; group < groups; group++) program(network, group, podsPerGroup, servicesPerGroup);
  for (let n = 0; n < 100 && patched() < podCount + 3; n++) await advance(100);
  expect(patched()).toBe(podCount + 3);
  expect(network.inFlightMax).toBeLessThanOrEqual(limits.probeCallsInFlight);
  expect(peak.mailbox).toBeLessThan(limits.mailboxEvents / 10);
  expect(peak.outbox).toBeLessThan(limits.outboxEffects / 2);

  // Whoever is ready rests: nothing is sampled any more, and no cell stays awake.
  await cluster.clock.advance(5_000);
  const calls = network.calls;
  await cluster.clock.advance(60_000);
  expect(network.calls).toBe(calls);
  expect(largest(replica)).toEqual({ mailbox: 0, outbox: 0 });
});
