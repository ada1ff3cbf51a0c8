/**
 * Pod readiness with real processes: how long from "the balancer reaches the Pod through its last Service" to
 * the Pod's condition True, how many HTTP calls that takes, and what it costs the replicas.
 *
 * Run: node bench/readiness.ts [--only roll|wide|groups|crowd] [--rolls 40] [--delay 200ms-2s] [--pods 1000]
 * [--replicas 3]
 * - roll: a group of 3 Pods × 20 Services whose Pods are replaced one by one, `--rolls` times, by
 *   `--replicas` replicas
 * - wide: 3 Pods × 200 Services, all new at once
 * - groups: `--pods` Pods in groups of 20, each with 20 Services of its own, all new at once
 * - crowd: `--pods` Pods × 20 Services as one group, all new at once
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type DevCluster, startDevCluster } from '../packages/dev-cluster/cluster.ts';
import { startInformer } from '../packages/dev-cluster/controllers/informer.ts';
import type { RoutingEvent } from '../packages/dev-cluster/network/routing.ts';
import { isTrue, type PodObject } from '../packages/dev-cluster/objects.ts';
import { untilReady } from '../packages/dev-cluster/processes/replicas.ts';
import { namespaces, pods } from '../packages/dev-cluster/resources.ts';
import { systemClock as clock, sleep } from '../src/base/clock.ts';
import type { KubeObject } from '../src/base/kube-port.ts';
import { silentLog as log } from '../src/base/log.ts';
import { systemRandom as random } from '../src/base/random.ts';
import type { Transition } from '../src/base/views.ts';
import { connectNats } from '../src/bus/nats/nats.ts';
import { subjects as subjectsOf } from '../src/bus/subjects.ts';
import { routeGates } from '../src/features/routes/resources.ts';
import { services } from '../src/kube/api/resources.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rolls: { type: 'string', default: '40' },
    delay: { type: 'string', default: '200ms-2s' },
    pods: { type: 'string', default: '1000' },
    replicas: { type: 'string', default: '3' },
  },
});
const namespace = 'bench';
const conditionType = 'example.com/routes';
const attempts = 3;
/** A scenario ends after this time, ms, with what it has measured by then. */
const scenarioMs = 170_000;
const { signal } = new AbortController();
const row = (what: string, value: string) => console.log(`${what.padEnd(64)} ${value}`);

function quantiles(times: readonly number[]): string {
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
}

interface Bench {
  readonly cluster: DevCluster;
  /** By address. */
  readonly seen: ReadonlyMap<string, Seen>;
  /** HTTP calls of all rounds that have ended. */
  calls(): number;
  /** Saved steps so far, by kind and event: the most frequent first. */
  steps(): string;
  stop(): Promise<void>;
}

async function setUp(replicas: number, serviceCount: number, delay: string, groups = 1): Promise<Bench> {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'));
  const basics = { clock, random, log };
  const http = { host: '127.0.0.1', port: 0 };
  const cluster = await startDevCluster(
    { ...basics, dir, replicas, http, restarts: false, print: () => {} },
    signal,
  );
  for (const replica of cluster.replicas) await untilReady(replica, clock, signal);
  const { kube } = cluster;
  await kube.create(namespaces, { metadata: { name: namespace } }, signal);
  await kube.create(routeGates, routeGate(), signal);
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
  const calls = await countCalls(cluster.natsUrl);
  return {
    cluster,
    seen,
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
  const known = seen.get(address) ?? { programmedAt: 0, programmed: 0, trueAt: null };
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
  if (address === undefined || !isTrue(pod, conditionType)) return;
  seenOf(seen, address).trueAt ??= clock.now();
}

interface Counter {
  count(): number;
  steps(): string;
  stop(): Promise<void>;
}

async function countCalls(natsUrl: string): Promise<Counter> {
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

const routeGate = (): KubeObject => ({
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'RouteGate',
  metadata: { name: 'gate', namespace },
  spec: {
    conditionType,
    podSelector: { matchLabels: { app: 'web' } },
    group: { podLabel: 'group', serviceLabel: 'group' },
    serviceSelector: { matchLabels: { routed: 'yes' } },
    probe: { portName: 'health', path: '/healthz', address: 'clusterIP', attemptsPerReplica: attempts },
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

const pod = (name: string, group = 'g0'): KubeObject => ({
  metadata: {
    name,
    namespace,
    labels: { app: 'web', group },
    annotations: { 'dev.orrery.dev/drain': '100ms', 'dev.orrery.dev/start-delay': '50ms' },
  },
  spec: {
    readinessGates: [{ conditionType }],
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'web', image: 'none', ports: [{ name: 'health', containerPort: 9002 }] }],
  },
});

async function until(isSo: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
  const deadline = clock.monotonic() + withinMs;
  while (clock.monotonic() < deadline) {
    if (await isSo()) return true;
    await sleep(clock, 20);
  }
  return false;
}

const isReady = ({ seen, cluster }: Bench, name: string) => {
  const address = cluster.kubelet.running().get(`${namespace}/${name}`);
  return address !== undefined && seen.get(address)?.trueAt !== null && seen.get(address) !== undefined;
};

/** Time from the last programmed route to the condition True, and how many Pods were marked before that. */
function detection(seen: Iterable<Seen>, serviceCount: number): { times: number[]; early: number } {
  const times: number[] = [];
  let early = 0;
  for (const { programmed, programmedAt, trueAt } of seen) {
    if (trueAt === null) continue;
    if (programmed < serviceCount || trueAt < programmedAt) early += 1;
    else times.push(trueAt - programmedAt);
  }
  return { times, early };
}

async function costs({ cluster }: Bench): Promise<string> {
  const told = await Promise.all(
    cluster.replicas.map(async ({ url }) => {
      const text = await (await fetch(`${url}/metrics`)).text();
      const value = (name: string) =>
        Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1] ?? Number.NaN);
      const megabytes = (name: string) => Math.round(value(name) / 1e6);
      const cpu = value('process_cpu_seconds_total').toFixed(1);
      return `${cpu} s CPU, ${megabytes('process_resident_memory_bytes')} MB resident, ${megabytes('nodejs_heap_size_used_bytes')} MB heap`;
    }),
  );
  return told.join('; ');
}

async function roll(): Promise<void> {
  const serviceCount = 20;
  const bench = await setUp(Number(values.replicas), serviceCount, values.delay);
  const { kube } = bench.cluster;
  const names = ['web-0', 'web-1', 'web-2'];
  for (const name of names) await kube.create(pods, pod(name), signal);
  await until(() => names.every((name) => isReady(bench, name)), 60_000);
  const before = new Set(bench.seen.keys());
  const callsBefore = bench.calls();
  const started = clock.monotonic();
  let rolls = 0;
  while (rolls < Number(values.rolls) && clock.monotonic() - started < scenarioMs) {
    const name = names[rolls % 3] ?? '';
    await kube.delete(pods, namespace, name, {}, signal);
    await until(() => !bench.cluster.kubelet.running().has(`${namespace}/${name}`), 10_000);
    await kube.create(pods, pod(name), signal);
    if (!(await until(() => isReady(bench, name), 60_000))) row('not ready within 60 s', name);
    rolls += 1;
  }
  const seconds = (clock.monotonic() - started) / 1000;
  const { times, early } = detection(
    [...bench.seen].flatMap(([ip, one]) => (before.has(ip) ? [] : [one])),
    serviceCount,
  );
  const calls = bench.calls() - callsBefore;
  row(`roll: 3 Pods × ${serviceCount} Services, delay ${values.delay}: last route → True`, quantiles(times));
  row('  marked before the last route was programmed', String(early));
  row(
    '  HTTP calls for each roll; in a second',
    `${Math.round(calls / rolls)}; ${Math.round(calls / seconds)}`,
  );
  row('  replicas', await costs(bench));
  await bench.stop();
}

/** All Pods are new at once. */
async function allAtOnce(
  title: string,
  podCount: number,
  serviceCount: number,
  delay: string,
  groups = 1,
): Promise<void> {
  const bench = await setUp(Number(values.replicas), serviceCount, delay, groups);
  const { kube } = bench.cluster;
  row('  replicas, before', await costs(bench));
  const started = clock.monotonic();
  let next = 0;
  const maker = async () => {
    for (let n = next++; n < podCount; n = next++)
      await kube.create(pods, pod(`web-${n}`, `g${n % groups}`), signal);
  };
  await Promise.all(Array.from({ length: 16 }, maker));
  const marked = () => [...bench.seen.values()].filter(({ trueAt }) => trueAt !== null).length;
  const isDone = await until(() => marked() >= podCount, scenarioMs);
  const all = [...bench.seen.values()];
  const { times, early } = detection(all, serviceCount);
  const lastRoute = Math.max(...all.map(({ programmedAt }) => programmedAt));
  const lastTrue = Math.max(...all.map(({ trueAt }) => trueAt ?? 0));
  const bound = 2 * attempts * podCount * serviceCount;
  const grouped = groups === 1 ? '' : ` in ${groups} groups`;
  row(
    `${title}: ${podCount} Pods × ${serviceCount} Services${grouped}: last route of a Pod → True`,
    quantiles(times),
  );
  row(
    '  Pods that are ready; from the first Pod made',
    `${marked()}; ${Math.round(clock.monotonic() - started)} ms`,
  );
  row(
    '  from the last route of all to the last Pod ready',
    isDone ? `${lastTrue - lastRoute} ms` : 'not all are',
  );
  row('  marked before the last route was programmed', String(early));
  // Whatever is in progress ends within a round trip or two.
  await sleep(clock, 500);
  row('  HTTP calls; 2 × attempts × replicas × Services', `${bench.calls()}; ${bound}`);
  row('  saved steps', bench.steps());
  row('  replicas', await costs(bench));
  await bench.stop();
}

const scenarios: Readonly<Record<string, () => Promise<void>>> = {
  roll,
  wide: () => allAtOnce('wide', 3, 200, '0ms-200ms'),
  groups: () =>
    allAtOnce('groups', Number(values.pods), 20, '0ms-200ms', Math.ceil(Number(values.pods) / 20)),
  crowd: () => allAtOnce('crowd', Number(values.pods), 20, '0ms-200ms'),
};
for (const [name, measure] of Object.entries(scenarios)) {
  if (values.only === undefined || values.only === name) await measure();
}
