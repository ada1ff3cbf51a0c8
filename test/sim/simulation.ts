/**
 * One seed: a cluster of replicas in a world in which everything that can fail does, then peace, until everything is at rest.
 *
 * Promises: the same seed gives the same story (`fingerprint` tells); the first broken promise ends the run.
 */
import { hash } from '../../src/actors/rendezvous.ts';
import type { Transition } from '../../src/views.ts';
import { createChance } from './chance.ts';
import { checkers } from './checkers/all.ts';
import type { Eye } from './checkers/checker.ts';
import { createSettlement, restMs, unsettled } from './checkers/settled.ts';
import { createChurn } from './churn.ts';
import { createFaults } from './faults.ts';
import { drawProfile, type Profile, profileText } from './profile.ts';
import type { See, Sighting } from './sightings.ts';
import { SimReplica } from './sim-replica.ts';
import { createShop } from './sim-shop.ts';
import { createSimWorld, type Trace } from './sim-world.ts';

export interface SimulationOptions {
  readonly seed: number;
  /** How long things happen and fail, ms of simulated time. */
  readonly chaosMs: number;
  /** Takes each sighting, with the time since the start, ms. */
  readonly onSighting?: (atMs: number, sighting: Sighting) => void;
  readonly trace?: Trace;
}

export interface Breach {
  /** Which promise: the checker's name. */
  readonly promise: string;
  readonly text: string;
  /** Since the start of the simulation, ms. */
  readonly atMs: number;
}

export interface Outcome {
  readonly seed: number;
  readonly profile: string;
  readonly breach: Breach | null;
  readonly simulatedMs: number;
  readonly steps: number;
  readonly transitions: readonly Transition[];
  /** The same for the same story. */
  readonly fingerprint: string;
}

/** What was done last has left its traces by then. */
const calmLeastMs = 8_000;

export async function simulate(options: SimulationOptions): Promise<Outcome> {
  const { seed, chaosMs } = options;
  const chance = createChance(seed);
  const profile = drawProfile(chance.of('profile'), chaosMs);
  const story = createStory(options);
  const world = createSimWorld({
    chance,
    times: profile,
    see: story.see,
    trace: options.trace ?? null,
  });
  const replicas = new Map<string, SimReplica>();
  const live = () => [...replicas.values()].filter(({ process }) => process.state !== 'dead');
  const settlement = createSettlement(world);
  story.listen(settlement.see);
  story.watch({ world, now: () => world.clock.now(), replicas: live, breach: () => {} });
  const say = (text: string) => story.see({ kind: 'done', text });
  const lives = chance.of('lives');
  const start = (name: string) => {
    const skewMs = lives.between(-profile.skewMaxMs, profile.skewMaxMs);
    const sleepsWhilePaused = lives.happens(0.3);
    say(`${name} starts`);
    replicas.set(
      name,
      new SimReplica({
        world,
        name,
        skewMs,
        sleepsWhilePaused,
        chance: lives.of(`${name} ${lives.int(0, 1e9)}`),
      }),
    );
  };
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

  if (chance.happens(0.5)) churn.begin();
  else world.clock.after(chance.between(0, 3_000), () => churn.begin());
  for (let n = 0; n < profile.replicas; n++) {
    world.clock.after(n === 0 ? 0 : chance.between(0, 2_000), () => start(`r${n}`));
  }
  everySecond(world.clock, story.see);
  act(world.clock, chance.of('when'), profile, { churn: churn.act, fault: faults.act });
  await world.clock.run(chaosMs, story.isOver);
  if (!story.isOver()) {
    faults.end();
    churn.heal();
    story.see({ kind: 'calm' });
    const isAtRest = () => unsettled({ world, replicas: live }, settlement).length === 0;
    for (let waited = 0; waited <= restMs + 5_000 && !story.isOver(); waited += 1_000) {
      await world.clock.run(1_000, story.isOver);
      if (waited >= calmLeastMs && isAtRest()) break;
    }
    story.see({ kind: 'end' });
  }
  for (const replica of replicas.values()) replica.kill(false);
  return story.outcome(profileText(profile), world.clock.monotonic());
}

/** Sets off what happens and what fails, at drawn times, until the chaos is over. */
function act(
  clock: { after(ms: number, fn: () => void): unknown; monotonic(): number },
  chance: ReturnType<typeof createChance>,
  { churnEveryMs, faultEveryMs, chaosMs }: Profile,
  actions: { readonly churn: () => void; readonly fault: () => void },
): void {
  const again = (everyMs: number, action: () => void) => {
    const pauseMs = chance.between(0, 2 * everyMs);
    if (clock.monotonic() + pauseMs >= chaosMs) return;
    clock.after(pauseMs, () => {
      action();
      again(everyMs, action);
    });
  };
  again(churnEveryMs, actions.churn);
  again(faultEveryMs, actions.fault);
}

function everySecond(clock: { after(ms: number, fn: () => void): unknown }, see: See): void {
  const tick = () => {
    see({ kind: 'second' });
    clock.after(1_000, tick);
  };
  tick();
}

/** What was seen, judged by the checkers. */
function createStory({ seed, onSighting }: SimulationOptions) {
  const transitions: Transition[] = [];
  const judges: Array<(sighting: Sighting) => void> = [];
  let breach: Breach | null = null;
  let steps = 0;
  let print = 0;
  let now = () => 0;
  const see: See = (sighting) => {
    // What the last breaths of a run bring is nobody's fault.
    if (breach !== null) return;
    onSighting?.(now(), sighting);
    if (sighting.kind === 'saved') {
      if (sighting.record.rev !== sighting.before?.rev) steps++;
      print = hash(
        `${print} ${sighting.id} ${sighting.sequence} ${now()} ${sighting.record.feed.at(-1)?.to}`,
      );
    }
    if (sighting.kind === 'told') transitions.push(sighting.transition);
    for (const judge of judges) judge(sighting);
  };
  return {
    see,
    listen: (listener: (sighting: Sighting) => void) => void judges.push(listener),
    isOver: () => breach !== null,
    watch(eye: Eye) {
      now = () => eye.world.clock.monotonic();
      for (const { name, create } of checkers) {
        const onBreach = (text: string) => {
          breach ??= { promise: name, text, atMs: Math.round(now()) };
        };
        judges.push(create({ ...eye, breach: onBreach }));
      }
    },
    outcome: (profile: string, simulatedMs: number): Outcome => ({
      seed,
      profile,
      breach,
      simulatedMs,
      steps,
      transitions,
      fingerprint: (print >>> 0).toString(16),
    }),
  };
}
