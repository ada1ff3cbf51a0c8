/**
 * Replicas as real processes: how long a start takes, how long actors have no owner when theirs is killed or
 * ends in good order, whether pauses of a second move shards, and how many messages pass through `send` →
 * step → event.
 *
 * Run: node bench/cluster.ts [--runs 10] [--pods 300] [--only start] [--program dist/main.js]
 *      node bench/cluster.ts --only pauses --minutes 60
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureAll, readManifests } from '../packages/dev-cluster/manifests.ts';
import { startNatsServer } from '../packages/dev-cluster/processes/nats-server.ts';
import { createReplicas, type DevReplica, untilReady } from '../packages/dev-cluster/processes/replicas.ts';
import { namespaces, pods } from '../packages/dev-cluster/resources.ts';
import { shopNamespace, shopRouteGate } from '../packages/dev-cluster/scenarios/scenario-objects.ts';
import { startKubeApi } from '../packages/kube-api/server.ts';
import { choice, number, readFlags, text, whole } from '../scripts/flags.ts';
import { systemClock as clock, sleep } from '../src/base/clock.ts';
import { type ActorId, actorId } from '../src/base/ids.ts';
import { silentLog as log } from '../src/base/log.ts';
import { systemRandom as random } from '../src/base/random.ts';
import type { ListAnswer, Transition } from '../src/base/views.ts';
import type { Bus } from '../src/bus/bus.ts';
import { encode } from '../src/bus/codec.ts';
import { connectNats } from '../src/bus/nats/nats.ts';
import { subjects as subjectsOf } from '../src/bus/subjects.ts';
import { routeGates } from '../src/features/routes/resources.ts';
import { connectKube, type KubeConnection } from '../src/kube/api/kube-connection.ts';
import { processCosts } from './process-costs.ts';

const values = readFlags(
  'node bench/cluster.ts',
  'Replicas as real processes: start, death, pauses, messages.',
  {
    runs: whole('repetitions', 10),
    pods: whole('Pods in the cluster', 300),
    only: choice('one part', ['start', 'crash', 'graceful', 'pauses', 'throughput']),
    minutes: number('how long replicas are paused in turn, under load', 2),
    program: text('what the replicas run, such as dist/main.js (the sources)'),
  },
);
const runs = values.runs;
const podCount = values.pods;
const basics = { clock, random, log };
const { signal } = new AbortController();
const subjects = subjectsOf('dev');
const row = (what: string, value: string) => console.log(`${what.padEnd(72)} ${value}`);

function quantiles(times: readonly number[], unit = 'ms'): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (q: number) =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0);
  return `p50 ${at(0.5)} ${unit}, p99 ${at(0.99)} ${unit}, max ${at(1)} ${unit} (${sorted.length})`;
}

interface Bench {
  readonly bus: Bus;
  readonly kube: KubeConnection;
  readonly replicas: readonly DevReplica[];
  readonly ids: readonly ActorId[];
  stop(): Promise<void>;
}

/**
 * NATS, the development API, `count` replicas, and Pods whose gate opens at once, because their group has no
 * Service.
 */
async function setUp(count: number): Promise<Bench> {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'));
  const nats = await startNatsServer({ dir: join(dir, 'nats'), clock });
  const api = await startKubeApi({ clock, random, log });
  const kubeconfig = join(dir, 'kubeconfig');
  writeFileSync(kubeconfig, api.kubeconfig(), { mode: 0o600 });
  const kube = connectKube({ kubeconfig, ...basics });
  await ensureAll(kube, await readManifests(join(import.meta.dirname, '../deploy/crds')), signal);
  const replicas = await createReplicas({
    count,
    program: values.program,
    http: { host: '127.0.0.1', port: 0 },
    dir,
    natsUrl: nats.url,
    kubeconfig,
    cluster: 'dev',
    flags: [],
    env: {},
    restarts: false,
    clock,
    print: () => {},
  });
  for (const replica of replicas) replica.start();
  for (const replica of replicas) await untilReady(replica, clock, signal);
  const bus = await connectNats({ servers: [nats.url], name: 'bench', cluster: 'dev', clock, random });
  const ids = await gatedPods(kube);
  await untilState(bus, ids.length);
  return {
    bus,
    kube,
    replicas,
    ids,
    async stop() {
      await Promise.all(replicas.map((replica) => replica.stop()));
      await bus.close();
      kube.close();
      await api.stop();
      await nats.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function gatedPods(kube: KubeConnection): Promise<ActorId[]> {
  const shop = { namespace: 'bench' } as Parameters<typeof shopRouteGate>[0];
  await kube.create(namespaces, shopNamespace(shop), signal);
  const gate = await kube.create(routeGates, shopRouteGate(shop), signal);
  const { podSelector, group, conditionType } = gate.spec as {
    podSelector: { matchLabels: Record<string, string> };
    group: { podLabel: string };
    conditionType: string;
  };
  const ids: ActorId[] = [];
  for (let n = 0; n < podCount; n++) {
    const name = `web-${n}`;
    const labels = { ...podSelector.matchLabels, [group.podLabel]: 'one' };
    const spec = { containers: [{ name: 'web', image: 'none' }], readinessGates: [{ conditionType }] };
    await kube.create(pods, { metadata: { name, namespace: 'bench', labels }, spec } as never, signal);
    const status = { podIP: `10.9.${n >> 8}.${n & 255}`, podIPs: [{ ip: `10.9.${n >> 8}.${n & 255}` }] };
    const patch = {
      namespace: 'bench',
      name,
      subresource: 'status',
      type: 'merge',
      body: { status },
    } as const;
    await kube.patch(pods, patch, signal);
    ids.push(actorId('pod', 'bench', name));
  }
  return ids;
}

/** The Pods: their RouteGate is an actor, too, and takes no `pod.recheck`. */
async function list(bus: Bus): Promise<ListAnswer> {
  const answer = await bus.request(subjects.rpcList, encode({ kind: 'pod' }), { timeoutMs: 5_000 });
  return JSON.parse(new TextDecoder().decode(answer.data)) as ListAnswer;
}

async function untilState(bus: Bus, count: number): Promise<void> {
  for (;;) {
    const { actors } = await list(bus);
    if (actors.filter(({ state }) => state.startsWith('gated.ready')).length >= count) return;
    await sleep(clock, 50);
  }
}

/** Monotonic times of the first step after `since` of each actor, according to the feed. */
async function firstSteps(bus: Bus, ids: ReadonlySet<string>, act: () => Promise<number>): Promise<number[]> {
  const seen = new Map<string, number>();
  let since = Number.POSITIVE_INFINITY;
  const { promise, resolve } = Promise.withResolvers<void>();
  const text = new TextDecoder();
  const following = await bus.follow('event', {
    subjects: [subjects.eventAll],
    from: { kind: 'new' },
    onMessage: ({ data }) => {
      const { id, event } = JSON.parse(text.decode(data)) as Transition;
      const now = clock.monotonic();
      if (event.type !== 'pod.recheck' || !ids.has(id) || seen.has(id) || now < since) return;
      seen.set(id, now);
      if (seen.size === ids.size) resolve();
    },
  });
  since = await act();
  await promise;
  await following.stop();
  return [...seen.values()].map((at) => at - since);
}

const recheck = (bus: Bus, id: ActorId) => bus.append(subjects.send(id), encode({ type: 'pod.recheck' }));

async function measureStarts(): Promise<void> {
  const bench = await setUp(3);
  const times: number[] = [];
  const last = bench.replicas[2];
  if (!last) return;
  for (let n = 0; n < runs; n++) {
    await last.kill('SIGTERM');
    const started = clock.monotonic();
    last.start();
    while (!(await isReady(last))) await sleep(clock, 10);
    times.push(clock.monotonic() - started);
  }
  row('start of a process until /readyz answers 200', quantiles(times));
  row('  its last start', processCosts(last.pid()));
  await bench.stop();
}

async function isReady(replica: DevReplica): Promise<boolean> {
  try {
    return (await fetch(`${replica.url}/readyz`)).status === 200;
  } catch {
    return false;
  }
}

/** Shards are spread only after the newcomers have lived for a while. */
async function untilSpread(bench: Bench): Promise<void> {
  for (;;) {
    const owners = new Map<string, number>();
    for (const { owner } of (await list(bench.bus)).actors) owners.set(owner, (owners.get(owner) ?? 0) + 1);
    if (owners.size === bench.replicas.length && Math.min(...owners.values()) > podCount / 10) return;
    await sleep(clock, 200);
  }
}

async function measureCrashes(): Promise<void> {
  const last: number[] = [];
  const all: number[] = [];
  const bench = await setUp(3);
  for (let n = 0; n < runs; n++) {
    await untilSpread(bench);
    const index = n % 3;
    const victim = bench.replicas[index];
    if (!victim) continue;
    const { actors } = await list(bench.bus);
    const ids = new Set(actors.filter(({ owner }) => owner === `orrery-${index}`).map(({ id }) => id));
    const times = await firstSteps(bench.bus, ids, async () => {
      await victim.kill('SIGKILL');
      const since = clock.monotonic();
      await Promise.all([...ids].map((id) => recheck(bench.bus, id)));
      return since;
    });
    all.push(...times);
    last.push(Math.max(...times));
    victim.start();
    await untilReady(victim, clock, signal);
  }
  row('SIGKILL of an owner → first step of each of its actors elsewhere', quantiles(all));
  row('the same, the last actor of each run', quantiles(last));
  await bench.stop();
}

async function measureGraceful(): Promise<void> {
  const gaps: number[] = [];
  const latencies: number[] = [];
  const bench = await setUp(3);
  for (let n = 0; n < runs; n++) {
    await untilSpread(bench);
    const replica = bench.replicas[n % 3];
    if (!replica) continue;
    latencies.push(...(await latenciesWhile(bench, () => replica.kill('SIGTERM'))));
    replica.start();
    await untilReady(replica, clock, signal);
  }
  gaps.push(...(await fenceGaps(bench.bus)));
  row('SIGTERM: a shard without an owner (release → claim, by the stream)', quantiles(gaps));
  row('message → event while the owner ends in good order', quantiles(latencies));
  await bench.stop();
}

/**
 * Sends a message every few milliseconds to one actor after another while `act` runs, and measures the time
 * until its transition is told.
 */
async function latenciesWhile(
  { bus, ids }: Bench,
  act: () => Promise<unknown>,
  everyMs = 2,
): Promise<number[]> {
  const sent = new Map<string, number>();
  const times: number[] = [];
  const text = new TextDecoder();
  const following = await bus.follow('event', {
    subjects: [subjects.eventAll],
    from: { kind: 'new' },
    onMessage: ({ data }) => {
      const { id, event } = JSON.parse(text.decode(data)) as Transition;
      const at = event.type === 'pod.recheck' ? sent.get(id) : undefined;
      if (at === undefined) return;
      sent.delete(id);
      times.push(clock.monotonic() - at);
    },
  });
  let isOver = false;
  const acting = act().then(() => {
    isOver = true;
  });
  for (let n = 0; !isOver; n++) {
    const id = ids[n % ids.length];
    if (id !== undefined && !sent.has(id)) {
      sent.set(id, clock.monotonic());
      void recheck(bus, id);
    }
    await sleep(clock, everyMs);
  }
  await acting;
  while (sent.size > 0) await sleep(clock, 5);
  await following.stop();
  return times;
}

/** Each four seconds one replica is stopped for a second, while 200 messages a second are sent. */
async function measurePauses(): Promise<void> {
  const bench = await setUp(3);
  await untilSpread(bench);
  const claims: string[] = [];
  const following = await bench.bus.follow('state', {
    subjects: [subjects.fenceAll],
    from: { kind: 'new' },
    onMessage: ({ subject }) => void claims.push(subject),
  });
  // Shards still move by plan to the replicas that came last.
  for (let seen = -1; claims.length > seen; await sleep(clock, 6_000)) seen = claims.length;
  claims.length = 0;
  const end = clock.monotonic() + values.minutes * 60_000;
  let pauses = 0;
  const latencies = await latenciesWhile(
    bench,
    async () => {
      while (clock.monotonic() < end) {
        const pid = bench.replicas[pauses++ % 3]?.pid();
        if (pid === undefined) throw new Error('a replica has ended');
        process.kill(pid, 'SIGSTOP');
        await sleep(clock, 1_000);
        process.kill(pid, 'SIGCONT');
        await sleep(clock, 2_000 + random.next() * 2_000);
      }
    },
    5,
  );
  row(`shards moved by ${pauses} pauses of a second`, `${claims.length}`);
  row('  message → event meanwhile', quantiles(latencies));
  await following.stop();
  await bench.stop();
}

async function fenceGaps(bus: Bus): Promise<number[]> {
  // Only the last fence of each shard is kept, so the message itself shows the gap: it says when its owner
  // saw the release.
  const gaps: number[] = [];
  const text = new TextDecoder();
  const following = await bus.follow('state', {
    subjects: [subjects.fenceAll],
    from: { kind: 'lastPerSubject' },
    onMessage: ({ data }) => {
      const { releasedAt, at } = JSON.parse(text.decode(data)) as { releasedAt?: number; at: number };
      if (releasedAt !== undefined && releasedAt !== null) gaps.push(at - releasedAt);
    },
  });
  await following.caughtUp;
  await following.stop();
  return gaps;
}

async function measureThroughput(): Promise<void> {
  for (const count of [1, 2, 3]) {
    const bench = await setUp(count);
    if (count > 1) await untilSpread(bench);
    const messages = 12_000;
    let told = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const following = await bench.bus.follow('event', {
      subjects: [subjects.eventAll],
      from: { kind: 'new' },
      onMessage: ({ data }) => {
        if (Buffer.from(data).includes('"pod.recheck"') && ++told === messages) resolve();
      },
    });
    const started = clock.monotonic();
    let next = 0;
    const sender = async () => {
      for (let n = next++; n < messages; n = next++) {
        const id = bench.ids[n % bench.ids.length];
        if (id !== undefined) await recheck(bench.bus, id);
      }
    };
    await Promise.all(Array.from({ length: 128 }, sender));
    await promise;
    const seconds = (clock.monotonic() - started) / 1000;
    row(
      `send → step → event, ${count} replica${count > 1 ? 's' : ''}`,
      `${Math.round(messages / seconds)} messages/s`,
    );
    await following.stop();
    await bench.stop();
  }
}

const parts = {
  start: measureStarts,
  crash: measureCrashes,
  graceful: measureGraceful,
  pauses: measurePauses,
  throughput: measureThroughput,
};
for (const [name, measure] of Object.entries(parts)) {
  if (values.only === undefined || values.only === name) await measure();
}
process.exit(0);
