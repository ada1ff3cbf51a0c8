/**
 * What a checker is: it sees everything, keeps what it needs, and says when a promise is broken. It never
 * changes anything. What it knows comes from outside the replicas (streams, the simulated Kubernetes and
 * routing), not from what they believe.
 */

import type { Engine } from '../../../src/actors/engine.ts';
import type { Clock } from '../../../src/base/clock.ts';
import type { Sighting } from '../simulation/sightings.ts';

/** What a judge has to know of a cluster, simulated or of real processes. */
export interface Scene {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Number of shards. */
  readonly shards: number;
}

export interface SeenReplica {
  readonly name: string;
  /** Number of appends that it has tried since it began. */
  readonly appends: number;
  /** Absent: it is a process of its own. */
  readonly engine?: Engine;
  /** Absent: whether it is paused is unknown. */
  readonly process?: { readonly state: string };
}

/** @template W what the checker needs of the world; for most, the scene is enough */
export interface Eye<W extends Scene = Scene> {
  readonly world: W;
  /** World time, ms since the epoch. */
  now(): number;
  /** Living replicas, paused ones included. */
  replicas(): readonly SeenReplica[];
  /** The promise is broken. */
  breach(text: string): void;
}

export type Checker = (sighting: Sighting) => void;

export interface CheckerKind<W extends Scene = Scene> {
  /** The number of an invariant, or the words of a page. */
  readonly name: string;
  readonly create: (eye: Eye<W>) => Checker;
}
