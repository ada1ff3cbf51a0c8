/**
 * What a checker is: it sees everything, keeps what it needs, and says when a promise is broken. It never
 * changes anything, and what it knows comes from outside of the replicas (streams, the simulated Kubernetes
 * and routing), not from what they believe.
 */

import type { Engine } from '../../../src/actors/engine.ts';
import type { Clock } from '../../../src/base/clock.ts';
import type { Sighting } from '../simulation/sightings.ts';

/** What is to know of a cluster, simulated or of real processes, to judge what is seen of it. */
export interface Scene {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** How many there are. */
  readonly shards: number;
}

export interface SeenReplica {
  readonly name: string;
  /** What it has tried to store since it began. */
  readonly appends: number;
  /** Absent: it is a process of its own. */
  readonly engine?: Engine;
  /** Absent: it is not known whether it stands still. */
  readonly process?: { readonly state: string };
}

/** @template W what the checker needs of the world; most are content with the scene */
export interface Eye<W extends Scene = Scene> {
  readonly world: W;
  /** World time, ms since the epoch. */
  now(): number;
  /** Replicas that live, paused ones included. */
  replicas(): readonly SeenReplica[];
  /** The promise is broken. */
  breach(text: string): void;
}

export type Checker = (sighting: Sighting) => void;

export interface CheckerKind<W extends Scene = Scene> {
  /** What it is cited by: the number of an invariant, or the words of the specification. */
  readonly name: string;
  readonly create: (eye: Eye<W>) => Checker;
}
