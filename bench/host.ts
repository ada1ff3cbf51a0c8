/**
 * Steps per second of one host: in memory, and with fenced saves on one real nats-server and on three with
 * three copies of each stream (pipelined and one by one); memory of resident actors and the time to load them
 * after a claim.
 *
 * Run: node bench/host.ts [--actors 10000] [--resident 100000] [--only memory|nats|servers|resident]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNatsCluster, startNatsServer } from '../packages/dev-cluster/processes/nats-server.ts';
import { choice, readFlags, whole } from '../scripts/flags.ts';
import { Host } from '../src/actors/host/host.ts';
import type { HostParts } from '../src/actors/host/host-parts.ts';
import type { ShardRun } from '../src/actors/host/owned.ts';
import { createSaver } from '../src/actors/host/saver.ts';
import { createStepper } from '../src/actors/host/step.ts';
import { homesOf } from '../src/actors/shards/homes.ts';
import { createShardReader } from '../src/actors/shards/shard-reading.ts';
import { createShardRun } from '../src/actors/shards/shard-run.ts';
import { loadShard, saveCheckpoint } from '../src/actors/shards/shard-store.ts';
import { createPaces } from '../src/actors/time/pace.ts';
import { systemClock as clock } from '../src/base/clock.ts';
import { type ActorId, actorId } from '../src/base/ids.ts';
import { shardCount } from '../src/base/limits.ts';
import { systemRandom as random } from '../src/base/random.ts';
import type { Bus } from '../src/bus/bus.ts';
import { encodeJson } from '../src/bus/codec.ts';
import { memoryHub } from '../src/bus/memory/hub.ts';
import { connectNats } from '../src/bus/nats/nats.ts';
import { shardOf } from '../src/bus/partition.ts';
import { subjects as subjectsOf } from '../src/bus/subjects.ts';
import type { ServiceFacts } from '../src/machines/service/route-facts.ts';
import { serviceChart as service } from '../src/machines/service/service.ts';

const values = readFlags(
  'node --expose-gc bench/host.ts',
  'Steps a second of one host, and the memory of its actors.',
  {
    actors: whole('actors that take steps', 10_000),
    resident: whole('actors at rest', 100_000),
    only: choice('one part', ['memory', 'nats', 'servers', 'resident']),
  },
);
const actorsMax = values.actors;
const residentMax = values.resident;
const subjects = subjectsOf('bench');
const silent = { debug() {}, info() {}, warn() {}, error() {} };

function hostOn(bus: Bus): { host: Host; ports: HostParts } {
  const ports: HostParts = {
    bus,
    subjects,
    replica: 'bench',
    clock,
    random,
    log: silent,
    metrics: { transition() {}, stepSeconds() {}, effect() {}, deadLetter() {} },
    steppers: new Map([['service', createStepper(service)]]),
    effects: new Map(service.effects.map((one) => [one.type, one])),
    runEffect: async (effect) => ({ type: 'effect.settled', effect: effect.type, error: null }),
    homes: homesOf([], subjects),
    paces: createPaces(clock, () => undefined),
    elsewhere: () => new Set(),
    earlierHeardAt: () => 0,
    isInWorld: () => false,
    admission: { eventsOf: () => [], admit: (_, event) => event },
  };
  return { host: new Host(ports), ports };
}

async function claimAll(bus: Bus): Promise<ShardRun[]> {
  const runs: ShardRun[] = [];
  for (let shard = 0; shard < shardCount; shard++) {
    const last = await bus.last('state', subjects.fence(shard));
    const guard = { subject: subjects.fence(shard), sequence: last?.sequence ?? 0 };
    const value = encodeJson({ replica: 'bench', incarnation: random.id(), at: clock.now() });
    const { sequence } = await bus.append(subjects.fence(shard), value, { guard });
    runs.push(createShardRun(shard, sequence));
  }
  return runs;
}

/**
 * What a step carries in real life: a Service's facts, with a path that differs each time, so that each event
 * is a saved step and does not wait to be merged.
 */
function facts(token: number): ServiceFacts {
  const probe = {
    url: `http://10.96.0.17:8080/${token}`,
    podIPHeaders: { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' },
    timeoutMs: 3_000,
    attemptsPerReplica: 3,
  };
  const uid = '5f0c7f38-6f0e-4d27-9d8e-0123456789ab';
  return {
    uid,
    deleting: false,
    probes: { IPv4: probe, IPv6: null },
    replicas: 3,
    routesToken: String(token),
    peers: [],
    readyAddresses: null,
  };
}

interface Bench {
  readonly ids: readonly ActorId[];
  readonly runOf: (id: ActorId) => ShardRun;
  readonly host: Host;
  readonly ports: HostParts;
}

async function prepare(bus: Bus, count: number): Promise<Bench> {
  const { host, ports } = hostOn(bus);
  const runs = await claimAll(bus);
  for (const run of runs) host.activate(run);
  const ids = Array.from({ length: count }, (_, n) => actorId('service', 'bench', `service-${n}`));
  const byId = new Map(ids.map((id) => [id, runs[shardOf(id)]]));
  const runOf = (id: ActorId) => {
    const run = byId.get(id);
    if (!run) throw new Error(`no shard for ${id}`);
    return run;
  };
  return { ids, runOf, host, ports };
}

/** No actor is told the same twice: such news would wait for others for seconds, and be no step. */
let tokens = 1_000_000;

function step({ host, runOf }: Bench, id: ActorId): Promise<void> {
  tokens += 1;
  const token = tokens;
  return new Promise((resolve, reject) => {
    host.deliver(runOf(id), id, {
      event: { type: 'service.observed', facts: facts(token) },
      cause: null,
      onTaken: (outcome) => (outcome.kind === 'refused' ? reject(new Error(outcome.reason)) : resolve()),
    });
  });
}

interface Speed {
  readonly perSecond: number;
  /** Processor time of this process, which other processes hardly affect. */
  readonly cpuMicros: number;
}

/** Steps with `inFlight` actors stepping at the same time. */
async function pipelined(bench: Bench, steps: number, inFlight: number): Promise<Speed> {
  let next = 0;
  const worker = async () => {
    for (let n = next++; n < steps; n = next++) {
      const id = bench.ids[n % bench.ids.length];
      if (id) await step(bench, id);
    }
  };
  return speedOf(steps, () => Promise.all(Array.from({ length: inFlight }, worker)));
}

async function speedOf(steps: number, work: () => unknown): Promise<Speed> {
  const before = process.cpuUsage();
  const started = clock.monotonic();
  await work();
  const { user, system } = process.cpuUsage(before);
  const perSecond = (steps * 1000) / (clock.monotonic() - started);
  return { perSecond, cpuMicros: (user + system) / steps };
}

async function oneByOne(bench: Bench, steps: number): Promise<{ p50: number; p99: number }> {
  const times: number[] = [];
  for (let n = 0; n < steps; n++) {
    const id = bench.ids[n % bench.ids.length];
    const started = clock.monotonic();
    if (id) await step(bench, id);
    times.push(clock.monotonic() - started);
  }
  times.sort((a, b) => a - b);
  return { p50: times[Math.floor(steps * 0.5)] ?? 0, p99: times[Math.floor(steps * 0.99)] ?? 0 };
}

const row = (what: string, value: string) => console.log(`${what.padEnd(64)} ${value}`);
const rate = ({ perSecond, cpuMicros }: Speed) =>
  `${Math.round(perSecond).toLocaleString('en')}/s, ${cpuMicros.toFixed(1)} µs CPU each`;

/** A bus that acknowledges at once and stores nothing: what remains is the host. */
function sink(): Bus {
  let sequence = 0;
  const never = () => Promise.reject(new Error('not for a benchmark'));
  return {
    status: 'connected',
    counters: { handlerErrors: 0, disconnects: 0, followRestarts: 0 },
    troubles: () => [],
    onStatus: () => ({ stop() {} }),
    publish() {},
    subscribe: () => ({ stop() {} }),
    request: never,
    requestMany: never,
    append: async () => ({ sequence: ++sequence, duplicate: false }),
    appendAll: never,
    follow: never,
    last: async () => undefined,
    lastOfMany: async () => new Map(),
    streamState: async () => ({ created: '0', lastSequence: 0, firstSequence: 1, messages: 0, copies: 1 }),
    startOver() {},
    purge: async () => {},
    remove: async () => {},
    close: async () => {},
  };
}

async function inMemory(): Promise<void> {
  const alone = await prepare(sink(), 1_000);
  await pipelined(alone, 100_000, 512);
  row(
    'steps of the host, saves acknowledged at once, feed included',
    rate(await pipelined(alone, 300_000, 512)),
  );
  const hub = memoryHub({ clock, cluster: 'bench' });
  const bench = await prepare(hub.connect(), 1_000);
  await pipelined(bench, 20_000, 512);
  row('the same on the memory bus, which keeps everything', rate(await pipelined(bench, 60_000, 512)));
  const stepper = createStepper(service);
  const stamp = { at: 1, random: 0.5 };
  let { snapshot } = stepper.begin(
    { id: 'x', namespace: 'x', name: 'x' },
    { type: 'service.observed', facts: facts(0), ...stamp },
  );
  const steps = 300_000;
  const { perSecond, cpuMicros } = await speedOf(steps, () => {
    for (let n = 1; n <= steps; n++)
      snapshot = stepper.step(snapshot, { type: 'service.observed', facts: facts(n), ...stamp }).snapshot;
  });
  row('steps of the chart alone (no record, no bus)', rate({ perSecond, cpuMicros }));
}

async function onNats(copies: 1 | 3): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'));
  const servers =
    copies === 1
      ? [await startNatsServer({ dir, clock })]
      : (await startNatsCluster({ dir, size: copies })).servers;
  const options = {
    servers: servers.map(({ url }) => url),
    name: 'bench',
    cluster: 'bench',
    streamReplicas: copies,
    clock,
    random,
  };
  const bus = await connectNats(options);
  try {
    const bench = await prepare(bus, actorsMax);
    await pipelined(bench, actorsMax, 256);
    row(
      `steps with fenced saves on ${copies} nats-server, 256 in flight, ${actorsMax} actors`,
      rate(await pipelined(bench, 60_000, 256)),
    );
    const { p50, p99 } = await oneByOne(bench, 3_000);
    row('one by one', `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`);
    await load(bus, bench);
  } finally {
    await bus.close();
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(dir, { recursive: true, force: true });
  }
}

async function load(bus: Bus, bench: Bench): Promise<void> {
  const saver = createSaver({ ...bench.ports, fenceSubject: subjects.fence });
  const held = new Set(bench.ids.map(bench.runOf));
  for (const run of held) await saveCheckpoint(bench.ports, saver, run);
  for (const run of held) bench.host.drop(run, new Error('bench'));
  const runs = await claimAll(bus);
  const { host, ports } = hostOn(bus);
  const started = clock.monotonic();
  const loading = { ...ports, readShard: createShardReader(ports) };
  await Promise.all(runs.map((run) => loadShard(loading, run, new AbortController().signal)));
  for (const run of runs) host.activate(run);
  const count = runs.reduce((sum, run) => sum + run.cells.size, 0);
  row(`load ${count} actors in 64 shards after a claim`, `${Math.round(clock.monotonic() - started)} ms`);
}

async function resident(): Promise<void> {
  const hub = memoryHub({ clock, cluster: 'bench' });
  const bench = await prepare(hub.connect(), 0);
  const { host, ports } = bench;
  const stepper = ports.steppers.get('service');
  if (!stepper) return;
  const run = createShardRun(0, 1);
  host.activate(run);
  const { createCell } = await import('../src/actors/host/cell.ts');
  const { nextRecord } = await import('../src/actors/host/next-record.ts');
  const { packRecord } = await import('../src/actors/host/records.ts');
  globalThis.gc?.();
  const before = process.memoryUsage();
  for (let n = 0; n < residentMax; n++) {
    const id = actorId('service', 'bench', `service-${n}`);
    const event = { type: 'service.observed', facts: facts(n), at: clock.now(), random: 0.5 };
    const result = stepper.begin({ id, namespace: 'bench', name: `service-${n}` }, event);
    const { record } = nextRecord({
      id,
      stepper,
      before: null,
      random: { id: () => 'word' },
      item: { event, cause: null },
      event,
      result,
      fence: 1,
      mailOf: '0',
      replica: 'bench',
    });
    const cell = createCell(
      id,
      run,
      packRecord({ ...record, feed: [] }),
      'routes.resting.idle,endpoints.ignored',
    );
    run.cells.set(cell.id, cell);
  }
  globalThis.gc?.();
  const after = process.memoryUsage();
  const each = (what: 'heapUsed' | 'external') => Math.round((after[what] - before[what]) / residentMax);
  // Counted afterwards: what nobody needs any more would have been collected before it was measured.
  row(
    `memory of ${run.cells.size} resident actors`,
    `${each('heapUsed')} bytes of heap and ${each('external')} of buffers each`,
  );
  row('resident set size meanwhile', `${Math.round(after.rss / 1e6)} MB`);
}

const parts = {
  memory: inMemory,
  nats: () => onNats(1),
  servers: () => onNats(3),
  resident,
} as const;
for (const [name, run] of Object.entries(parts))
  if (values.only === undefined || values.only === name) await run();
process.exit(0);
