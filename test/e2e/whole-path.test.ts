/**
 * The whole path with real processes: a nats-server, an API server, three replicas, Pods as real HTTP servers
 * behind a routing that learns of them late, and a client that must lose no request.
 *
 * With KUBECONFIG set the same runs against that API server, whose cluster IPs must be loopback addresses
 * (--service-cluster-ip-range=127.96.0.0/16).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DevCluster, startDevCluster } from '../../packages/dev-cluster/cluster.ts';
import { untilReady } from '../../packages/dev-cluster/processes/replicas.ts';
import { namespaces } from '../../packages/dev-cluster/resources.ts';
import { type Scenario, startScenario } from '../../packages/dev-cluster/scenarios/shop.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { ShardsView } from '../../src/base/views.ts';
import { routeGates } from '../../src/features/routes/resources.ts';
import { program } from '../suite/program.ts';
import { until } from '../until.ts';
import { replayOwnFeed } from './own-feed.ts';
import { gaps, markings, questionsAskedTwice, readStory } from './story.ts';

const basics = { clock: systemClock, random: systemRandom, log: silentLog };
const kubeconfig = process.env.KUBECONFIG;
const undos: Array<() => Promise<unknown>> = [];

interface Stage {
  readonly cluster: DevCluster;
  readonly scenario: Scenario;
  readonly lines: string[];
  readonly namespace: string;
}

/** One for all: each test asks what must be so whatever the others did before. */
let stage: Stage;
beforeAll(async () => {
  stage = await play();
}, 120_000);
afterAll(async () => {
  for (let undo = undos.pop(); undo; undo = undos.pop()) await undo();
});

async function play(): Promise<Stage> {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-e2e-'));
  undos.push(async () => rmSync(dir, { recursive: true, force: true }));
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line);
  const { signal } = new AbortController();
  const cluster = await startDevCluster(
    {
      ...basics,
      dir,
      replicas: 3,
      program,
      http: { host: '127.0.0.1', port: 0 },
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
      restarts: false,
      print,
    },
    signal,
  );
  undos.push(() => cluster.stop());
  const namespace = `shop-${systemRandom
    .id()
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')}`;
  undos.push(() => cluster.kube.delete(namespaces, undefined, namespace, {}, signal).catch(() => {}));
  const options = { ...basics, kube: cluster.kube, routing: cluster.routing, print, namespace };
  const scenario = startScenario({
    ...options,
    rollOverEveryMs: 3_000,
    requestsPerSecond: 25,
    routingDelay: '200ms-800ms',
    drain: '1s',
    // Client, routing and Pods are this one process: where it waits for the machine, an answer is late and
    // not lost.
    requestTimeoutMs: 30_000,
  });
  undos.push(() => scenario.stop());
  const opened = { cluster, scenario, lines, namespace };
  await isRollingOver(opened);
  return opened;
}

/** Until a rolling update has begun and is not done. */
async function isRollingOver({ scenario, lines }: Stage): Promise<void> {
  const begun = () => lines.filter((line) => /^rolling update \d+ begins/.test(line)).length;
  await until(() => begun() > scenario.rollOvers(), {
    what: `a rolling update to begin; so far:\n${lines.join('\n')}`,
    timeoutMs: 60_000,
  });
}

async function rolledOver({ scenario, lines }: Stage, times: number): Promise<void> {
  await until(() => scenario.rollOvers() >= times, {
    what: `rolling update ${times} to be done`,
    timeoutMs: 90_000,
  }).catch((error) => {
    throw new Error(`${error.message}; the story so far:\n${lines.join('\n')}`);
  });
}

/** Lost requests that a test has been told of: whoever is tried once more is not blamed for them again. */
let lostBefore = 0;

/** Told with the reasons, and the story so far. */
function losesNothing({ scenario, lines }: Stage): void {
  const { lost, reasons } = scenario.counts();
  const lostSince = lost - lostBefore;
  lostBefore = lost;
  expect(lostSince, `${JSON.stringify(reasons)}\n${lines.join('\n')}`).toBe(0);
}

/** Every step since the first one, and nothing is left out. */
const allComesOutAsRecorded = {
  code: 0,
  text: expect.stringMatching(/^\d{3,} transitions of \d+ actors come out as recorded\n$/),
};

interface GateStatusSeen {
  readonly pods: number;
  readonly ready: number;
  readonly conditions: readonly object[];
}

/** The RouteGate's status once it tells of ready Pods. */
async function gateStatusOf({ cluster, namespace }: Stage): Promise<GateStatusSeen | null> {
  const gate = await cluster.kube.get(routeGates, namespace, 'shop', new AbortController().signal);
  const status = gate.status as GateStatusSeen | undefined;
  return status !== undefined && status.ready >= 2 ? status : null;
}

test('a rolling update loses no request: every new Pod is held back until traffic reaches it', {
  timeout: 180_000,
}, async () => {
  await rolledOver(stage, 2);
  losesNothing(stage);
  expect(stage.scenario.counts().answered).toBeGreaterThan(100);
  const story = await readStory(stage.cluster.natsUrl);
  const marked = markings(story);
  expect(marked.length).toBeGreaterThanOrEqual(9);
  for (const { pod, wanted, proven } of marked)
    expect([pod, [...proven].sort()]).toEqual([pod, [...wanted].sort()]);
  expect(new Set(marked.map(({ wanted }) => wanted.length))).toEqual(new Set([5]));
  expect(gaps(story)).toEqual([]);
  expect(questionsAskedTwice(story)).toEqual([]);
  const status = await until(() => gateStatusOf(stage), {
    what: 'the status of the RouteGate to tell of ready Pods',
  });
  expect(status.conditions).toMatchObject([
    { type: 'Valid', status: 'True' },
    { type: 'Verifying', status: 'True' },
  ]);
  expect(await replayOwnFeed(stage.cluster.natsUrl)).toEqual(allComesOutAsRecorded);
});

test('each replica is killed in the middle of a rolling update: it completes, nothing is Ready early, no proof is asked for twice', {
  timeout: 240_000,
}, async () => {
  const { cluster, scenario } = stage;
  for (const [index, killed] of cluster.replicas.entries()) {
    await isRollingOver(stage);
    const before = scenario.rollOvers();
    await cluster.kill(index, 'SIGKILL');
    await rolledOver(stage, before + 1);
    const survivor = cluster.replicas[(index + 1) % 3];
    const answer = await fetch(`${survivor?.url}/api/v1/shards`);
    const { shards } = (await answer.json()) as ShardsView;
    expect(shards.filter(({ owner }) => owner === killed.name || owner === null)).toEqual([]);
    killed.start();
    expect(await untilReady(killed, systemClock, new AbortController().signal)).toBe(true);
  }
  // The last one that was started takes its part while one more goes through.
  await rolledOver(stage, scenario.rollOvers() + 1);
  losesNothing(stage);
  const story = await readStory(cluster.natsUrl);
  for (const { pod, wanted, proven } of markings(story))
    expect([pod, [...proven].sort()]).toEqual([pod, [...wanted].sort()]);
  expect(gaps(story)).toEqual([]);
  expect(questionsAskedTwice(story)).toEqual([]);
  expect(await replayOwnFeed(cluster.natsUrl)).toEqual(allComesOutAsRecorded);
});
