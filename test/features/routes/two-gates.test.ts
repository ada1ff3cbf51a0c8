/** Two RouteGates on one Pod, from the world to the patches of conditions: docs/features/routes.md §2.3. */
import { describe, expect, test } from 'vitest';
import type { RouteGateSpec } from '../../../src/features/routes/route-gate.ts';
import type { PodConditionPatch } from '../../../src/machines/pod/pod-effects.ts';
import type { RouteSample } from '../../../src/machines/service/route-effects.ts';
import { finished, gateSpec, pod, reachable, service, TestCluster } from '../../actors/harness.ts';

const [first, second] = ['example.com/routes', 'example.com/second'];
const secondSpec: RouteGateSpec = {
  ...gateSpec,
  conditionType: second,
  serviceSelector: { matchLabels: { second: 'yes' } },
  whenRouteIsLost: 'withdraw',
};
const both = { routed: 'yes', second: 'yes', group: 'one' };

/** `one` belongs to the first gate, `two` to the second, `shared` to both. What they reach, the test says. */
async function shop(reached: Set<string>) {
  const cluster = new TestCluster();
  cluster.outside = async (effect, run, replica) => {
    if (effect.type !== 'route.sample') return reachable(effect, run, replica);
    const { group, round } = effect as unknown as RouteSample;
    return reached.has(group) ? reachable(effect, run, replica) : finished(round, []);
  };
  const gate = { kind: 'routegates', resourceVersion: '1', deleting: false, labels: {}, generation: 1 };
  await cluster.put('routegates', 'shop', 'gate', { ...gate, uid: 'g1', createdAt: 1, spec: gateSpec });
  await cluster.put('routegates', 'shop', 'second', { ...gate, uid: 'g2', createdAt: 2, spec: secondSpec });
  await cluster.put('services', 'shop', 'one', service(0));
  await cluster.put('services', 'shop', 'two', { ...service(1), labels: { second: 'yes', group: 'one' } });
  await cluster.put('services', 'shop', 'shared', { ...service(2), labels: both });
  await cluster.put('pods', 'shop', 'web-0', gated());
  for (const resource of ['routegates', 'pods', 'services', 'endpointslices'])
    await cluster.put('_synced', '', resource, { kind: 'synced', gates: ['g1/1', 'g2/1'], resource });
  await cluster.replica('a');
  await cluster.clock.advance(10_000);
  return cluster;
}

const gated = (conditions: Readonly<Record<string, 'True' | 'False'>> = {}) =>
  pod(0, { readinessGates: [first, second], conditions });

/** What was last written of a condition. */
function last(cluster: TestCluster, type: string): PodConditionPatch | undefined {
  const patches = cluster
    .ranOf('pod-condition.patch')
    .map(({ effect }) => effect as unknown as PodConditionPatch);
  return patches.findLast(({ conditionType }) => conditionType === type);
}

const all = ['shop/one', 'shop/two', 'shop/shared', 'shop/shared@second'];

test('each gate collects its own proofs and writes its own condition on the one Pod', async () => {
  const cluster = await shop(new Set(all));
  for (const type of [first, second])
    expect(last(cluster, type)).toMatchObject({ name: 'web-0', uid: 'pod-uid-0', status: 'True' });
  expect(cluster.states()).toMatchObject({
    'pod/shop/web-0': 'gated.ready.proven',
    'pod/shop/web-0@second': 'gated.ready.proven',
  });
});

test('a route that one gate lacks holds back its condition alone, and is named in it', async () => {
  const reached = new Set(all.filter((name) => name !== 'shop/two'));
  const cluster = await shop(reached);
  expect(last(cluster, first)).toMatchObject({ status: 'True', reason: 'RoutesVerified' });
  expect(last(cluster, second)).toMatchObject({
    status: 'False',
    reason: 'WaitingForRoutes',
    message: expect.stringContaining('1 of 2 Services have not reached this Pod: two ('),
  });
  reached.add('shop/two');
  await cluster.clock.advance(10_000);
  expect(last(cluster, second)).toMatchObject({ status: 'True' });
});

test('a Service that both select is proven for each by itself', async () => {
  const cluster = await shop(new Set(all.filter((name) => name !== 'shop/shared@second')));
  expect(last(cluster, first)).toMatchObject({ status: 'True' });
  expect(last(cluster, second)).toMatchObject({
    status: 'False',
    message: expect.stringContaining('shared ('),
  });
});

describe('a route that is lost', () => {
  const slice = (readyAddresses: readonly string[]) => ({
    kind: 'endpointslices',
    ...{ uid: 's', resourceVersion: '1', createdAt: 0, deleting: false, labels: {} },
    ...{ service: 'shared', readyAddresses },
  });

  test('takes back the condition of the gate that withdraws, and no other', async () => {
    const reached = new Set(all);
    const cluster = await shop(reached);
    await cluster.put('endpointslices', 'shop', 'shared-1', slice(['10.0.0.1']));
    await cluster.put('pods', 'shop', 'web-0', gated({ [first]: 'True', [second]: 'True' }));
    await cluster.clock.advance(5_000);
    const before = cluster.ran.length;
    for (const name of all) reached.delete(name);
    await cluster.put('endpointslices', 'shop', 'shared-1', slice([]));
    await cluster.clock.advance(31_000);
    const written = cluster.ran
      .slice(before)
      .map(({ effect }) => effect as unknown as PodConditionPatch)
      .filter(({ type }) => type === 'pod-condition.patch');
    expect(written[0]).toMatchObject({ conditionType: second, status: 'False', reason: 'RouteLost' });
    expect(written.every(({ conditionType }) => conditionType === second)).toBe(true);
  });
});
