/** Pods on the network of one node have one address: docs/features/routes.md §5.7. */
import { expect, test } from 'vitest';
import type { PodDigest } from '../../../src/features/routes/digests.ts';
import type { RouteGateSpec } from '../../../src/features/routes/route-gate.ts';
import type { PodConditionPatch } from '../../../src/machines/pod/pod-effects.ts';
import { gateSpec, pod, service, TestCluster } from '../../actors/harness.ts';

const type = 'example.com/routes';
const onNode = (n: number, change: Partial<PodDigest> = {}) =>
  pod(n, { hostNetwork: true, address: { ip: '10.9.0.1', family: 'IPv4' }, ...change });
const serving = onNode(0, { conditions: { [type]: 'True' } });

/** web-0 serves, and answers every call with the address of its node. web-1 comes to the same node. */
async function shop(change: Partial<RouteGateSpec> = {}, first: PodDigest = serving) {
  const cluster = new TestCluster();
  const gate = { kind: 'routegates', resourceVersion: '1', deleting: false, labels: {}, generation: 1 };
  const spec = { ...gateSpec, ...change };
  await cluster.put('routegates', 'shop', 'gate', { ...gate, uid: 'g1', createdAt: 1, spec });
  await cluster.put('services', 'shop', 'web', service(0));
  await cluster.put('pods', 'shop', 'web-0', first);
  await cluster.put('pods', 'shop', 'web-1', onNode(1));
  for (const resource of ['routegates', 'pods', 'services', 'endpointslices'])
    await cluster.put('_synced', '', resource, { kind: 'synced', gates: ['g1/1'], resource });
  await cluster.replica('a');
  await cluster.clock.advance(10_000);
  return cluster;
}

/** What was last written of the condition of web-1. */
function last(cluster: TestCluster): PodConditionPatch | undefined {
  const patches = cluster.ranOf('pod-condition.patch');
  return patches
    .map(({ effect }) => effect as unknown as PodConditionPatch)
    .findLast(({ name }) => name === 'web-1');
}

test('an answer of one proves nothing of another: it is reported as not verified, with the reason', async () => {
  expect(last(await shop())).toMatchObject({
    status: 'True',
    reason: 'Unverified',
    message:
      'Traffic through 0 of 1 Services reached this Pod. Not verified: web (Pod web-0 has the address of the same node, so answers do not say which of them gave them).',
  });
});

test('a gate that holds what cannot be verified holds it, until the other is gone and it is proven', async () => {
  const cluster = await shop({ whenUnverifiable: 'hold' });
  expect(last(cluster)).toMatchObject({ status: 'False', message: expect.stringContaining('Pod web-0 has') });
  await cluster.put('pods', 'shop', 'web-0', { ...serving, deleting: true });
  await cluster.clock.advance(10_000);
  expect(last(cluster)?.status).toBe('False');
  await cluster.put('pods', 'shop', 'web-0', null);
  await cluster.clock.advance(2_000);
  expect(last(cluster)).toMatchObject({ status: 'True', reason: 'RoutesVerified' });
});

test('a question that was asked before the other came is taken back, and its answer proves nothing', async () => {
  const cluster = await shop({ whenUnverifiable: 'hold' }, onNode(0, { finished: true }));
  expect(last(cluster)).toMatchObject({ status: 'True' });
  await cluster.put('pods', 'shop', 'web-0', null);
  await cluster.put('pods', 'shop', 'web-2', onNode(2, { address: null }));
  await cluster.clock.advance(1_000);
  await cluster.put('pods', 'shop', 'web-2', onNode(2));
  await cluster.clock.advance(10_000);
  const patched = cluster
    .ranOf('pod-condition.patch')
    .map(({ effect }) => effect as unknown as PodConditionPatch);
  expect(patched.filter(({ name, status }) => name === 'web-2' && status === 'True')).toEqual([]);
});

test.each<[string, Partial<PodDigest>]>([
  ['has ended', { finished: true }],
  ['is on another node', { address: { ip: '10.9.0.2', family: 'IPv4' } }],
])('a Pod that %s is no obstacle', async (_, change) => {
  const cluster = await shop({}, { ...serving, ...change });
  expect(last(cluster)).toMatchObject({ status: 'True', reason: 'RoutesVerified' });
});

test('a Pod with an address of its own, which the picture still shows at another as well, is proven', async () => {
  const { hostNetwork: _, ...first } = serving;
  const cluster = await shop({}, first);
  expect(last(cluster)).toMatchObject({ status: 'True', reason: 'RoutesVerified' });
});
