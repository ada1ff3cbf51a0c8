/**
 * One seed: a cluster of replicas in a world in which everything that can fail does, then peace, until
 * everything is at rest.
 *
 * Promises: the same seed gives the same story (`fingerprint` tells); the first broken promise ends the run.
 */

import { act, createReplicas } from '../../packages/testing/simulation/driving.ts';
import { createFaults, type Faults } from '../../packages/testing/simulation/faults.ts';
import { everySecond } from '../../packages/testing/simulation/seconds.ts';
import type { Sighting } from '../../packages/testing/simulation/sightings.ts';
import type { Trace } from '../../packages/testing/simulation/stage.ts';
import { createStory, type Verdict } from '../../packages/testing/simulation/story.ts';
import { createChance } from '../../packages/testing/time/chance.ts';
import { checkers } from './checkers/all.ts';
import { createSettlement, unseenRestMs, unsettled } from './checkers/settled.ts';
import { type Churn, createChurn } from './churn.ts';
import { drawProfile, leaveOut, profileText } from './profile.ts';
import { routesLife } from './routes-life.ts';
import { createShop } from './sim-shop.ts';
import { createSimWorld } from './sim-world.ts';

export interface SimulationOptions {
  readonly seed: number;
  /** How long things happen and fail, ms of simulated time. */
  readonly chaosMs: number;
  /** Length of the lull after each half minute of that, about; absent: none. */
  readonly lullMs?: number;
  /** Kinds of fault and change to leave out, to find the few that matter. */
  readonly without?: readonly string[];
  /** Called with each sighting and the time since the start, ms. */
  readonly onSighting?: (atMs: number, sighting: Sighting) => void;
  readonly trace?: Trace | null;
}

export type Outcome = Verdict & {
  readonly seed: number;
  readonly profile: string;
  /** Kinds of fault and change that were on. */
  readonly kinds: readonly string[];
  /** Without the hours in which nobody is there. */
  readonly simulatedMs: number;
  /** How often checkers have looked at something. */
  readonly checks: number;
};

/** Time for the last fault to leave its traces. */
const calmLeastMs = 8_000;

export async function simulate(options: SimulationOptions): Promise<Outcome> {
  const { seed, chaosMs, lullMs, without, trace = null } = options;
  const chance = createChance(seed);
  const profile = leaveOut(drawProfile(chance.of('profile'), chaosMs), without);
  const story = createStory(options.onSighting);
  const world = createSimWorld({ chance, times: profile, shards: profile.shards, see: story.see, trace });
  const { live, start, end } = createReplicas(world, profile, chance.of('lives'), routesLife(world));
  const settlement = createSettlement(world);
  story.listen(settlement.see);
  story.watch({ world, now: () => world.clock.now(), replicas: live }, checkers);
  const say = (text: string) => story.see({ kind: 'done', text });
  const shop = createShop(world, profile);
  const churn = createChurn({
    world,
    shop,
    profile,
    say,
    chance: chance.of('churn'),
    people: world.hub.connect('people'),
  });
  const faults = createFaults({ world, profile, start, say, chance: chance.of('faults'), replicas: live });
  let isCalm = false;
  story.listen((sighting) => {
    if (sighting.kind === 'calm') isCalm = true;
    else if (!isCalm) ambush(sighting, { faults, churn });
  });
  if (chance.happens(0.5)) churn.begin();
  else world.clock.after(chance.between(0, 3_000), () => churn.begin());
  for (let n = 0; n < profile.replicas; n++) {
    world.clock.after(n === 0 ? 0 : chance.between(0, 2_000), () => start(`r${n}`));
  }
  everySecond(world, story, live);
  const doings = [
    [profile.churnEveryMs, churn.act],
    [profile.askEveryMs, churn.ask],
    [profile.faultEveryMs, faults.act],
  ] as const;
  act(world.clock, chance.of('when'), () => isCalm, doings, lullMs);
  await world.clock.run(chaosMs, story.isOver);
  if (!story.isOver()) {
    faults.end();
    churn.heal();
    story.see({ kind: 'calm' });
    const isAtRest = () => unsettled({ world, replicas: live }, settlement).length === 0;
    for (let waited = 0; waited <= unseenRestMs + 5_000 && !story.isOver(); waited += 1_000) {
      await world.clock.run(1_000, story.isOver);
      if (waited >= calmLeastMs && isAtRest()) break;
    }
    story.see({ kind: 'end' });
  }
  end();
  return {
    seed,
    profile: profileText(profile),
    kinds: [...profile.faults, ...profile.churn],
    simulatedMs: world.clock.passedMs(),
    checks: story.checks(),
    ...story.verdict(),
  };
}

/** What was just stored, or is about to be done outside, triggers what makes it go wrong. */
function ambush(
  sighting: Sighting,
  { faults, churn }: { readonly faults: Faults; readonly churn: Pick<Churn, 'ambush' | 'takeBack'> },
): void {
  if (sighting.kind === 'saved') faults.ambush(sighting.record.feed.at(-1)?.replica ?? '');
  else if (sighting.kind === 'effect' && sighting.effect.type === 'pod-condition.patch')
    churn.ambush(String(sighting.effect.name));
  else if (sighting.kind === 'patched' && sighting.status === 'True') churn.takeBack(sighting.name);
}
