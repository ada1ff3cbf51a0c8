/** The scenario shows the problem and its solution: what decides is when the gates open. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startInformer } from '../../packages/dev-cluster/controllers/informer.ts';
import { ensureDefinitions, readManifests } from '../../packages/dev-cluster/manifests.ts';
import type { Routing } from '../../packages/dev-cluster/network/routing.ts';
import { isTrue, type PodObject } from '../../packages/dev-cluster/objects.ts';
import { pods, statefulSets } from '../../packages/dev-cluster/resources.ts';
import type { PodReady } from '../../packages/dev-cluster/scenarios/narrator.ts';
import {
  type Scenario,
  type ScenarioParts,
  startScenario,
} from '../../packages/dev-cluster/scenarios/shop.ts';
import { systemClock } from '../../src/base/clock.ts';
import { services as serviceResource } from '../../src/kube/api/resources.ts';
import { until } from '../until.ts';
import { type DevBench, startBench } from './dev-parts.ts';

let bench: DevBench;
let lines: string[];
let readies: PodReady[];
beforeEach(async () => {
  lines = [];
  readies = [];
  bench = await startBench();
  await ensureDefinitions(
    bench.kube,
    await readManifests(join(import.meta.dirname, '../../deploy/crds')),
    systemClock,
    bench.signal,
  );
  await bench.startControllers();
  await bench.startKubelet();
});
afterEach(() => bench.stop());

/**
 * Client, routing and Pods are this one process: where it waits for the machine, an answer is late and not
 * lost.
 */
const load = { requestsPerSecond: 40, requestTimeoutMs: 30_000 };
const timeout = 180_000;
const services = ['one', 'two', 'three', 'four', 'five'];
const start = (routing: Routing, routingDelay: string, more: Partial<ScenarioParts> = {}): Scenario =>
  startScenario({
    ...bench.parts,
    routing,
    services,
    routingDelay,
    routingRemovalDelay: '0ms-50ms',
    drain: '150ms',
    rollOverEveryMs: 100,
    ...load,
    print: (line) => lines.push(line),
    onReady: (fact) => readies.push(fact),
    ...more,
  });
const played = async (scenario: Scenario, rollOvers: number) => {
  await scenario.started;
  await until(() => scenario.rollOvers() >= rollOvers, {
    what: `${rollOvers} rolling updates`,
    timeoutMs: 120_000,
  });
  await scenario.stop();
  return scenario.counts();
};

const atOnce = '0ms-50ms';

/**
 * From the first rolling update on, the routing learns of no new Pod: it is slower than that update, however
 * slow the machine.
 */
function slowOnceRolling(): Pick<ScenarioParts, 'kube'> {
  const { kube, namespace, signal } = bench;
  const annotations = { 'dev.orrery.dev/routing-delay': '10m' };
  const slow = (name: string) =>
    kube.patch(
      serviceResource,
      { namespace, name, type: 'merge', body: { metadata: { annotations } } },
      signal,
    );
  return {
    kube: {
      ...kube,
      async patch(resource, change, signal) {
        if (resource === statefulSets) await Promise.all(services.map(slow));
        return kube.patch(resource, change, signal);
      },
    },
  };
}

/** What Orrery does: opens the gate of a Pod when the routing of every Service leads to it. */
function openWhenProven(routing: Routing): void {
  const led = new Map<string, Set<string>>();
  routing.onEvent(async ({ type, service, address }) => {
    const of = led.get(address) ?? new Set();
    led.set(address, of);
    if (type === 'programmed') of.add(service);
    else of.delete(service);
    if (type !== 'programmed' || of.size < services.length) return;
    const pod = (await bench.pods()).find((candidate) => candidate.status?.podIP === address);
    if (pod !== undefined) await bench.openGate(pod.metadata.name);
  });
}

/** What a gate without a proof is worth. */
function openAtOnce(): void {
  bench.keep(
    startInformer<PodObject>({
      ...bench.parts,
      resource: pods,
      onChange({ type, object }) {
        const isNews = type === 'set' && isTrue(object, 'ContainersReady') && !isTrue(object, 'Ready');
        if (isNews) bench.openGate(object.metadata.name).catch(() => {});
      },
    }),
  );
}

test(
  'no request is lost while the gates open only for Pods that every route leads to',
  async () => {
    const routing = await bench.startRouting();
    openWhenProven(routing);
    const counts = await played(start(routing, '100ms-500ms', { drain: '1s' }), 2);
    expect(counts.lost).toBe(0);
    expect(counts.sent).toBeGreaterThan(100);
    expect(readies.length).toBeGreaterThanOrEqual(9);
    expect(readies.every((fact) => fact.routes === services.length)).toBe(true);
    expect(
      lines.filter((line) => /web-2 replaced; held back until 5 of 5 routes proven/.test(line)),
    ).toHaveLength(2);
  },
  timeout,
);

test(
  'requests are lost when the gates open at once and the routing is slower than the rolling update',
  async () => {
    const routing = await bench.startRouting();
    openAtOnce();
    const counts = await played(start(routing, atOnce, slowOnceRolling()), 1);
    expect(counts.lost).toBeGreaterThan(0);
    expect(Object.keys(counts.reasons)).toEqual(expect.arrayContaining(['ECONNREFUSED']));
    expect(lines.some((line) => /requests lost in the last second/.test(line))).toBe(true);
  },
  timeout,
);

test(
  'requests are lost without gates when the routing is slower than the rolling update',
  async () => {
    const routing = await bench.startRouting();
    const scenario = start(routing, atOnce, { ...slowOnceRolling(), isGated: false });
    expect((await played(scenario, 1)).lost).toBeGreaterThan(0);
  },
  timeout,
);
