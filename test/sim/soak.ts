/**
 * A cluster that is only used, for hours: three replicas with several features, no faults. Nothing in it may
 * grow with time: its content is sampled at regular intervals.
 *
 * No checker is present, because what checkers remember would grow.
 */
import { createReplicas } from '../../packages/testing/simulation/driving.ts';
import { everySecond } from '../../packages/testing/simulation/seconds.ts';
import type { See } from '../../packages/testing/simulation/sightings.ts';
import { createChance } from '../../packages/testing/time/chance.ts';
import type { SimClock } from '../../packages/testing/time/sim-clock.ts';
import type { StreamName } from '../../src/bus/bus.ts';
import { certificateSimulation } from './certificates/certificate-world.ts';
import { electionSimulation } from './elections/election-world.ts';
import { endpointSimulation } from './endpoints/endpoint-world.ts';
import { featureLife } from './features/feature-life.ts';
import { apiStage } from './features/feature-simulation.ts';
import type { ApiStage } from './features/feature-world.ts';
import { mixed } from './features/mixed.ts';
import { drawProfile } from './profile.ts';

/** What the cluster holds at one time. */
export interface Sample {
  /** Since the start, h. */
  readonly atHours: number;
  /** After garbage collection, MB. */
  readonly heapMb: number;
  readonly timers: number;
  /** Messages stored, by stream. */
  readonly stored: Readonly<Record<SoakedStream, number>>;
  /** Actors in memory, in all replicas. */
  readonly actors: number;
}

type SoakedStream = Exclude<StreamName, 'dead'>;

const hourMs = 3_600_000;
const replicaCount = 3;
/** Average time between two changes to the world, ms. */
const useEveryMs = 10_000;

/** @param collect collects garbage; called before each look at the heap */
export async function soak(options: {
  readonly seed: number;
  readonly hours: number;
  readonly everyHours: number;
  readonly collect: () => Promise<void>;
  readonly onSample?: (sample: Sample) => void;
}): Promise<readonly Sample[]> {
  const simulation = mixed('soak', [electionSimulation, endpointSimulation, certificateSimulation]);
  const chance = createChance(options.seed);
  const drawn = drawProfile(chance.of('profile'), options.hours * hourMs);
  const profile = { ...drawn, faults: new Set<never>(), pace: 'usual', skewMaxMs: 0, shards: 8 } as const;
  // A story would remember what it was told.
  const listeners: See[] = [];
  const see: See = (sighting) => {
    for (const listener of listeners) listener(sighting);
  };
  const stage = apiStage({ chance, times: profile, shards: profile.shards, see }, simulation);
  const { clock } = stage;
  const world = simulation.create({
    ...{ stage, chance: chance.of('world'), profile, say: () => {} },
    replicas: () => live(),
  });
  const life = featureLife(stage, world, chance.of('life'), simulation.rightly ?? []);
  const { live, start, end } = createReplicas(stage, profile, chance.of('lives'), life);
  world.begin();
  for (let n = 0; n < replicaCount; n++) start(`r${n}`);
  everySecond(stage, { see, listen: (listener) => void listeners.push(listener) }, live);
  use(
    clock,
    () => world.act(),
    () => chance.between(0, 2 * useEveryMs),
  );
  const samples: Sample[] = [];
  for (let at = options.everyHours; at <= options.hours; at += options.everyHours) {
    await clock.run(options.everyHours * hourMs);
    await forgetEvents(stage);
    await options.collect();
    const runs = live().flatMap(({ engine }) => [...engine.shards.open()]);
    const sample: Sample = {
      atHours: at,
      heapMb: process.memoryUsage().heapUsed / 1e6,
      timers: clock.pending,
      stored: storedIn(stage),
      actors: runs.reduce((sum, { cells }) => sum + cells.size, 0),
    };
    samples.push(sample);
    options.onSample?.(sample);
  }
  end();
  return samples;
}

function use(clock: SimClock, act: () => void, pauseMs: () => number): void {
  clock.after(pauseMs(), () => {
    act();
    use(clock, act, pauseMs);
  });
}

/** The feed is kept for a day; here, for the time between two samples. */
async function forgetEvents({ hub, subjects, clock }: ApiStage): Promise<void> {
  const bus = hub.connect('operator');
  const gone = bus.purge('event', { subject: subjects.eventAll });
  await clock.run(1_000);
  await gone;
  await Promise.all([bus.close(), clock.run(1_000)]);
}

function storedIn({ hub }: ApiStage): Sample['stored'] {
  const count = (stream: SoakedStream) => hub.stored(stream).length;
  return { state: count('state'), mail: count('mail'), world: count('world'), event: count('event') };
}
