/**
 * One run: replicas, NATS and the Kubernetes API as real processes, a world that keeps changing, and faults
 * drawn from a seed; then peace, until everything is as the world requires.
 *
 * Promises: the first broken promise ends the run. It stops by itself, and when asked to; whatever it started
 * has then ended. The seed decides which faults are drawn and when; how real processes react differs from run
 * to run.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type DevCluster, startDevCluster } from '../../packages/dev-cluster/cluster.ts';
import type { ShopOptions } from '../../packages/dev-cluster/scenarios/scenario-objects.ts';
import { prepareBundle } from '../../packages/dev-cluster/scenarios/scenario-release.ts';
import { createStory } from '../../packages/testing/simulation/story.ts';
import { createChance } from '../../packages/testing/time/chance.ts';
import { systemClock as clock, sleep, type Timer } from '../../src/base/clock.ts';
import { shardCount } from '../../src/base/limits.ts';
import { silentLog as log } from '../../src/base/log.ts';
import { systemRandom as random } from '../../src/base/random.ts';
import { decode } from '../../src/bus/codec.ts';
import { connectNats } from '../../src/bus/nats/nats.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';
import { engineCheckers } from '../sim/checkers/all.ts';
import { sightingLine } from '../sim/trace.ts';
import { type ApiServers, apiServersOf, startApiServers } from './api-servers.ts';
import { measureFailOvers } from './fail-over.ts';
import { createFaults, drawKinds, type FaultKind, type Faults } from './faults.ts';
import { watchGrowth } from './growth.ts';
import { type NatsServers, startServers } from './nats-servers.ts';
import { type Crew, createCrew } from './replica-crew.ts';
import { createSettlement } from './settlement.ts';
import { createStreamFaults } from './stream-faults.ts';
import { startWitness, type Witness } from './witness.ts';
import { type ChaosWorld, startWorld } from './world.ts';

export interface ChaosOptions {
  readonly seed: number;
  /** How long things happen and fail. */
  readonly chaosMs: number;
  readonly copies: 1 | 3;
  readonly replicas: number;
  /** Everything is written there; must be empty. */
  readonly dir: string;
  readonly programs?: { readonly kubeApiserver: string; readonly etcd: string };
  /** Where NATS stores, on a small file system of its own that may be filled; absent: within `dir`. */
  readonly natsDir?: string;
  /** An existing API server. */
  readonly kubeconfig?: string;
  /** Absent: drawn. */
  readonly kinds?: readonly FaultKind[];
  /** Options of the shop that differ from the scenario's. */
  readonly shop?: Partial<ShopOptions>;
  /** Longest pause from one fault to the next, ms. */
  readonly faultEveryMs?: number;
  readonly restMs?: number;
  readonly say: (text: string) => void;
  /** Called with what happens in the world and to the actors. */
  readonly tell?: (text: string) => void;
  readonly signal: AbortSignal;
}

export interface ChaosReport {
  /** null: every promise was kept. */
  readonly breach: { readonly promise: string; readonly text: string; readonly atMs: number } | null;
  readonly steps: number;
  readonly faults: ReadonlyMap<FaultKind, number>;
  readonly failOvers: string;
  readonly world: string;
  /** Time until everything was at rest after the last fault, ms. */
  readonly settledMs: number;
  /** Heap, sockets and streams, one line each. */
  readonly growth: readonly string[];
}

const clusterName = 'dev';
/**
 * Longest time to come to rest, ms: what has failed fifteen times is tried every three to four minutes
 * (test/sim/endpoints/endpoint-world.ts).
 */
const restMs = 400_000;
const calmLeastMs = 4_000;
const sayEverySeconds = 10;
const churnMostMs = 1_000;
/** How often a leader that led the state is killed, besides the drawn faults, ms. */
const leaderEveryMs = 20_000;

/** @throws Error if something cannot be started; the reason of `signal` if asked to end */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const undos: Array<() => unknown> = [];
  const stop = async () => {
    for (let undo = undos.pop(); undo; undo = undos.pop()) await undo();
  };
  try {
    return await play(options, (undo) => void undos.push(undo));
  } finally {
    await stop();
  }
}

type OnStop = (undo: () => unknown) => void;

async function play(options: ChaosOptions, onStop: OnStop): Promise<ChaosReport> {
  const { seed, chaosMs, say, signal } = options;
  const chance = createChance(seed);
  const story = createStory((_, sighting) => {
    const line = options.tell && sightingLine(clock.now(), sighting);
    if (line) options.tell?.(line);
  });
  const failOvers = measureFailOvers();
  const stage = await startServersOf(options, onStop);
  const kinds = kindsOf(options, stage.api);
  say(`seed ${seed}: ${[...kinds].join(' ')}`);
  const bus = await connectNats({
    ...{ clock, random, signal, name: 'chaos', cluster: clusterName, streamReplicas: options.copies },
    servers: stage.natsPorts.map((port) => `nats://127.0.0.1:${port()}`),
  });
  onStop(() => bus.close());
  const subjects = subjectsOf(clusterName);
  const witness = await startWitness({
    ...{ bus, subjects, cluster: clusterName, see: story.see },
    onMessage(stream, { subject, data, storedAt }) {
      const shard = stream === 'state' ? subjects.parseFence(subject) : undefined;
      if (shard === undefined) return;
      const { replica } = decode(data) as { replica?: unknown };
      failOvers.fence(shard, typeof replica === 'string' ? replica : null, storedAt);
    },
  });
  onStop(() => witness.stop());
  const crew = startCrew(options, stage, (text) => story.breach('no replica ends by itself', text));
  onStop(() => crew.stop());
  for (let n = 0; n < options.replicas; n++) await crew.start(`orrery-${n}`);
  const world = await startWorld({
    ...{ cluster: stage.cluster, clusterName, bus, witness, chance: chance.of('world'), shards: shardCount },
    ...{ natsPorts: stage.natsPorts, hasElections: !kinds.has('clockSet') },
    ...{ shop: options.shop ?? {} },
    ...{ say: options.tell ?? (() => {}), holdMs: stage.api.canFail ? 3_000 : 1_000 },
  });
  onStop(() => world.stop());
  const settlement = createSettlement({ bus, subjects, crew, world, witness });
  for (const { see } of [world, settlement]) story.listen(see);
  const replicas = () => crew.members.map(({ name }) => ({ name, appends: 0 }));
  story.watch({ world: world.scene, now: () => clock.now(), replicas }, [
    ...engineCheckers,
    ...world.checkers,
  ]);
  witness.begin();
  await unlessOver(world.begin(), story, signal);
  const streams = createStreamFaults(bus, clusterName, witness);
  const faults = createFaults({
    ...{ crew, streams, kinds, failOvers, say, nats: stage.nats, api: stage.api },
    ...restoresSeen(world, witness),
    chance: chance.of('faults'),
  });
  const growth = watchGrowth({ crew, bus, cluster: clusterName, onStop });
  const run: Run = { kinds, options, story, world, faults, settlement, chance, signal };
  await chaos(run, chaosMs);
  const settledMs = story.isOver() ? 0 : await peace(run);
  const { breach, steps } = story.verdict();
  const told = { failOvers: failOvers.summary(), world: world.summary(), settledMs };
  return { breach, steps, faults: faults.counts, ...told, growth: growth.summary() };
}

function restoresSeen(world: ChaosWorld, witness: Witness) {
  return {
    onRestoring() {
      witness.hold(true);
      world.restoring();
    },
    onRestored() {
      world.restored();
      witness.hold(false);
    },
  };
}

interface Run {
  readonly kinds: ReadonlySet<FaultKind>;
  readonly options: ChaosOptions;
  readonly story: ReturnType<typeof createStory>;
  readonly world: ChaosWorld;
  readonly faults: Faults;
  readonly settlement: ReturnType<typeof createSettlement>;
  readonly chance: ReturnType<typeof createChance>;
  readonly signal: AbortSignal;
}

/**
 * Waits for it, unless a promise was broken.
 * @throws the reason of the signal
 */
async function unlessOver(begun: Promise<void>, story: Run['story'], signal: AbortSignal): Promise<void> {
  const waited = new AbortController();
  const either = AbortSignal.any([signal, waited.signal]);
  const untilOver = async () => {
    while (!story.isOver()) await sleep(clock, 500, either);
  };
  try {
    await Promise.race([begun, untilOver()]);
  } finally {
    waited.abort();
  }
}

/** Causes events and faults at drawn times. */
async function chaos(
  { kinds, options, story, world, faults, chance, signal }: Run,
  forMs: number,
): Promise<void> {
  const timers = new Set<Timer>();
  const when = chance.of('when');
  const repeat = (mostMs: number, act: () => void, leastMs = mostMs / 10) => {
    const timer = clock.after(when.between(leastMs, mostMs), () => {
      timers.delete(timer);
      act();
      repeat(mostMs, act, leastMs);
    });
    timers.add(timer);
  };
  repeat(churnMostMs, world.act);
  repeat(options.faultEveryMs ?? 6_000, () => faults.act());
  if (kinds.has('natsLeader')) repeat(leaderEveryMs, () => faults.act('natsLeader'), leaderEveryMs);
  try {
    const until = clock.monotonic() + forMs;
    while (clock.monotonic() < until && !story.isOver()) {
      await sleep(clock, 1_000, signal);
      story.see({ kind: 'second' });
    }
  } finally {
    for (const timer of timers) timer.cancel();
    await faults.end();
  }
}

/**
 * After the last fault.
 * @returns how long it took until everything was at rest, ms
 */
async function peace({ options, story, world, settlement, signal }: Run): Promise<number> {
  const boundMs = options.restMs ?? restMs;
  await world.heal();
  story.see({ kind: 'calm' });
  options.say('no more faults');
  const began = clock.monotonic();
  const passed = () => clock.monotonic() - began;
  let missing: readonly string[] = [];
  let seconds = 0;
  while (!story.isOver()) {
    await sleep(clock, 1_000, signal);
    story.see({ kind: 'second' });
    if (passed() < calmLeastMs) continue;
    missing = await settlement.unsettled();
    if (missing.length === 0) break;
    if (seconds++ % sayEverySeconds === 0) options.say(`not at rest: ${missing[0]} (${missing.length})`);
    if (passed() > boundMs)
      story.breach('liveness', `${Math.round(boundMs / 1_000)} s after the last fault: ${missing[0]}`);
  }
  const tookMs = passed();
  if (!story.isOver()) story.see({ kind: 'end' });
  return Math.round(tookMs);
}

interface Stage {
  readonly nats: NatsServers;
  readonly natsPorts: ReadonlyArray<() => number>;
  readonly api: ApiServers;
  readonly cluster: DevCluster;
}

async function startServersOf(options: ChaosOptions, onStop: OnStop): Promise<Stage> {
  const { dir, copies, programs, signal } = options;
  mkdirSync(dir, { recursive: true });
  const nats = await startServers(options.natsDir ?? join(dir, 'servers'), copies);
  onStop(() => nats.stop());
  const api =
    programs === undefined
      ? apiServersOf(options.kubeconfig)
      : await startApiServers(join(dir, 'api'), programs);
  onStop(() => api.stop());
  const first = nats.server(0);
  const cluster = await startDevCluster(
    {
      ...{ clock, random, log, dir: join(dir, 'cluster'), cluster: clusterName, print: () => {} },
      ...{ replicas: 0, http: { host: '127.0.0.1', port: 0 } },
      ...(first === undefined ? {} : { nats: first }),
      ...(api.kubeconfig === undefined ? {} : { kubeconfig: api.kubeconfig }),
    },
    signal,
  );
  onStop(() => cluster.stop());
  const natsPorts = Array.from({ length: copies }, (_, index) => () => nats.port(index));
  return { nats, natsPorts, api, cluster };
}

function startCrew({ dir, copies }: ChaosOptions, stage: Stage, onBreach: (text: string) => void): Crew {
  const { cluster, natsPorts } = stage;
  const logs = join(dir, 'replicas');
  mkdirSync(logs, { recursive: true });
  const crew = createCrew({
    ...{ dir: logs, cluster: clusterName, natsPorts, copies, kubeconfig: cluster.kubeconfig },
    outsideCidr: cluster.outsideAddress.replace(/\.\d+$/, '.0/24'),
    flags: prepareBundle(cluster.dir),
    onDeath({ name, isTwin, logFile }, how) {
      // Of two with one name, one ends.
      const hasTwin = crew.members.some((one) => one.name === name);
      if (!isTwin && !hasTwin) onBreach(`${name} ended (${how}); see ${logFile}`);
    },
  });
  return crew;
}

function kindsOf({ seed, kinds, copies, natsDir }: ChaosOptions, api: ApiServers): ReadonlySet<FaultKind> {
  if (kinds !== undefined) return new Set(kinds);
  const drawn = drawKinds(createChance(seed).of('kinds'), {
    isReplicated: copies === 3,
    hasApi: api.canFail,
    hasBackups: api.backups !== undefined,
    hasSmallDisk: natsDir !== undefined,
  });
  return drawn;
}
