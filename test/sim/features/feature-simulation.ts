/**
 * One seed of a feature's simulation: replicas with the feature, the real mirrors and a simulated Kubernetes,
 * in which everything that can fail does; then peace, until everything is as the world requires.
 *
 * Promises: the same seed gives the same story; the first broken promise ends the run.
 */

import {
  holdingsMissing,
  namedTwice,
  ownersMissing,
  recordsDue,
} from '../../../packages/testing/checkers/at-rest.ts';
import type { CheckerKind } from '../../../packages/testing/checkers/checker.ts';
import { nothingStarves, workingIn } from '../../../packages/testing/checkers/nothing-starves.ts';
import { owners } from '../../../packages/testing/checkers/owners.ts';
import type { SimReplica } from '../../../packages/testing/replicas/sim-replica.ts';
import { act, createReplicas } from '../../../packages/testing/simulation/driving.ts';
import { createFaults } from '../../../packages/testing/simulation/faults.ts';
import { everySecond } from '../../../packages/testing/simulation/seconds.ts';
import { createStage, type StageParts } from '../../../packages/testing/simulation/stage.ts';
import { createStory, type Story } from '../../../packages/testing/simulation/story.ts';
import { type Chance, createChance } from '../../../packages/testing/time/chance.ts';
import type { SimClock } from '../../../packages/testing/time/sim-clock.ts';
import type { ActorRecord } from '../../../src/actors/host/records.ts';
import { charts } from '../../../src/replica/charts.ts';
import { SimApi } from '../api/sim-api.ts';
import { engineCheckers } from '../checkers/all.ts';
import { livesAsItsObject } from '../checkers/lives-as-its-object.ts';
import { createOverwritten, disagreements, trueStatus } from '../checkers/true-statuses.ts';
import { drawProfile, leaveOut, type Profile, profileText } from '../profile.ts';
import { kubeWeather } from '../sim-kube.ts';
import type { Outcome, SimulationOptions } from '../simulation.ts';
import { featureLife } from './feature-life.ts';
import type { ApiStage, FeatureSimulation, FeatureWorld } from './feature-world.ts';

/** Time for the last fault to leave its traces. */
const calmLeastMs = 8_000;
/** A broker's answer that never comes, a claim and a load that are given up, and then the longest pause. */
const restMs = 180_000;

export async function simulateFeature(
  simulation: FeatureSimulation,
  options: SimulationOptions,
): Promise<Outcome> {
  const { seed, chaosMs, lullMs, without, onSighting, trace = null } = options;
  const chance = createChance(seed).of(simulation.name);
  const profile = leaveOut(profileOf(simulation, chance.of('profile'), chaosMs), without);
  const story = createStory(onSighting);
  const say = (text: string) => story.see({ kind: 'done', text });
  const { shards } = profile;
  const stage = apiStage({ chance, times: profile, shards, see: story.see, trace }, simulation);
  const { clock } = stage;
  const replicas = () => live();
  const world = simulation.create({ stage, chance: chance.of('world'), profile, say, replicas });
  const life = featureLife(stage, world, chance.of('life'), simulation.rightly ?? []);
  const { live, start, end } = createReplicas(stage, profile, chance.of('lives'), life);
  const unsettled = judge({ story, world, simulation, stage, live });
  const boundMs = simulation.restMs ?? restMs;
  const eye = { world: stage, now: () => clock.now(), replicas: live };
  story.watch(eye, [...checkersOf(world, simulation, stage), liveness(boundMs, unsettled)]);
  const parts = { world: stage, profile, start, say, chance: chance.of('faults'), replicas };
  const faults = createFaults(parts);
  let isCalm = false;
  story.listen((sighting) => {
    if (sighting.kind === 'saved' && !isCalm) faults.ambush(sighting.record.feed.at(-1)?.replica ?? '');
  });
  if (chance.happens(0.5)) world.begin();
  else clock.after(chance.between(0, 3_000), () => world.begin());
  for (let n = 0; n < profile.replicas; n++)
    clock.after(n === 0 ? 0 : chance.between(0, 2_000), () => start(`r${n}`));
  everySecond(stage, story, live);
  const doings = [
    [profile.churnEveryMs, () => world.act()] as const,
    [profile.faultEveryMs, faults.act] as const,
  ];
  act(clock, chance.of('when'), () => isCalm, doings, lullMs);
  await clock.run(chaosMs, story.isOver);
  if (!story.isOver()) {
    isCalm = true;
    faults.end();
    world.heal();
    await peace({ story, clock, boundMs, unsettled });
  }
  end();
  const told = `${simulation.name}: ${profileText(profile)}`;
  return {
    seed,
    profile: told,
    kinds: [...profile.faults],
    simulatedMs: clock.passedMs(),
    checks: story.checks(),
    ...story.verdict(),
  };
}

function checkersOf(
  world: FeatureWorld,
  { standing = [], restMs: boundMs = restMs }: FeatureSimulation,
  stage: ApiStage,
): readonly CheckerKind<ApiStage>[] {
  const mayWait = (id: string, record: ActorRecord) => world.mayWait?.(id, record) ?? false;
  return [
    ...engineCheckers,
    ...world.checkers,
    ...(world.statuses ?? []).map((promise) => trueStatus(stage, promise)),
    owners(() => world.isClosed?.() === true),
    livesAsItsObject(stage, world.lives ?? []),
    nothingStarves({ charts, restMs: boundMs, standing, mayWait }),
  ];
}

/** What is not at rest, on demand. */
function judge(parts: {
  readonly story: Story;
  readonly world: FeatureWorld;
  readonly simulation: FeatureSimulation;
  readonly stage: ApiStage;
  readonly live: () => readonly SimReplica[];
}): () => readonly string[] {
  const { story, world, simulation, stage, live } = parts;
  const records = new Map<string, ActorRecord>();
  story.listen((sighting) => {
    if (sighting.kind === 'saved') records.set(sighting.id, sighting.record);
  });
  const statuses = (world.statuses ?? []).map((promise) => {
    const overwritten = createOverwritten(stage, promise);
    story.listen(overwritten.see);
    return () => disagreements(stage, promise, records, overwritten);
  });
  return () => {
    const missing = [
      ...namedTwice({ replicas: live }),
      ...ownersMissing({ world: stage, replicas: live }),
      ...holdingsMissing({ replicas: live }),
    ];
    if (missing.length > 0 && world.isClosed?.() !== true) return missing;
    const untrue = statuses.flatMap((disagreeing) => [...disagreeing()]);
    return [
      ...workingIn(records, { charts, mayWait: (id, record) => world.mayWait?.(id, record) ?? false }).map(
        (id) => `${id} is not at rest`,
      ),
      ...world.unsettled(records),
      ...recordsDue(records, stage.clock.now(), simulation.standing),
      ...untrue.map(({ text }) => text),
    ];
  };
}

function profileOf({ without = [], skewMaxMs }: FeatureSimulation, chance: Chance, chaosMs: number): Profile {
  const drawn = drawProfile(chance, chaosMs);
  const not = new Set<string>(['etcdRestored', ...without]);
  return {
    ...drawn,
    skewMaxMs: Math.min(drawn.skewMaxMs, skewMaxMs ?? drawn.skewMaxMs),
    faults: new Set([...drawn.faults].filter((one) => !not.has(one))),
  };
}

/** What has been missing at each look since the first. */
function createLacking(unsettled: () => readonly string[]): () => readonly string[] {
  let lacking: readonly string[] | null = null;
  return () => {
    const now = unsettled();
    lacking = lacking === null ? now : lacking.filter((one) => now.includes(one));
    return lacking;
  };
}

/** After the last fault: ends as soon as everything is at rest. */
async function peace({
  story,
  clock,
  boundMs,
  unsettled,
}: {
  readonly story: Story;
  readonly clock: SimClock;
  readonly boundMs: number;
  readonly unsettled: () => readonly string[];
}): Promise<void> {
  story.see({ kind: 'calm' });
  for (let waited = 0; waited <= boundMs + 5_000 && !story.isOver(); waited += 1_000) {
    await clock.run(1_000, story.isOver);
    if (waited >= calmLeastMs && unsettled().length === 0) break;
  }
  story.see({ kind: 'end' });
}

/** @param simulation its kinds are those that discovery knows */
export function apiStage(parts: StageParts, { kinds }: Pick<FeatureSimulation, 'kinds'>): ApiStage {
  const { chance } = parts;
  const base = createStage(parts, chance.of('network'));
  const api = new SimApi(base.clock, kinds, chance.of('collector'));
  const breaks = chance.of('watches');
  const stage: ApiStage = {
    ...base,
    api,
    weather: kubeWeather(chance.of('weather'), () => stage.kubeErrors),
    kubeErrors: 0,
    // The replicas themselves mirror: what they see breaks off.
    mirror: {
      isAway: false,
      bus: base.hub.connect('nobody'),
      leave() {},
      takeOver: () => api.breakWatches(breaks.happens(0.3)),
    },
    kube: { backup: () => () => {} },
  };
  return stage;
}

/**
 * Everything becomes as the world requires within a bound. Looked at for a minute, because where something is
 * always done, as the renewal of short certificates, there may be no moment at which everything rests.
 */
function liveness(boundMs: number, unsettled: () => readonly string[]): CheckerKind {
  return {
    name: 'liveness',
    create(eye) {
      let calmAt: number | null = null;
      const lacking = createLacking(unsettled);
      return (sighting) => {
        if (sighting.kind === 'calm') calmAt = eye.now();
        if (sighting.kind !== 'second' || calmAt === null || eye.now() - calmAt <= boundMs - 60_000) return;
        const [first] = lacking();
        if (eye.now() - calmAt <= boundMs) return;
        if (first !== undefined) eye.breach(`${boundMs / 1000} s after the last fault: ${first}`);
      };
    },
  };
}
