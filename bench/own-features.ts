/**
 * Features of a user's own: what a step of one costs beside the same chart as a kind of the program, how long
 * 10,000 of its actors take to load, and how one that is broken in each of several ways affects another.
 *
 * Run: node bench/own-features.ts [--only steps|broken] [--actors 10000] [--seconds 6] [--program
 * dist/main.js]
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNatsServer } from '../packages/dev-cluster/processes/nats-server.ts';
import { choice, number, readFlags, text, whole } from '../scripts/flags.ts';
import { Host } from '../src/actors/host/host.ts';
import type { HostParts } from '../src/actors/host/host-parts.ts';
import type { ShardRun } from '../src/actors/host/owned.ts';
import { createSaver } from '../src/actors/host/saver.ts';
import { createStepper } from '../src/actors/host/step.ts';
import { homesOf } from '../src/actors/shards/homes.ts';
import { createShardReader } from '../src/actors/shards/shard-reading.ts';
import { createShardRun } from '../src/actors/shards/shard-run.ts';
import { loadShard, saveCheckpoint } from '../src/actors/shards/shard-store.ts';
import { type Care, createCare } from '../src/actors/time/care.ts';
import { carefulStepper } from '../src/actors/time/careful-stepper.ts';
import { createPace, createPaces } from '../src/actors/time/pace.ts';
import { type ActorInput, assign, defineFeature, defineKind, setup, v } from '../src/api/index.ts';
import { systemClock as clock } from '../src/base/clock.ts';
import { type ActorId, actorId, type ShardName } from '../src/base/ids.ts';
import { silentLog as log } from '../src/base/log.ts';
import { systemRandom as random } from '../src/base/random.ts';
import type { Bus } from '../src/bus/bus.ts';
import { encodeJson } from '../src/bus/codec.ts';
import { connectNats } from '../src/bus/nats/nats.ts';
import { subjects as subjectsOf } from '../src/bus/subjects.ts';
import { startStallWatch } from '../src/replica/health/stall-watch.ts';
import { measureBroken } from './own-features-broken.ts';

const values = readFlags(
  'node bench/own-features.ts',
  'What features of your own cost, and what a broken one costs another.',
  {
    only: choice('one part', ['steps', 'broken']),
    actors: whole('actors of the feature', 10_000),
    seconds: number('how long each broken one is watched', 6),
    program: text('what the replicas run, such as dist/main.js (the sources)'),
  },
);
const actorsMax = values.actors;
const stepsMax = 30_000;
const row = (what: string, value: string) => console.log(`${what.padEnd(72)} ${value}`);

/** One chart for both: about what a small operator keeps. */
const machine = setup({
  types: {
    context: {} as { readonly name: string; readonly facts: object; readonly failures: number },
    events: {} as { readonly type: string; readonly facts: object },
    input: {} as ActorInput,
  },
  actions: { remember: assign({ facts: ({ event }) => event.facts }) },
}).createMachine({
  id: 'unit',
  context: ({ input: { name } }) => ({ name, facts: {}, failures: 0 }),
  initial: 'resting',
  on: { 'unit.go': { actions: 'remember' } },
  states: { resting: { tags: 'settled' } },
});
const kind = defineKind({
  ...{ name: 'unit', version: 1, description: 'Remembers.', machine, createdBy: ['unit.go'] },
  messages: { 'unit.go': v.object({ facts: v.any() }) },
});
const loaded = defineFeature({ name: 'units', version: '1.0.0', kinds: [kind] });
const { edition: _, ...built } = loaded;

interface Side {
  readonly name: string;
  readonly ids: readonly ActorId[];
  readonly shards: readonly ShardName[];
  readonly ports: HostParts;
  host: Host;
  runOf: Map<ActorId, ShardRun>;
}

function sideOn(
  bus: Bus,
  name: string,
  feature: Parameters<typeof homesOf>[0][number],
  care: Care | null,
): Side {
  const subjects = subjectsOf(`bench-${name}`);
  const homes = homesOf([feature], subjects);
  const stepper = createStepper(kind.chart);
  const ports: HostParts = {
    ...{ bus, subjects, replica: 'bench', clock, random, log, homes },
    metrics: { transition() {}, stepSeconds() {}, effect() {}, deadLetter() {} },
    steppers: new Map([
      ['unit', care ? carefulStepper(stepper, 'units', care, createPace(clock, 'units')) : stepper],
    ]),
    effects: new Map(),
    runEffect: async (effect) => ({ type: 'effect.settled', effect: effect.type, error: null }),
    // A feature may take 1,000 steps a second; here the cost of one is measured.
    paces: createPaces(clock, () => undefined),
    elsewhere: () => new Set(),
    earlierHeardAt: () => 0,
    isInWorld: () => false,
    admission: { eventsOf: () => [], admit: (_kind, event) => event },
    ...(care ? { care } : {}),
  };
  const ids = Array.from({ length: actorsMax }, (_unused, n) => actorId('unit', 'bench', `unit-${n}`));
  const shards = [...new Set(ids.map(homes.homeOf))];
  return { name, ids, shards, ports, host: new Host(ports), runOf: new Map() };
}

async function claim(side: Side): Promise<ShardRun[]> {
  const { bus, subjects, homes } = side.ports;
  const runs = await Promise.all(
    side.shards.map(async (shard) => {
      const last = await bus.last('state', subjects.fence(shard));
      const guard = { subject: subjects.fence(shard), sequence: last?.sequence ?? 0 };
      const value = encodeJson({ replica: 'bench', incarnation: random.id(), at: clock.now() });
      return createShardRun(shard, (await bus.append(subjects.fence(shard), value, { guard })).sequence);
    }),
  );
  const byShard = new Map(runs.map((run) => [run.shard, run]));
  for (const id of side.ids) {
    const run = byShard.get(homes.homeOf(id));
    if (run) side.runOf.set(id, run);
  }
  return runs;
}

function step({ host, runOf }: Side, id: ActorId, token: number): Promise<void> {
  const run = runOf.get(id);
  if (!run) throw new Error(`no shard for ${id}`);
  const facts = { token, uid: '5f0c7f38-6f0e-4d27-9d8e-0123456789ab', labels: { app: 'web', tier: 'front' } };
  return new Promise((resolve, reject) => {
    host.deliver(run, id, {
      event: { type: 'unit.go', facts },
      cause: null,
      onTaken: (outcome) => (outcome.kind === 'refused' ? reject(new Error(outcome.reason)) : resolve()),
    });
  });
}

/** µs of processor time and steps a second, 256 actors at a time. */
async function steps(side: Side, count: number): Promise<{ perSecond: number; cpuMicros: number }> {
  let next = 0;
  const worker = async () => {
    for (let n = next++; n < count; n = next++) await step(side, side.ids[n % side.ids.length] as ActorId, n);
  };
  const before = process.cpuUsage();
  const started = clock.monotonic();
  await Promise.all(Array.from({ length: 256 }, worker));
  const { user, system } = process.cpuUsage(before);
  return { perSecond: (count * 1_000) / (clock.monotonic() - started), cpuMicros: (user + system) / count };
}

async function load(side: Side): Promise<{ readonly ms: number; readonly cpuMs: number }> {
  const { ports } = side;
  const saver = createSaver({ ...ports, fenceSubject: ports.subjects.fence });
  const held = new Set(side.runOf.values());
  for (const run of held) await saveCheckpoint(ports, saver, run);
  for (const run of held) side.host.drop(run, new Error('bench'));
  const runs = await claim(side);
  side.host = new Host(ports);
  const before = process.cpuUsage();
  const started = clock.monotonic();
  const loading = { ...ports, readShard: createShardReader(ports) };
  await Promise.all(runs.map((run) => loadShard(loading, run, new AbortController().signal)));
  for (const run of runs) side.host.activate(run);
  const count = runs.reduce((sum, run) => sum + run.cells.size, 0);
  if (count !== actorsMax) throw new Error(`${count} actors were loaded`);
  const { user, system } = process.cpuUsage(before);
  return { ms: clock.monotonic() - started, cpuMs: (user + system) / 1_000 };
}

const median = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;

async function measureLoads(sides: readonly Side[]): Promise<void> {
  const loads = sides.map(() => [] as { readonly ms: number; readonly cpuMs: number }[]);
  for (let round = 0; round < 5; round++)
    for (const [index, side] of sides.entries()) loads[index]?.push(await load(side));
  for (const [index, side] of sides.entries()) {
    const [ms, cpuMs] = (['ms', 'cpuMs'] as const).map((what) =>
      Math.round(median((loads[index] ?? []).map((one) => one[what]))),
    );
    row(
      `load ${actorsMax} actors of the ${side.name} in ${side.shards.length} shards or parts`,
      `${ms} ms, ${cpuMs} ms CPU`,
    );
  }
}

async function measureSteps(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'));
  const server = await startNatsServer({ dir, clock });
  const marks = startStallWatch(clock, { replica: 'bench' });
  const care = createCare({ clock, log, marks });
  const buses = await Promise.all(
    ['program', 'user'].map((name) =>
      connectNats({
        servers: [server.url],
        name,
        cluster: `bench-${name}`,
        streamReplicas: 1,
        clock,
        random,
      }),
    ),
  );
  const [first, second] = buses;
  if (!first || !second) return;
  try {
    const sides = [sideOn(first, 'program', built, null), sideOn(second, 'user', loaded, care)];
    for (const side of sides) {
      for (const run of await claim(side)) side.host.activate(run);
      await steps(side, actorsMax);
    }
    // In turn, with a rotating order, so that what else the machine does affects both.
    const figures = sides.map(() => [] as { perSecond: number; cpuMicros: number }[]);
    for (let round = 0; round < 6; round++)
      for (const [index, side] of round % 2 === 0 ? [...sides.entries()] : [...sides.entries()].reverse())
        figures[index]?.push(await steps(side, stepsMax / 6));
    for (const [index, side] of sides.entries()) {
      const all = figures[index] ?? [];
      const perSecond = Math.round(median(all.map((one) => one.perSecond))).toLocaleString('en');
      const micros = median(all.map((one) => one.cpuMicros)).toFixed(1);
      row(
        `a saved step over NATS, one chart: as a kind of the ${side.name}`,
        `${micros} µs CPU, ${perSecond}/s`,
      );
    }
    await measureLoads(sides);
    care.suspect('units');
    const [, user] = sides;
    if (user)
      row('a step of the user under suspicion', `${(await steps(user, 6_000)).cpuMicros.toFixed(1)} µs CPU`);
  } finally {
    await Promise.all(buses.map((bus) => bus.close()));
    await marks.stop();
    await server.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

if (values.only !== 'broken') await measureSteps();
if (values.only !== 'steps') await measureBroken({ seconds: values.seconds, program: values.program, row });
process.exit(0);
