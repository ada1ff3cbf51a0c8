/**
 * What a checker is: it sees everything, keeps what it needs, and says when a promise is broken. It never
 * changes anything, and what it knows comes from outside of the replicas (streams, the simulated Kubernetes
 * and routing), not from what they believe.
 */

import type { SimReplica } from '../replicas/sim-replica.ts';
import type { Sighting } from '../simulation/sightings.ts';
import type { Stage } from '../simulation/stage.ts';

/** @template W what the checker needs of the world; most are content with the stage */
export interface Eye<W extends Stage = Stage> {
  readonly world: W;
  /** World time, ms since the epoch. */
  now(): number;
  /** Replicas that live, paused ones included. */
  replicas(): readonly SimReplica[];
  /** The promise is broken. */
  breach(text: string): void;
}

export type Checker = (sighting: Sighting) => void;

export interface CheckerKind<W extends Stage = Stage> {
  /** What it is cited by: the number of an invariant, or the words of the specification. */
  readonly name: string;
  readonly create: (eye: Eye<W>) => Checker;
}
