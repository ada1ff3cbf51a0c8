/** docs/features/routes.md §3, under everything that can happen to a group. */
import { expect, test } from 'vitest';
import { pod, service, TestCluster } from '../../actors/harness.ts';
import { HostileShop } from './hostile-shop.ts';

test.each([1, 2, 3])(
  '“Never Ready early: no condition True before a 200 with this Pod’s own IP through every verifiable Service”, and never stuck (seed %i)',
  async (seed) => {
    const shop = new HostileShop(seed);
    await shop.begin();
    for (let n = 0; n < 400; n++) await shop.act();
    await shop.heal();
    expect(shop.early).toEqual([]);
    expect(shop.marked).toBeGreaterThan(20);
    expect(shop.waiting()).toEqual([]);
  },
);

test('a new RouteGate whose Services are not mirrored yet makes no Pod Ready', async () => {
  const cluster = new TestCluster();
  await cluster.replica('a');
  await cluster.shop(0, 0);
  await cluster.put('_synced', '', 'services', { kind: 'synced', gates: [], resource: 'services' });
  await cluster.put('pods', 'shop', 'web-0', pod(0));
  await cluster.clock.advance(60_000);
  expect(cluster.ran).toEqual([]);
  await cluster.put('services', 'shop', 'svc-0', service(0));
  await cluster.clock.advance(60_000);
  expect(cluster.ran).toEqual([]);
  await cluster.synced();
  await cluster.clock.advance(1_000);
  expect(cluster.ran.map(({ effect }) => effect.type)).toEqual([
    'message.send',
    'route.sample',
    'message.send',
    'pod-condition.patch',
    'kube-event.write',
  ]);
});
