/**
 * The stage of the benchmark of Pod readiness: a development cluster with replicas of their own processes, a
 * RouteGate with its Services, and what is seen of each Pod.
 */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type DevCluster, startDevCluster } from '../packages/dev-cluster/cluster.ts';
import { startInformer } from '../packages/dev-cluster/controllers/informer.ts';
import type { RoutingEvent } from '../packages/dev-cluster/network/routing.ts';
import { isTrue, type PodObject } from '../packages/dev-cluster/objects.ts';
import { untilReady } from '../packages/dev-cluster/processes/replicas.ts';
import { namespaces, pods } from '../packages/dev-cluster/resources.ts';
import { choice, readFlags, text, whole } from '../scripts/flags.ts';
import { systemClock as clock, sleep } from '../src/base/clock.ts';
import type { KubeObject } from '../src/base/kube-port.ts';
import { silentLog as log } from '../src/base/log.ts';
import { systemRandom as random } from '../src/base/random.ts';
import type { Transition } from '../src/base/views.ts';
import { connectNats } from '../src/bus/nats/nats.ts';
import { subjects as subjectsOf } from '../src/bus/subjects.ts';
import { routeGates } from '../src/features/routes/resources.ts';
import { services } from '../src/kube/api/resources.ts';
import { cpuSeconds, processCosts } from './process-costs.ts';

export const values = readFlags(
  'node bench/readiness.ts',
  'How soon a Pod that waits for its routes is marked as reached, and at what cost.',
  {
    only: choice('one part', ['roll', 'wide', 'groups', 'crowd', 'killed', 'lost', 'plain']),
    rolls: whole('rolling updates of `roll`', 40),
    delay: text('of the routing in `roll`: at least and at most', '200ms-2s'),
    pods: whole('Pods of `groups` and `crowd`', 1_000),
    replicas: whole('replicas of Orrery', 3),
    program: text('what they run, such as dist/main.js (the sources)'),
    'node-options': text('options of Node for them only, as in deploy/base/orrery.yaml'),
  },
);
export const namespace = 'bench';
const conditionType = 'example.com/routes';
export const attempts = 3;
export const { signal } = new AbortController();
export const row = (what: string, value: string) => console.log(`${what.padEnd(64)} ${value}`);

export function quantiles(times: readonly number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (q: number) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms (${sorted.length})`;
}

/** What is seen of one Pod; wall times in ms. */
interface Seen {
  /** When the routing last learned of it, and for how many Services. */
  programmedAt: number;
  programmed: number;
  /** When its condition was seen to be True; null: not yet. */
  trueAt: number | null;
  /** When the condition was seen not to be True any more; null: not yet. */
  lostAt: number | null;
}

function replicaOptions() {
  const { program, 'node-options': nodeOptions } = values;
  return {
    ...(program === undefined ? {} : { program: resolve(program) }),
    ...(nodeOptions === undefined ? {} : { replicaEnv: { NODE_OPTIONS: nodeOptions } }),
  };
}

export interface Bench {
  readonly cluster: DevCluster;
  /** By address. */
  readonly seen: ReadonlyMap<string, Seen>;
  /** The replicas, or what runs in their place. */
  pids(): readonly number[];
  /** HTTP calls of all rounds that have ended. */
  calls(): number;
  /** Saved steps so far, by kind and event: the most frequent first. */
  steps(): string;
  stop(): Promise<void>;
}

interface Stage {
  /** Of each group. */
  readonly services: number;
  readonly groups?: number;
  /** How late the routing learns. */
  readonly delay: string;
  readonly whenRouteIsLost?: 'keep' | 'withdraw';
  /** Pods neither stop nor fail: the routing answers in their place, which costs a third of the sockets. */
  readonly isSteady?: boolean;
  /** A plain program instead of replicas (plain-prober.ts). */
  readonly isPlain?: boolean;
}

/** What the backend of a Pod answers (packages/dev-cluster/nodes/backend.ts), without a server of its own. */
function answerFor(ip: string) {
  const head = ['HTTP/1.1 200 OK', `Pod-IPv4: ${ip}`, 'Content-Length: 3', 'Connection: close'];
  return (client: Socket) => {
    client.on('data', () => client.end(`${head.join('\r\n')}\r\n\r\nok\n`));
    client.on('error', () => {});
  };
}

export async function setUp(stage: Stage): Promise<Bench> {
  const { services: serviceCount, groups = 1, delay, isSteady = false, isPlain = false, ...gate } = stage;
  const replicas = isPlain ? 0 : values.replicas;
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'));
  const basics = { clock, random, log };
  const http = { host: '127.0.0.1', port: 0 };
  const cluster = await startDevCluster(
    {
      ...{ ...basics, dir, replicas, http, restarts: false, print: () => {}, ...replicaOptions() },
      ...(isSteady ? { answerFor } : {}),
    },
    signal,
  );
  for (const replica of cluster.replicas) await untilReady(replica, clock, signal);
  const { kube } = cluster;
  await kube.create(namespaces, { metadata: { name: namespace } }, signal);
  await kube.create(routeGates, routeGate(gate), signal);
  for (let n = 0; n < serviceCount * groups; n++)
    await kube.create(services, service(`svc-${n}`, `g${n % groups}`, delay), signal);
  const seen = new Map<string, Seen>();
  const listening = cluster.routing.onEvent((event) => noteRoute(seen, event));
  const informer = startInformer<PodObject>({
    ...basics,
    kube,
    resource: pods,
    onChange: ({ type, object }) => type === 'set' && noteCondition(seen, object),
  });
  const calls = isPlain ? startPlain(cluster.kubeconfig) : await countCalls(cluster);
  return {
    cluster,
    seen,
    pids: calls.pids,
    calls: calls.count,
    steps: calls.steps,
    async stop() {
      listening();
      await informer.stop();
      await calls.stop();
      await cluster.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function seenOf(seen: Map<string, Seen>, address: string): Seen {
  const known = seen.get(address) ?? { programmedAt: 0, programmed: 0, trueAt: null, lostAt: null };
  seen.set(address, known);
  return known;
}

function noteRoute(seen: Map<string, Seen>, { type, address, at }: RoutingEvent): void {
  if (type !== 'programmed') return;
  const one = seenOf(seen, address);
  one.programmed += 1;
  one.programmedAt = at;
}

function noteCondition(seen: Map<string, Seen>, pod: PodObject): void {
  const address = pod.status?.podIP;
  if (address === undefined) return;
  const one = seenOf(seen, address);
  if (isTrue(pod, conditionType)) one.trueAt ??= clock.now();
  else if (one.trueAt !== null) one.lostAt ??= clock.now();
}

interface Counter {
  pids(): readonly number[];
  count(): number;
  steps(): string;
  stop(): Promise<void>;
}

function startPlain(kubeconfig: string): Counter {
  const prober = fork(resolve(import.meta.dirname, 'plain-prober.ts'), [kubeconfig, conditionType]);
  let made = 0;
  prober.on('message', ({ calls }: { readonly calls: number }) => {
    made = calls;
  });
  return {
    pids: () => [prober.pid ?? []].flat(),
    count: () => made,
    steps: () => 'none',
    async stop() {
      prober.kill();
    },
  };
}

async function countCalls({ natsUrl, replicas }: DevCluster): Promise<Counter> {
  const bus = await connectNats({ servers: [natsUrl], name: 'bench', cluster: 'dev', clock, random });
  const text = new TextDecoder();
  let calls = 0;
  const steps = new Map<string, number>();
  const following = await bus.follow('event', {
    subjects: [subjectsOf('dev').eventAll],
    from: { kind: 'sequence', sequence: 1 },
    onMessage: ({ data }) => {
      const { id, event } = JSON.parse(text.decode(data)) as Transition;
      const step = `${id.slice(0, id.indexOf('/'))} ${event.type}`;
      steps.set(step, (steps.get(step) ?? 0) + 1);
      if (event.type === 'sample.finished') calls += Number(event.calls);
    },
  });
  return {
    pids: () => replicas.flatMap((replica) => replica.pid() ?? []),
    count: () => calls,
    steps: () => {
      const most = [...steps].sort(([, a], [, b]) => b - a).slice(0, 12);
      const all = [...steps.values()].reduce((sum, count) => sum + count, 0);
      return `${all}: ${most.map(([step, count]) => `${step} ${count}`).join(', ')}`;
    },
    async stop() {
      await following.stop();
      await bus.close();
    },
  };
}

const routeGate = (more: Pick<Stage, 'whenRouteIsLost'>): KubeObject => ({
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'RouteGate',
  metadata: { name: 'gate', namespace },
  spec: {
    conditionType,
    podSelector: { matchLabels: { app: 'web' } },
    group: { podLabel: 'group', serviceLabel: 'group' },
    serviceSelector: { matchLabels: { routed: 'yes' } },
    probe: { portName: 'health', path: '/healthz', address: 'clusterIP', attemptsPerReplica: attempts },
    ...more,
  },
});

const service = (name: string, group: string, delay: string): KubeObject => ({
  metadata: {
    name,
    namespace,
    labels: { group, routed: 'yes' },
    annotations: { 'dev.orrery.dev/publish': 'containers-ready', 'dev.orrery.dev/routing-delay': delay },
  },
  spec: { selector: { app: 'web', group }, ports: [{ name: 'health', port: 9002, targetPort: 'health' }] },
});

export const pod = (name: string, group = 'g0', more: Record<string, string> = {}): KubeObject => ({
  metadata: {
    name,
    namespace,
    labels: { app: 'web', group },
    annotations: { 'dev.orrery.dev/drain': '100ms', 'dev.orrery.dev/start-delay': '50ms', ...more },
  },
  spec: {
    readinessGates: [{ conditionType }],
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'web', image: 'none', ports: [{ name: 'health', containerPort: 9002 }] }],
  },
});

export async function until(isSo: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
  const deadline = clock.monotonic() + withinMs;
  while (clock.monotonic() < deadline) {
    if (await isSo()) return true;
    await sleep(clock, 20);
  }
  return false;
}

export const isReady = ({ seen, cluster }: Bench, name: string) => {
  const address = cluster.kubelet.running().get(`${namespace}/${name}`);
  return address !== undefined && seen.get(address)?.trueAt !== null && seen.get(address) !== undefined;
};

/** Time from the last programmed route to the condition True, and how many Pods were marked before that. */
export function detection(seen: Iterable<Seen>, serviceCount: number): { times: number[]; early: number } {
  const times: number[] = [];
  let early = 0;
  for (const { programmed, programmedAt, trueAt } of seen) {
    if (trueAt === null) continue;
    if (programmed < serviceCount || trueAt < programmedAt) early += 1;
    else times.push(trueAt - programmedAt);
  }
  return { times, early };
}

/** Of all processes since their start; the heap of a replica as it says itself. */
export async function costs(bench: Bench): Promise<void> {
  const { cluster, calls } = bench;
  const pids = bench.pids();
  for (const pid of pids) row('  a replica', processCosts(pid));
  const cpu = pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
  const each = (cpu * 1000) / Math.max(1, calls());
  row('  the replicas together; for each call', `${cpu.toFixed(1)} s CPU; ${each.toFixed(2)} ms`);
  row('  nats-server', processCosts(cluster.nats.pid));
  row('  this process: API server, routing, Pods', processCosts(process.pid));
}
