/**
 * One seed of a feature's life among faults: replicas that die, pause and are cut off, a broker and an API
 * server that go away, messages that are lost, repeated and late; then peace, until everything is at rest.
 *
 * Promises: the same seed gives the same story; the first broken promise ends the run. The engine's promises
 * are always checked (fences, saves before effects, deadlines, the feed, and that nothing starves); the
 * feature's promises are its own invariants. Everything in the replicas is real, including the mirrors.
 */
import type { Feature } from '../../../src/actors/feature.ts';
import type { ActorRecord } from '../../../src/actors/host/records.ts';
import { asError } from '../../../src/base/errors.ts';
import { limits } from '../../../src/base/limits.ts';
import { createRestPort } from '../../../src/kube/api/rest.ts';
import { rightsOf } from '../../../src/replica/rights.ts';
import { holdingsMissing, namedTwice, ownersMissing, recordsDue } from '../checkers/at-rest.ts';
import { engineCheckersOf } from '../checkers/engine-checkers.ts';
import { nothingStarves, workingIn } from '../checkers/nothing-starves.ts';
import { owners } from '../checkers/owners.ts';
import { createQuiet } from '../checkers/quiet-time.ts';
import { type ApiWeather, type RequestFate, weathered } from '../kubernetes/api-weather.ts';
import { MemoryKubernetes } from '../kubernetes/memory-kubernetes.ts';
import { processTransport } from '../kubernetes/process-transport.ts';
import { featureLife, loaded } from '../replicas/feature-life.ts';
import type { SimReplica } from '../replicas/sim-replica.ts';
import type { Chance } from '../time/chance.ts';
import { createChance } from '../time/chance.ts';
import { duration } from '../time/duration.ts';
import { act, createReplicas } from './driving.ts';
import { type FaultKind, faultKinds } from './fault-kinds.ts';
import type { FaultyWorld } from './fault-parts.ts';
import { createFaults } from './faults.ts';
import { everySecond } from './seconds.ts';
import type { Sighting } from './sightings.ts';
import { createStage, type Stage } from './stage.ts';
import { createStory, type Story, type Verdict } from './story.ts';

/** What the invariants and the world of a simulation can see. */
export interface Simulated {
  readonly kube: MemoryKubernetes;
  /** Draws from this seed; never `Math.random`. */
  readonly chance: Chance;
  /** World time, ms since the epoch. */
  now(): number;
  /** Calls back after this long, in world time. */
  after(ms: number, fn: () => void): void;
  /**
   * Since when nothing has kept the replicas from their work: all of them run and reach the broker, the API
   * server answers, and every shard has its owner. World time, ms; the present, while something does. A
   * promise with a period is judged by it.
   */
  quietSince(): number;
  /** The last record of each actor, by id; ended ones have `gone`. */
  readonly records: ReadonlyMap<string, ActorRecord>;
  /** Reports a broken promise, which ends the run. */
  breach(text: string): void;
}

/**
 * A promise of the feature, watched from outside: what it knows comes from the API server and from records.
 */
export interface Invariant {
  readonly name: string;
  /** Called once, before anything happens; watches what it needs, and calls `breach`. */
  watch(simulated: Simulated): void | Promise<void>;
}

export interface Simulation {
  /** What each replica runs; by its name if they differ (roll-overs between versions). */
  readonly features: readonly Feature[] | ((replica: string) => readonly Feature[]);
  /** Sets up the world at the beginning, with whoever else acts on it (a kubelet, another controller). */
  begin(simulated: Simulated): void | Promise<void>;
  /** Things that people or programs do to the world; drawn again and again until there is peace. */
  readonly happens?: readonly ((simulated: Simulated) => void | Promise<void>)[];
  readonly invariants?: readonly Invariant[];
  /** What is still missing after the last fault; nothing: everything is as it should be. */
  unsettled(simulated: Simulated): readonly string[] | Promise<readonly string[]>;
  /**
   * Whether an actor that is not at rest rightly waits for what the world does not give it, so that nothing
   * starves; absent: none does for longer than `rest`.
   */
  mayWait?(id: string, record: ActorRecord): boolean;
  /** Types of effects that last as long as their actor; absent: none. */
  readonly standing?: readonly string[];
  /** Faults that mean nothing to the feature. */
  readonly without?: readonly FaultKind[];
}

export interface SimulationOptions {
  readonly seed: number;
  /** How long things happen and fail; default 30 s of simulated time. */
  readonly chaos?: string | number;
  /** How long the cluster may take to come to rest; default 5 min. */
  readonly rest?: string | number;
}

export type SimulationOutcome = Verdict & { readonly seed: number; readonly simulatedMs: number };

/** Here the mirrors live in the replicas, and etcd is not restored. */
const notHere: readonly FaultKind[] = ['mirror', 'etcdRestored'];
const calmLeastMs = 8_000;

export const simulate = (simulation: Simulation, options: SimulationOptions): Promise<SimulationOutcome> =>
  simulateTold(simulation, options);

/** The same, for runs of many seeds whose stories are read. */
export interface ToldOptions extends SimulationOptions {
  /** Length of the lull after each half minute of chaos, about; absent: none. */
  readonly lullMs?: number;
  readonly onSighting?: (atMs: number, sighting: Sighting) => void;
}

export async function simulateTold(simulation: Simulation, options: ToldOptions): Promise<SimulationOutcome> {
  const { seed, lullMs, onSighting } = options;
  const chance = createChance(seed);
  const story = createStory(onSighting);
  const profile = profileOf(simulation, chance.of('profile'));
  const stage = apiStage(profile, chance, story);
  const kube = new MemoryKubernetes({ clock: stage.clock, random: chance.of('kubernetes').random });
  const world = simulated({ stage, kube, story, chance, live: () => live() });
  const life = await lifeOf(simulation, { stage, kube, chance });
  const { live, start, end } = createReplicas(stage, profile, chance.of('lives'), life);
  const restMs = duration(options.rest ?? '5m');
  const working = await judged(simulation, { story, stage, live, world, restMs });
  const say = (text: string) => story.see({ kind: 'done', text });
  const faults = createFaults({
    world: stage,
    profile,
    start,
    say,
    chance: chance.of('faults'),
    replicas: live,
  });
  let isCalm = false;
  story.listen((sighting) => {
    if (sighting.kind === 'saved' && !isCalm) faults.ambush(sighting.record.feed.at(-1)?.replica ?? '');
  });
  await simulation.begin(world);
  for (let n = 0; n < profile.replicas; n++)
    stage.clock.after(n === 0 ? 0 : chance.between(0, 2_000), () => start(`r${n}`));
  everySecond(stage, story, live);
  const happening = chance.of('happening');
  const happen = () => void world.attempt(happening.pick(simulation.happens ?? []));
  const doings = [[profile.happensEveryMs, happen] as const, [profile.faultEveryMs, faults.act] as const];
  act(stage.clock, chance.of('when'), () => isCalm, doings, lullMs);
  await stage.clock.run(duration(options.chaos ?? '30s'), story.isOver);
  isCalm = true;
  faults.end();
  const missing = async () => [
    ...namedTwice({ replicas: live }),
    ...ownersMissing({ world: stage, replicas: live }),
    ...holdingsMissing({ replicas: live }),
    ...(await simulation.unsettled(world)),
    ...recordsDue(world.records, stage.clock.now(), simulation.standing ?? []),
  ];
  await peace(story, stage, restMs, { missing, working });
  end();
  kube.stop();
  return { seed, simulatedMs: stage.clock.passedMs(), ...story.verdict() };
}

interface SimulationProfile {
  readonly replicas: number;
  readonly faults: ReadonlySet<FaultKind>;
  readonly skewMaxMs: number;
  readonly happensEveryMs: number;
  readonly faultEveryMs: number;
  readonly latencyMaxMs: number;
  readonly followLagMaxMs: Readonly<Record<'world' | 'state' | 'mail', number>>;
  readonly shards: number;
}

/** Each kind of fault is on or off for a whole run, so that rare combinations come up often. */
function profileOf({ without = [] }: Simulation, chance: Chance): SimulationProfile {
  const lagMs = () => chance.pick([0, 5, 200, 1_500]) ?? 0;
  const here = faultKinds.filter((kind) => !notHere.includes(kind) && !without.includes(kind));
  return {
    replicas: chance.pick([1, 2, 2, 3, 3, 4]) ?? 1,
    faults: new Set(here.filter(() => chance.happens(0.5))),
    skewMaxMs: chance.pick([0, 0, 200, 3_000]) ?? 0,
    happensEveryMs: chance.between(1_000, 6_000),
    faultEveryMs: chance.between(600, 8_000),
    latencyMaxMs: chance.pick([0.2, 2, 30]) ?? 1,
    followLagMaxMs: { world: lagMs(), state: lagMs(), mail: lagMs() },
    shards: 8,
  };
}

interface SimulatedStage extends FaultyWorld {
  readonly weather: ApiWeather & {
    /** Requests that nobody will answer, and whose callers still wait. */
    hanging: number;
  };
}

function apiStage(profile: SimulationProfile, chance: Chance, story: Story): SimulatedStage {
  const { shards } = profile;
  const base = createStage({ chance, times: profile, see: story.see, shards }, chance.of('network'));
  const drawn = chance.of('weather');
  const stage: SimulatedStage = {
    ...base,
    kubeErrors: 0,
    weather: {
      latencyMs: () => drawn.seldomLong(0.5, 40),
      lateMs: () => drawn.between(100, 8_000),
      fate() {
        const fate = drawn.happens(stage.kubeErrors) ? (drawn.pick(fates) ?? 'served') : 'served';
        if (fate === 'lost' || fate === 'answerLost') {
          stage.weather.hanging += 1;
          stage.clock.after(limits.kubeRequestMs, () => {
            stage.weather.hanging -= 1;
          });
        }
        return fate;
      },
      hanging: 0,
    },
    mirror: { isAway: false, bus: base.hub.connect('nobody'), leave() {}, takeOver() {} },
    kube: { backup: () => () => {} },
  };
  return stage;
}

const fates: readonly RequestFate[] = [
  'lost',
  'answerLost',
  'late',
  ...(['reset', 'answerReset', 'refused', 'conflict', 'throttled'] as const).flatMap((fate) => [fate, fate]),
];

interface Parts {
  readonly stage: SimulatedStage;
  readonly kube: MemoryKubernetes;
  readonly chance: Chance;
}

/** What runs in the replica of each name; features are loaded before time begins. */
async function lifeOf({ features }: Simulation, { stage, kube, chance }: Parts) {
  const featuresOf = typeof features === 'function' ? features : () => features;
  const names = Array.from({ length: 4 }, (_, n) => `r${n}`);
  const lives = new Map(
    await Promise.all(
      names.map(async (name) => {
        const used = featuresOf(name);
        const rules = rightsOf(used).map(({ apiGroup, ...rule }) => ({ ...rule, apiGroups: [apiGroup] }));
        const token = await kube.account(
          `orrery-${name}`,
          rules.map(({ why: _, ...rule }) => rule),
        );
        return [
          name,
          { features: await loaded(used), transport: processTransport(kube.api, token) },
        ] as const;
      }),
    ),
  );
  return (parts: Parameters<ReturnType<typeof featureLife>>[0]) => {
    const { name, process } = parts.replica;
    const life = lives.get(name);
    if (life === undefined) throw new Error(`nothing lives in ${name}`);
    const transport = weathered({ ...life, weather: stage.weather, clock: stage.clock, process });
    const own = chance.of(`life ${name} ${chance.int(0, 1e9)}`);
    return featureLife({
      ...{ stage, features: life.features, random: (replica) => own.of(replica).random },
      kube: () => createRestPort({ transport, clock: process.clock }),
    })(parts);
  };
}

interface World extends Simulated {
  /** A failure in it is reported, and ends the run. */
  attempt(happen: ((world: Simulated) => void | Promise<void>) | undefined): Promise<void>;
}

function simulated(
  parts: Parts & { readonly story: Story; readonly live: () => readonly SimReplica[] },
): World {
  const { stage, kube, story, chance, live } = parts;
  const quiet = createQuiet({ world: stage, now: () => stage.clock.now(), replicas: live }, stage);
  story.listen(quiet.see);
  const records = new Map<string, ActorRecord>();
  story.listen((sighting) => {
    if (sighting.kind === 'saved') records.set(sighting.id, sighting.record);
  });
  const world: World = {
    ...{ kube, records, chance: chance.of('world') },
    now: () => stage.clock.now(),
    quietSince: quiet.since,
    after: (ms, fn) => void stage.clock.after(ms, fn),
    breach: (text) => story.breach('world', text),
    async attempt(happen) {
      try {
        await happen?.(world);
      } catch (thrown) {
        world.breach(`what happens in the world failed: ${asError(thrown).message}`);
      }
    },
  };
  return world;
}

/** @returns tells which actors are not at rest, without a reason */
async function judged(
  { features, invariants = [], standing = [], mayWait = () => false }: Simulation,
  parts: {
    readonly story: Story;
    readonly stage: SimulatedStage;
    readonly live: () => readonly SimReplica[];
    readonly world: World;
    readonly restMs: number;
  },
): Promise<() => readonly string[]> {
  const { story, stage, live, world, restMs } = parts;
  const all = typeof features === 'function' ? [0, 1, 2, 3].flatMap((n) => features(`r${n}`)) : features;
  // Of two versions of a chart, the newer one knows the records of both.
  const charts = [...new Set(all.flatMap(({ kinds }) => kinds.map(({ chart }) => chart)))].sort(
    (a, b) => a.version - b.version,
  );
  const checking = { charts, isByMail: () => false, isFromPeople: () => false, isRubbish: () => false };
  const eye = { world: stage, now: () => stage.clock.now(), replicas: live };
  const starving = nothingStarves({ charts, restMs, standing, mayWait });
  story.watch(eye, [...engineCheckersOf(checking), owners(), starving]);
  for (const { name, watch } of invariants)
    await watch({ ...world, breach: (text) => story.breach(name, text) });
  return () => workingIn(world.records, { charts, mayWait });
}

/**
 * After the last fault: ends as soon as everything is at rest.
 *
 * @param working actors that are not; each is judged by itself (nothing-starves.ts)
 */
async function peace(
  story: Story,
  { clock }: Stage,
  boundMs: number,
  { missing, working }: { missing(): Promise<readonly string[]>; working(): readonly string[] },
): Promise<void> {
  if (story.isOver()) return;
  story.see({ kind: 'calm' });
  // Who waits for an answer that was lost learns of it after the last fault.
  const starvedMs = boundMs + limits.kubeRequestMs + 5_000;
  for (let waited = 0; !story.isOver(); waited += 1_000) {
    await clock.run(1_000, story.isOver);
    const left = await missing();
    if (left.length > 0 && waited >= boundMs)
      story.breach('rest', `after ${boundMs / 1_000} s of peace: ${left.slice(0, 5).join('; ')}`);
    const isRest = left.length === 0 && (working().length === 0 || waited > starvedMs);
    if (waited >= calmLeastMs && isRest) break;
  }
  story.see({ kind: 'end' });
}
