/**
 * RouteGates as actors in an engine: what a wave of changes costs, and what a change of owner does.
 * Docs/features/routes.md, “What people are told”.
 */
import { describe, expect, test } from 'vitest';
import { runs } from '../../../src/actors/effect-runner.ts';
import type { Feature } from '../../../src/actors/feature.ts';
import { lookAtGate } from '../../../src/features/routes/effects/gate-look.ts';
import { routes } from '../../../src/features/routes/feature.ts';
import { createGateJoin, createGateStatusJoin } from '../../../src/features/routes/gate-join.ts';
import { createRoutesJoin } from '../../../src/features/routes/routes-join.ts';
import {
  type RouteGateStatusPatch,
  routeGateLook,
} from '../../../src/machines/routegate/routegate-effects.ts';
import { saidIn } from '../../../src/machines/routegate/routegate-status.ts';
import { saidNothing } from '../../../src/machines/said.ts';
import { gateSpec, pod, reachable, service, TestCluster } from '../../actors/harness.ts';

/** The part of the feature that speaks to RouteGates; Pods and Services are the cluster's own. */
const gates: Feature = {
  ...routes(),
  load: async () => (ports) => {
    const { world } = ports.engine;
    const join = createRoutesJoin({ world, clusterDomain: () => 'cluster.local' });
    const own = createGateJoin({ world, incarnation: ports.incarnation, isComplete: join.isComplete });
    const fold: typeof own.fold = (entry, before) => {
      join.fold(entry, before);
      return own.fold(entry, before);
    };
    return {
      joins: [{ ...own, fold }, createGateStatusJoin(world)],
      effects: [runs(routeGateLook, lookAtGate({ world, join, gates: own }))],
    };
  },
};

function clusterOfGates(): TestCluster {
  const cluster = new TestCluster([gates]);
  cluster.outside = async (effect, run, replica) =>
    effect.type === 'routegate-status.patch'
      ? { type: 'routegate.reported' }
      : reachable(effect, run, replica);
  return cluster;
}

const statuses = (cluster: TestCluster) =>
  cluster
    .ranOf('routegate-status.patch')
    .map(({ effect }) => (effect as unknown as RouteGateStatusPatch).status);
const ownSteps = (cluster: TestCluster) =>
  cluster.transitions().filter(({ id }) => id === 'routegate/shop/gate');

test('the status says what stands in the world, under the fence of its owner', async () => {
  const cluster = clusterOfGates();
  await cluster.replica('a');
  await cluster.shop(2, 2);
  await cluster.clock.advance(30_000);
  expect(statuses(cluster).at(-1)).toMatchObject({
    counts: { pods: 2, waiting: 2, observedGeneration: 1 },
    valid: { reason: 'InUse' },
    verifying: { status: 'True', message: '2 Services are probed' },
  });
  expect(ownSteps(cluster).at(-1)?.to).toContain('reported');
});

describe('a wave of 500 Pods that change four times each within five seconds', () => {
  test('is told to the actor once for each look: a write a second at most, and few steps for each', async () => {
    const cluster = clusterOfGates();
    await cluster.replica('a');
    await cluster.shop(0, 1);
    await cluster.clock.advance(5_000);
    const [stepsBefore, writesBefore] = [ownSteps(cluster).length, statuses(cluster).length];
    for (let n = 0; n < 2_000; n++) {
      const isReady = n >= 1_000;
      const conditions = isReady ? { 'example.com/routes': 'True' as const } : {};
      await cluster.put(
        'pods',
        'shop',
        `web-${n % 500}`,
        pod(n % 250, { uid: `pod-${n % 500}`, conditions }),
      );
      if (n % 20 === 0) await cluster.clock.advance(50);
    }
    await cluster.clock.advance(5_000);
    expect(statuses(cluster).at(-1)).toMatchObject({ counts: { pods: 500, ready: 500, waiting: 0 } });
    expect(statuses(cluster).length - writesBefore).toBeLessThanOrEqual(7);
    expect(ownSteps(cluster).length - stepsBefore).toBeLessThanOrEqual(30);
  });
});

test('a replica that takes over looks once, and writes nothing that is said already', async () => {
  const cluster = clusterOfGates();
  const first = await cluster.replica('a');
  await cluster.shop(0, 1);
  await cluster.clock.advance(5_000);
  const written = statuses(cluster).length;
  await cluster.replica('b');
  first.engine.kill();
  await cluster.clock.advance(60_000);
  const looksOfB = cluster.ranOf('routegate.look').filter(({ replica }) => replica === 'b');
  expect(looksOfB.length).toBeGreaterThan(0);
  expect(looksOfB.length).toBeLessThanOrEqual(3);
  expect(statuses(cluster)).toHaveLength(written);
});

test('§7.8: a look before RouteGates were listed again is made again within seconds of the list', async () => {
  const cluster = clusterOfGates();
  const first = await cluster.replica('a');
  await cluster.shop(2, 1);
  await cluster.clock.advance(30_000);
  first.engine.kill();
  cluster.hub.makeAnew('world');
  await cluster.clock.advance(15_000);
  await cluster.replica('b');
  await cluster.clock.advance(15_000);
  expect(cluster.ranOf('routegate.look').filter(({ replica }) => replica === 'b').length).toBeGreaterThan(0);
  const written = statuses(cluster).length;
  await cluster.shop(2, 1);
  await cluster.clock.advance(15_000);
  expect(statuses(cluster).length).toBeGreaterThan(written);
});

test('a status that somebody wrote over is written again within seconds; what the actor wrote is no news', async () => {
  const cluster = clusterOfGates();
  await cluster.replica('a');
  await cluster.shop(0, 1);
  await cluster.clock.advance(30_000);
  const status = statuses(cluster).at(-1);
  if (status === undefined) throw new Error('nothing was written');
  const [steps, written] = [ownSteps(cluster).length, statuses(cluster).length];
  const says = (said: string) => cluster.shopGate({ said });
  await says(saidIn(status));
  await cluster.clock.advance(2_000);
  expect(ownSteps(cluster)).toHaveLength(steps);
  for (const [n, other] of ['something else', saidNothing].entries()) {
    await says(other);
    await cluster.clock.advance(2_000);
    expect(statuses(cluster)).toHaveLength(written + 1 + n);
  }
});

test('§2.7: an owner that comes to match, or no longer does, is counted with its Pods or without them', async () => {
  const cluster = clusterOfGates();
  await cluster.replica('a');
  const owned = { apiVersion: 'example.com/v1', kind: 'Fleet', require: { 'spec.type': 'egress' } };
  await cluster.shopGate({ spec: { ...gateSpec, groupResource: { ...owned, replicas: null } } });
  for (let n = 0; n < 2; n++) await cluster.put('pods', 'shop', `web-${n}`, pod(n));
  const resource = 'fleets.example.com';
  const fleet = (type: string) => ({
    kind: 'groupresource',
    ...{ uid: 'fleet', resourceVersion: '1', createdAt: 0, deleting: false, labels: {} },
    ...{ resource, fields: { 'spec.type': type } },
  });
  const owner = { kind: 'synced', gates: ['gate-uid/1'], resource };
  await cluster.put(resource, '', 'one', fleet('ingress'));
  await cluster.put('_synced', '', 'example.com/v1/Fleet', owner);
  await cluster.synced();
  await cluster.clock.advance(12_000);
  expect(statuses(cluster).at(-1)?.counts).toMatchObject({ pods: 0, waiting: 0, ungated: 0 });
  await cluster.put(resource, '', 'one', fleet('egress'));
  await cluster.clock.advance(3_000);
  expect(statuses(cluster).at(-1)?.counts).toMatchObject({ pods: 2, waiting: 2 });
  await cluster.put(resource, '', 'one', fleet('ingress'));
  await cluster.clock.advance(3_000);
  expect(statuses(cluster).at(-1)?.counts).toMatchObject({ pods: 0, waiting: 0 });
});

test('a kind of owner that the cluster does not have is told, until it has it', async () => {
  const cluster = clusterOfGates();
  await cluster.replica('a');
  const owned = { apiVersion: 'example.com/v1', kind: 'Fleet', require: {}, replicas: null };
  await cluster.shopGate({ spec: { ...gateSpec, groupResource: owned } });
  await cluster.put('services', 'shop', 'svc-0', service(0));
  const state = (resource: string | null) =>
    cluster.put('_synced', '', 'example.com/v1/Fleet', { kind: 'synced', gates: ['gate-uid/1'], resource });
  await state(null);
  await cluster.synced();
  await cluster.clock.advance(3_000);
  expect(statuses(cluster).at(-1)?.verifying).toMatchObject({ status: 'False', reason: 'NoSuchKind' });
  await state('fleets.example.com');
  await cluster.clock.advance(3_000);
  expect(statuses(cluster).at(-1)?.verifying).toMatchObject({ status: 'True' });
  await state(null);
  await cluster.clock.advance(3_000);
  expect(statuses(cluster).at(-1)?.verifying).toMatchObject({ reason: 'NoSuchKind' });
});

test('a RouteGate that is deleted ends its actor', async () => {
  const cluster = clusterOfGates();
  await cluster.replica('a');
  await cluster.shop(1, 1);
  await cluster.clock.advance(5_000);
  await cluster.remove('routegates', 'shop', 'gate');
  await cluster.clock.advance(5_000);
  expect(ownSteps(cluster).at(-1)?.to).toBe('gone');
});
