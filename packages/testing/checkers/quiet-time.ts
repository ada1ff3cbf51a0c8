/**
 * Since when nothing has kept the replicas from their work: all of them run and reach the broker, the API
 * server answers, and every shard has its owner. Promises with a period are judged in such times.
 */

import type { SimReplica } from '../replicas/sim-replica.ts';
import type { FaultyWorld } from '../simulation/fault-parts.ts';
import type { Sighting } from '../simulation/sightings.ts';
import type { Stage } from '../simulation/stage.ts';
import { namedTwice, ownersMissing } from './at-rest.ts';
import type { Eye, SeenReplica } from './checker.ts';

/** How the Kubernetes API fails: now, and what it left unanswered. */
type Trouble = Pick<FaultyWorld, 'kubeErrors'> & { readonly weather?: { readonly hanging: number } };

/** A world whose Kubernetes API may fail. */
export type TroubledWorld = Stage & Trouble;

export interface Quiet {
  see(sighting: Sighting): void;
  /** World time, ms; now, while it is not quiet. */
  since(): number;
}

/** Checkers look more often than that (packages/testing/simulation/seconds.ts), unless hours pass at once. */
const looksMs = 10_000;

type Seen = Pick<Eye, 'now' | 'replicas' | 'world'>;

/** Several checkers ask the same about one world. */
const known = new WeakMap<object, Quiet>();

export function createQuiet(eye: Seen, stage: Trouble): Quiet {
  const quiet = known.get(stage) ?? newQuiet(eye, stage);
  known.set(stage, quiet);
  return quiet;
}

function newQuiet(eye: Seen, stage: Trouble): Quiet {
  let since = eye.now();
  let lookedAt = since;
  let isCalm = false;
  let seen: Sighting | null = null;
  return {
    see(sighting) {
      if (sighting === seen) return;
      seen = sighting;
      if (sighting.kind === 'calm') {
        isCalm = true;
        since = eye.now();
      }
      // A clock that is set for half a second leaves deadlines behind that are long over.
      if (sighting.kind === 'done' && !isCalm && !isQuiet(eye, stage)) since = eye.now();
      // After the last fault it is judged even if something stays broken, which is a breach as well.
      if (sighting.kind !== 'second') return;
      const hasPassed = eye.now() - lookedAt > looksMs;
      lookedAt = eye.now();
      // Whoever waits for an answer that was lost learns of it after the last fault, too.
      const hangs = (stage.weather?.hanging ?? 0) > 0;
      if (hasPassed || hangs || (!isCalm && !isQuiet(eye, stage))) since = eye.now();
    },
    since: () => since,
  };
}

/** Since when every simulated replica runs, reaches the broker and has a clock that is right. */
export function createUntroubled(eye: Pick<Eye, 'now' | 'replicas'>): Quiet {
  let since = eye.now();
  return {
    see({ kind }) {
      const isTroubled = () =>
        eye.replicas().some((one) => isSimulated(one) && !isUntroubled(one, eye.now()));
      if (kind === 'second' && isTroubled()) since = eye.now();
    },
    since: () => since,
  };
}

function isQuiet(eye: Seen, { kubeErrors }: Trouble): boolean {
  const now = eye.now();
  if (kubeErrors > 0 || !eye.replicas().every((one) => isSimulated(one) && isUntroubled(one, now)))
    return false;
  return namedTwice(eye).length === 0 && ownersMissing(eye).length === 0;
}

const isSimulated = (replica: SeenReplica): replica is SimReplica => replica.engine !== undefined;

/** Clocks that are set are wrong by up to an hour; those that only differ, by up to three seconds. */
const clockOffMs = 4_000;

function isUntroubled({ isRunning, isConnected, process }: SimReplica, now: number): boolean {
  return isRunning && isConnected && Math.abs(process.clock.now() - now) < clockOffMs;
}
