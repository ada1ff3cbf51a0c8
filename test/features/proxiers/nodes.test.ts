/** Nodes in the world: the little that proxiers need of them. */
import { expect, test } from 'vitest';
import { isInWorldOf } from '../../../src/actors/world/router.ts';
import { createProxierJoin } from '../../../src/features/proxiers/proxier-join.ts';
import { nodes } from '../../../src/features/proxiers/resources.ts';
import { interestIn } from '../../kube/mirror/declared.ts';
import { Scene } from '../../kube/mirror/mirror-scene.ts';

const metadata = { name: 'node-1', uid: 'uid', resourceVersion: '7', labels: { zone: 'a' } };
const taint = (key: string) => ({ spec: { taints: [{ key, value: '1700000000', effect: 'NoSchedule' }] } });

test.each([
  ['no taints', {}, false],
  ['another taint', taint('node.kubernetes.io/unreachable'), false],
  ["the autoscaler's mark", taint('ToBeDeletedByClusterAutoscaler'), true],
  ['taints that are no list', { spec: { taints: 'ToBeDeletedByClusterAutoscaler' } }, false],
])('of a Node with %s', (_, fields, toBeDeleted) => {
  expect(interestIn(nodes).digestOf({ metadata, ...fields })).toMatchObject({
    toBeDeleted,
    deleting: false,
    labels: {},
  });
});

test('a Node that is being deleted is told as such', () => {
  const deleting = { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
  expect(interestIn(nodes).digestOf({ metadata: deleting })).toMatchObject({ deleting: true });
});

test('heartbeats of a Node end here, its taints go on; a list makes the statement', async () => {
  const scene = new Scene();
  scene.kube.put(nodes, '', 'node-1', { status: { beat: 1 } });
  const { mirror } = await scene.replica();
  const running = mirror(nodes);
  await scene.start(running);
  await scene.clock.advance(1_000);
  const stored = () =>
    scene.history.filter(({ subject }) => subject.endsWith('.world.nodes._.node-1')).length;
  expect(stored()).toBe(1);
  for (let beat = 2; beat < 10; beat++) scene.kube.put(nodes, '', 'node-1', { status: { beat } });
  await scene.clock.advance(1_000);
  expect(stored()).toBe(1);
  scene.kube.put(nodes, '', 'node-1', taint('ToBeDeletedByClusterAutoscaler'));
  await scene.clock.advance(1_000);
  expect(stored()).toBe(2);
  expect(scene.history.some(({ subject }) => subject.endsWith('.world._synced._.nodes'))).toBe(true);
  running.stop();
});

test('whether the Node of a proxier exists the world says', () => {
  const world = {
    get: (_: string, __: string, name: string) => (name === 'node-1' ? ({ kind: 'nodes' } as never) : null),
    statement: () => null,
  };
  const isInWorld = isInWorldOf(() => [{ joins: [createProxierJoin({ world, timeoutMs: 1 })] }]);
  const named = (kind: string, name: string) => isInWorld({ kind, namespace: '_', name });
  expect([named('proxier', 'node-1'), named('proxier', 'node-2'), named('pod', 'node-1')]).toEqual([
    true,
    false,
    false,
  ]);
});
