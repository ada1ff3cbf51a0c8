/** Pods that come one after the other, to more Services than can be called at the same time. */
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/base/random.ts';
import { listingOf } from '../../../src/features/routes/start.ts';
import { pod, service, TestCluster } from '../../actors/harness.ts';
import { BalancedNetwork } from './balanced-network.ts';

const [groups, podsPerGroup, servicesPerGroup] = [5, 12, 56];
const ipOf = (group: number, n: number) => `10.0.${group}.${n + 1}`;
const hostOf = (group: number, n: number) => `10.1.${group}.${n + 1}`;
const common = { resourceVersion: '1', createdAt: 0, deleting: false, labels: {} };

async function startShop() {
  const cluster = new TestCluster();
  const network = new BalancedNetwork({ clock: cluster.clock, random: seededRandom(7), latencyMs: 20 });
  cluster.outside = network.outside;
  const replica = await cluster.replica('a');
  network.list('a', listingOf(replica.routes.groups));
  await cluster.shop(0, 0);
  const putService = (group: number, n: number) =>
    cluster.put('services', 'shop', `svc-${group}-${n}`, {
      ...service(n),
      uid: `svc-${group}-${n}-uid`,
      labels: { routed: 'yes', group: `g${group}` },
      clusterIPs: [{ ip: hostOf(group, n), family: 'IPv4' }],
    });
  const putPod = (group: number, n: number, hasAddress: boolean) =>
    cluster.put(
      'pods',
      'shop',
      `web-${group}-${n}`,
      pod(n, {
        uid: `pod-${group}-${n}`,
        labels: { app: 'web', group: `g${group}` },
        address: hasAddress ? { ip: ipOf(group, n), family: 'IPv4' } : null,
      }),
    );
  const list = (group: number, n: number, count: number) =>
    cluster.put('endpointslices', 'shop', `svc-${group}-${n}-x`, {
      ...common,
      ...{ kind: 'endpointslices', uid: `slice-${group}-${n}`, service: `svc-${group}-${n}` },
      readyAddresses: Array.from({ length: count }, (_, pods) => ipOf(group, pods)),
    });
  return { cluster, network, putService, putPod, list };
}

async function each(count: number, act: (group: number, n: number) => unknown): Promise<void> {
  for (let group = 0; group < groups; group++) for (let n = 0; n < count; n++) await act(group, n);
}

test('Pods that come one by one to hundreds of Services are met with few more calls than if they came together', {
  timeout: 90_000,
}, async () => {
  const { cluster, network, putService, putPod, list } = await startShop();
  await each(servicesPerGroup, putService);
  await each(podsPerGroup, (group, n) => putPod(group, n, false));
  await cluster.clock.advance(2_000);
  expect(network.calls).toBe(0);

  for (let n = 0; n < podsPerGroup; n++) {
    await each(1, (group) => putPod(group, n, true));
    await cluster.clock.advance(100);
    await each(servicesPerGroup, (group, s) => list(group, s, n + 1));
    await cluster.clock.advance(100);
    await each(servicesPerGroup, (group, s) => network.program(hostOf(group, s), ipOf(group, n)));
    await cluster.clock.advance(300);
  }
  const patched = () =>
    cluster.ranOf('pod-condition.patch').filter(({ effect }) => effect.status === 'True').length;
  for (let n = 0; n < 100 && patched() < groups * podsPerGroup; n++) await cluster.clock.advance(100);
  expect(patched()).toBe(groups * podsPerGroup);
  const together = podsPerGroup * [...Array(podsPerGroup)].reduce((sum, _, nth) => sum + 1 / (nth + 1), 0);
  const services = groups * servicesPerGroup;
  expect(network.calls).toBeLessThan(1.25 * services * together);
  // Without the rests of a busy process there are 20,793 calls.
  expect(cluster.transitions().length).toBeLessThan(8_000);
});
