/**
 * A watch as a pipeline of its replica: silence and what waits for the world make it late, quiet does not.
 */
import { afterEach, expect, test } from 'vitest';
import { OrreryError } from '../../src/base/errors.ts';
import { nodes } from '../../src/features/proxiers/resources.ts';
import { routeGates } from '../../src/features/routes/resources.ts';
import type { Mirror } from '../../src/kube/mirror/mirror.ts';
import { watchThatWaits } from '../../src/replica/health/own-health.ts';
import { type Pipelines, startPipelines } from '../../src/replica/health/pipelines.ts';
import { gate, Scene } from '../kube/mirror/mirror-scene.ts';

const stopping: Pipelines[] = [];
afterEach(() => {
  for (const one of stopping.splice(0)) one.stop();
});

function pipelinesOf(scene: Scene, mirror: Mirror): Pipelines {
  const pipelines = startPipelines({
    clock: scene.clock,
    names: () => [`watch/${mirror.name}`],
    look: () => watchThatWaits(mirror, scene.clock),
    isConnected: () => true,
    nodeEligible: () => true,
  });
  stopping.push(pipelines);
  return pipelines;
}

async function watching() {
  const scene = new Scene();
  const replica = await scene.replica();
  const mirror = replica.mirror(nodes);
  await scene.start(mirror);
  return { scene, replica, mirror, pipelines: pipelinesOf(scene, mirror) };
}

test('a watch that goes silent makes its replica unhealthy within 80 s, and says so', async () => {
  const { scene, mirror, pipelines } = await watching();
  // This server never ends a stream: the half minute that was asked for passes without a word.
  await scene.clock.advance(29_000);
  expect(pipelines.complaints()).toEqual([]);
  await scene.clock.advance(51_000);
  expect(pipelines.complaints()).toEqual([
    expect.stringMatching(
      /^watch\/nodes has heard nothing from the Kubernetes API that was due for [34]\d s$/,
    ),
  ]);
  expect(pipelines.isFit()).toBe(false);
  mirror.stop();
  await scene.clock.advance(1_000);
  expect(pipelines.complaints()).toEqual([]);
});

test('a watch whose streams end when they were asked to is healthy, with or without changes', async () => {
  const { scene, mirror, pipelines } = await watching();
  for (let minute = 0; minute < 5; minute++) {
    for (let beat = 0; beat < 3; beat++) {
      await scene.clock.advance(20_000);
      scene.kube.breakWatches();
    }
    expect(pipelines.complaints()).toEqual([]);
  }
  mirror.stop();
});

test('a kind that the cluster does not have makes nobody ill, nor is its watch said to fail', async () => {
  const scene = new Scene();
  const group = { apiVersion: 'tailscale.com/v1alpha1', kind: 'ProxyGroup', require: {} };
  scene.kube.put(routeGates, 'shop', 'gate', gate({ group }));
  const replica = await scene.replica();
  await scene.start(replica.mirror(routeGates));
  const mirror = replica.groupMirror();
  await scene.start(mirror);
  const pipelines = pipelinesOf(scene, mirror);
  for (let second = 0; second < 120; second++) {
    await scene.clock.advance(1_000);
    expect([second, pipelines.complaints()]).toEqual([second, []]);
  }
  mirror.stop();
  await scene.clock.advance(1_000);
  expect(scene.restarts).not.toContain(mirror.name);
});

test('an API server that refuses connections is heard: nobody falls ill of it', async () => {
  const { scene, mirror, pipelines } = await watching();
  scene.kube.failing = () => new OrreryError('KUBE_UNREACHABLE', 'connection refused');
  scene.kube.breakWatches();
  for (let minute = 0; minute < 10; minute++) {
    await scene.clock.advance(60_000);
    expect([pipelines.complaints(), pipelines.isFit()]).toEqual([[], true]);
  }
  mirror.stop();
});

test('a change that does not get into the world makes the replica unhealthy', async () => {
  const { scene, replica, mirror, pipelines } = await watching();
  replica.bus.faults.onAppend = () => 'requestLost';
  for (let second = 0; second < 40; second++) {
    scene.kube.put(nodes, '', 'node-1', {
      spec: { taints: second % 2 === 0 ? [] : [{ key: 'ToBeDeletedByClusterAutoscaler' }] },
    });
    if (second % 20 === 0) scene.kube.breakWatches();
    await scene.clock.advance(1_000);
  }
  const complaints = pipelines.complaints();
  replica.bus.faults.onAppend = undefined;
  mirror.stop();
  expect(complaints).toEqual([
    expect.stringMatching(/^watch\/nodes has a change that is not in the world for [34]\d s$/),
  ]);
});
