/**
 * The simulation that follows from a seed: its size, its times and what may fail. Each kind of fault is on or
 * off for a whole run, so that rare combinations come up often (swarm testing, Groce et al. 2012).
 */

import { type FaultKind, faultKinds } from '../../packages/testing/simulation/fault-kinds.ts';
import type { Chance } from '../../packages/testing/time/chance.ts';
import { shardCount } from '../../src/base/limits.ts';

/** What may happen in the world. */
export const churnKinds = [
  'replacePod',
  'addPod',
  'removePod',
  'addService',
  'removeService',
  'recreateService',
  'togglePort',
  'moveService',
  'editGate',
  'recreateGate',
  'owner',
  'changeAddress',
  'blackHole',
  'takeBack',
  'recheck',
  'garbage',
  'replaceAtPatch',
  'changeMind',
  'blinkService',
  'blinkPod',
] as const;
/** Drawn last, so that the stories of seeds stay what they were without them. */
const fickleKinds: readonly ChurnKind[] = ['changeMind', 'blinkService', 'blinkPod'];
export type ChurnKind = (typeof churnKinds)[number];

export interface Profile {
  readonly replicas: number;
  readonly groups: number;
  readonly podsPerGroup: number;
  readonly servicesPerGroup: number;
  readonly family: 'IPv4' | 'IPv6';
  readonly address: 'dns' | 'clusterIP';
  readonly whenRouteIsLost: 'keep' | 'withdraw';
  readonly hasOwner: boolean;
  /** Pods must carry a variable to be verifiable. */
  readonly hasEnv: boolean;
  /** Groups whose Pods do not name themselves. */
  readonly anonymousGroups: number;
  /** The probability that an address passes to the next Pod of a name. */
  readonly sameAddress: number;
  /** Time before everything goes well, ms. */
  readonly chaosMs: number;
  readonly churnEveryMs: number;
  readonly askEveryMs: number;
  readonly faultEveryMs: number;
  readonly latencyMaxMs: number;
  /** By followed stream. */
  readonly followLagMaxMs: Readonly<Record<'world' | 'state' | 'mail', number>>;
  readonly mirrorDelayMaxMs: number;
  readonly learnMaxMs: number;
  readonly skewMaxMs: number;
  readonly faults: ReadonlySet<FaultKind>;
  readonly churn: ReadonlySet<ChurnKind>;
  /**
   * Few: the actors share one and move together, and a run costs less. As many as the program has: each moves
   * alone.
   */
  readonly shards: number;
  /**
   * How fast things are that repeat by their settings: as fast as allowed, so that much happens in half a
   * minute, or as usual, mostly in long runs.
   */
  readonly pace: 'quick' | 'usual';
}

/** From this length on a run is a long one, ms. */
const longMs = 300_000;

export function drawProfile(chance: Chance, chaosMs: number): Profile {
  const someOf = <T>(all: readonly T[], share: number) => new Set(all.filter(() => chance.happens(share)));
  const steady = churnKinds.filter((kind) => !fickleKinds.includes(kind));
  const lagMs = () => chance.pick([0, 5, 200, 1_500]) ?? 0;
  const drawn: Profile = {
    replicas: chance.pick([1, 2, 2, 3, 3, 4]) ?? 1,
    groups: chance.int(1, 2),
    podsPerGroup: chance.int(1, 4),
    servicesPerGroup: chance.int(1, 4),
    family: chance.happens(0.8) ? 'IPv4' : 'IPv6',
    address: chance.happens(0.5) ? 'dns' : 'clusterIP',
    whenRouteIsLost: chance.happens(0.6) ? 'keep' : 'withdraw',
    hasOwner: chance.happens(0.4),
    hasEnv: chance.happens(0.2),
    anonymousGroups: chance.happens(0.15) ? 1 : 0,
    sameAddress: chance.pick([0, 0.3, 1]) ?? 0,
    chaosMs,
    churnEveryMs: chance.between(400, 5_000),
    askEveryMs: chance.between(100, 3_000),
    faultEveryMs: chance.between(600, 8_000),
    latencyMaxMs: chance.pick([0.2, 2, 30]) ?? 1,
    followLagMaxMs: { world: lagMs(), state: lagMs(), mail: lagMs() },
    mirrorDelayMaxMs: chance.pick([2, 50, 1_500]) ?? 2,
    learnMaxMs: chance.pick([10, 1_000, 15_000]) ?? 10,
    skewMaxMs: chance.pick([0, 0, 200, 3_000]) ?? 0,
    faults: someOf(faultKinds, 0.5),
    churn: someOf(steady, 0.6),
    shards: chance.pick([2, 8, 8, 8, shardCount]) ?? shardCount,
    pace: chaosMs >= longMs && chance.happens(0.95) ? 'usual' : 'quick',
  };
  return { ...drawn, churn: new Set([...drawn.churn, ...someOf(fickleKinds, 0.3)]) };
}

/** The same profile without some kinds of fault and of change. */
export function leaveOut(profile: Profile, kinds: readonly string[] = []): Profile {
  const left = <T extends string>(all: ReadonlySet<T>) =>
    new Set([...all].filter((one) => !kinds.includes(one)));
  return { ...profile, faults: left(profile.faults), churn: left(profile.churn) };
}

/** One line for people. */
export function profileText(profile: Profile): string {
  const { faults, churn, ...rest } = profile;
  const shown = (value: unknown) =>
    typeof value === 'number' ? `${Math.round(value * 10) / 10}` : JSON.stringify(value).replaceAll('"', '');
  const fields = Object.entries(rest).map(([name, value]) => `${name} ${shown(value)}`);
  return `${fields.join(', ')}; faults: ${[...faults].join(' ')}; churn: ${[...churn].join(' ')}`;
}
