/** Pods that wait for the condition of a RouteGate that leaves them out: docs/features/routes.md §7.17. */
import { describe, expect, test } from 'vitest';
import type { PodDigest } from '../../../src/features/routes/digests.ts';
import { podInterest } from '../../../src/features/routes/interest.ts';
import { gateSpec, pod, TestCluster } from '../../actors/harness.ts';
import {
  gateDigest,
  ownedBy,
  podDigest,
  serviceDigest,
  shop,
  WorldScene,
} from '../../actors/world/world-scene.ts';

const pods = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };
const type = 'example.com/routes';

test('the world holds what a RouteGate of its namespace selects, and what waits for the condition of one', () => {
  const interest = podInterest(pods);
  interest.fold({ resource: 'routegates', namespace: 'shop', name: 'gate', digest: gateDigest() });
  const labels = { app: 'other' };
  const wants = (change: Partial<ReturnType<typeof podDigest>>, namespace = 'shop') =>
    interest.wants(namespace, 'web-0', podDigest({ labels, ...change }));
  expect(wants({ labels: { app: 'web' }, readinessGates: [] })).toBe(true);
  expect(wants({})).toBe(true);
  expect(wants({ conditions: { [type]: 'False' } })).toBe(true);
  expect(wants({ conditions: { [type]: 'True' } })).toBe(false);
  expect(wants({ readinessGates: ['other.example.com/gate'] })).toBe(false);
  expect(wants({}, 'depot')).toBe(false);
});

describe('§7.17: a Pod that waits for the condition of a RouteGate that does not select it', () => {
  const other = { app: 'other', group: 'one' };
  const stray = (change: Partial<PodDigest> = {}) => podDigest({ labels: other, ...change });

  test.each<[string, Partial<PodDigest>, { readonly lacks: string | null }]>([
    ['its labels do not match', {}, { lacks: null }],
    ['it has no label for a group', { labels: { app: 'web' } }, { lacks: 'group' }],
  ])('is told so, once all is listed, and nobody asks for it: %s', async (_, change, unselected) => {
    const scene = await WorldScene.start();
    await scene.put({ 'routegates/gate': gateDigest(), 'pods/web-0': stray(change) });
    await scene.put({ 'services/web': serviceDigest() });
    expect(scene.pod()).toBeUndefined();
    scene.affected();
    await scene.synced();
    expect(scene.affected()).toContain('pod/shop/web-0');
    expect([...scene.router.members()]).toContain('pod/shop/web-0');
    const gate = { name: 'gate', conditionType: 'example.com/routes' };
    const facts = { gated: true, groupResource: 'mismatch', services: {}, gate, unselected };
    expect(scene.pod()).toMatchObject(facts);
    expect(scene.service()).toMatchObject({ pods: {} });
  });

  test('is told so, too, where the kind of the groups’ owners cannot be listed', async () => {
    const scene = await shop({ groupResource: ownedBy() });
    expect(scene.pod()).toBeUndefined();
    await scene.put({ 'pods/web-0': stray() });
    expect(scene.pod()?.unselected).toEqual({ lacks: null });
  });

  test.each<[string, Partial<PodDigest>]>([
    ['somebody has set it', { conditions: { 'example.com/routes': 'True' } }],
    ['it does not list it', { readinessGates: ['other.example.com/gate'] }],
  ])('is nobody once %s', async (_, change) => {
    const scene = await (await shop()).put({ 'pods/web-0': stray() });
    expect(scene.pod()?.unselected).toEqual({ lacks: null });
    scene.affected();
    await scene.put({ 'pods/web-0': stray(change) });
    expect([scene.pod(), scene.affected()]).toEqual([null, ['pod/shop/web-0']]);
  });

  test('follows an edit of the RouteGate, and of its own labels', async () => {
    const scene = await (await shop()).put({ 'pods/web-0': stray() });
    await scene.put({ 'pods/web-0': podDigest() });
    expect(scene.pod()).toMatchObject({ groupResource: 'none', services: { web: 'service-' } });
    await scene.put({ 'pods/web-0': stray() });
    const podSelector = { matchLabels: { app: 'other' } };
    await scene.put({ 'routegates/gate': gateDigest({ podSelector }, { generation: 2 }) });
    await scene.synced(['gate-uid/2']);
    expect(scene.pod()?.unselected).toBeUndefined();
    await scene.put({ 'routegates/gate': null });
    expect(scene.pod()).toBeNull();
  });

  test('has an actor for it beside that of a RouteGate that selects it', async () => {
    const scene = await shop();
    const readinessGates = ['example.com/routes', 'second'];
    const podSelector = { matchLabels: { app: 'x' } };
    const second = gateDigest({ conditionType: 'second', podSelector }, { uid: 'second-uid' });
    await scene.put({ 'routegates/second': second, 'pods/web-0': podDigest({ readinessGates }) });
    await scene.synced(['gate-uid/1', 'second-uid/1']);
    expect(scene.pod()?.unselected).toBeUndefined();
    expect(scene.pod('web-0@second')).toMatchObject({
      gate: { name: 'second' },
      unselected: { lacks: null },
    });
    await scene.put({ 'pods/web-0': null });
    expect(scene.pod('web-0@second')).toBeNull();
  });
});

test('§7.17: nothing is written while another program may set the condition; then an Event, and it may still', async () => {
  const cluster = new TestCluster();
  const gate = { kind: 'routegates', resourceVersion: '1', deleting: false, labels: {}, generation: 1 };
  await cluster.put('routegates', 'shop', 'gate', { ...gate, uid: 'g', createdAt: 1, spec: gateSpec });
  for (const resource of ['routegates', 'pods', 'services', 'endpointslices'])
    await cluster.put('_synced', '', resource, { kind: 'synced', gates: ['g/1'], resource });
  await cluster.replica('a');
  const put = (n: number, is?: 'True') =>
    cluster.put(
      'pods',
      'shop',
      `web-${n}`,
      pod(n, { uid: `u-${n}`, labels: {}, ...(is && { conditions: { [type]: is } }) }),
    );
  for (let n = 0; n < 3; n++) await put(n);
  await cluster.clock.advance(60_000);
  expect(cluster.states()['pod/shop/web-0']).toBe('gated.notApplicable');
  for (let n = 1; n < 3; n++) await put(n, 'True');
  await cluster.clock.advance(300_000);
  expect(cluster.states()).toEqual({
    'pod/shop/web-0': 'gated.stranded',
    'pod/shop/web-1': 'gone',
    'pod/shop/web-2': 'gone',
  });
  const events = cluster.ranOf('kube-event.write').map(({ effect }) => effect);
  const about = events.filter((one) => (one as { reason?: string }).reason === 'NotSelected');
  expect(about).toMatchObject([{ regarding: { kind: 'Pod', name: 'web-0', uid: 'u-0' } }]);
  await put(0, 'True');
  await cluster.clock.advance(1_000);
  expect(cluster.states()['pod/shop/web-0']).toBe('gone');
  expect(cluster.ranOf('pod-condition.patch')).toEqual([]);
});
