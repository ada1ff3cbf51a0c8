/** Pods that come one after the other, to more Services than can be called at the same time. */
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/base/random.ts';
import { listingOf } from '../../../src/features/routes/start.ts';
import { pod, service, TestCluster } from '../../actors/harness.ts';
import { BalancedNetwork } from './balanced-network.ts';

const [groups, podsPerGroup, servicesPerGroup] = [5, 20, 20];
const ipOf = (group: number, n: number) => `10.0.${group}.${n + 1}`;
const hostOf = (group: number, n: number) => `10.1.${group}.${n + 1}`;
const common = { resourceVersion: '1', createdAt: 0, deleting: false, labels: {} };

test('Pods that come one by one to a hundred Services are met with few more calls than if they came together', {
  timeout: 90_000,
}, async () => {
  const cluster = new TestCluster();
  const network = new BalancedNetwork({ clock: cluster.clock, random: seededRandom(7), latencyMs: 20 });
  cluster.outside = network.outside;
  const replica = await cluster.replica('a');
  if (process.env.NO_LISTING === undefined) network.list('a', listingOf(replica.routes.groups));
  await cluster.shop(0, 0);
  const each = async (act: (group: number) => Promise<unknown>) => {
    for (let group = 0; group < groups; group++) await act(group);
  };
  await each(async (group) => {
    for (let n = 0; n < servicesPerGroup; n++)
      await cluster.put('services', 'shop', `svc-${group}-${n}`, {
        ...service(n),
        uid: `svc-${group}-${n}-uid`,
        labels: { routed: 'yes', group: `g${group}` },
        clusterIPs: [{ ip: hostOf(group, n), family: 'IPv4' }],
      });
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
  const list = async (group: number, count: number) => {
    const readyAddresses = Array.from({ length: count }, (_, n) => ipOf(group, n));
    for (let s = 0; s < servicesPerGroup; s++)
      await cluster.put('endpointslices', 'shop', `svc-${group}-${s}-x`, {
        ...common,
        ...{
          kind: 'endpointslices',
          uid: `slice-${group}-${s}`,
          service: `svc-${group}-${s}`,
          readyAddresses,
        },
      });
  };
  await each(async (group) => {
    for (let n = 0; n < podsPerGroup; n++) await putPod(group, n, false);
  });
  await cluster.clock.advance(2_000);
  expect(network.calls).toBe(0);

  for (let n = 0; n < podsPerGroup; n++) {
    await each((group) => putPod(group, n, true));
    await cluster.clock.advance(100);
    await each((group) => list(group, n + 1));
    await cluster.clock.advance(100);
    await each(async (group) => {
      for (let s = 0; s < servicesPerGroup; s++) network.program(hostOf(group, s), ipOf(group, n));
    });
    await cluster.clock.advance(300);
  }
  const before = network.calls;
  const patched = () =>
    cluster.ranOf('pod-condition.patch').filter(({ effect }) => effect.status === 'True').length;
  let n = 0;
  for (; n < 100 && patched() < groups * podsPerGroup; n++) await cluster.clock.advance(100);
  expect(patched()).toBe(groups * podsPerGroup);
  const together = podsPerGroup * [...Array(podsPerGroup)].reduce((sum, _, nth) => sum + 1 / (nth + 1), 0);
  const counts = new Map<string, number>();
  for (const { id, event } of cluster.transitions()) {
    const key = `${id.slice(0, id.indexOf('/'))} ${event.type}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  if (process.env.SHOW)
    console.log(
      `after ${n * 100} ms`,
      before,
      network.calls,
      network.calls / (groups * servicesPerGroup * together),
      cluster.transitions().length,
      cluster.hub.stored('event').reduce((a, b) => a + b.data.length, 0),
      [...counts]
        .sort((a, b) => b[1] - a[1])
        .slice(0, 14)
        .join('; '),
    );
  expect(network.calls).toBeLessThan(1.3 * groups * servicesPerGroup * together);
});
