/** What NATS does not do for this process, from the first failure until it does: for people, in `/readyz`. */
import type { Clock } from '../base/clock.ts';
import { age } from '../base/words.ts';

export interface BusTrouble {
  /** What is in trouble: `connection`, or anything else that tells it apart. */
  readonly what: string;
  /** A sentence. */
  readonly text: string;
  /** Monotonic ms. */
  readonly since: number;
  /** Replicas work all the same. */
  readonly isMinor?: boolean;
  /** The subjects that this user may not hear. */
  readonly refused?: string;
}

/** What it is, and for how long. @param now monotonic ms */
export const lastingText = ({ text, since }: BusTrouble, now: number): string =>
  `${text} (for ${age(now - since)})`;

export interface Troubles {
  note(what: string, text: string, more?: Pick<BusTrouble, 'isMinor' | 'refused'>): void;
  /** Returns whether it was in trouble. */
  over(what: string): boolean;
  all(): readonly BusTrouble[];
}

export function createTroubles(clock: Clock): Troubles {
  const known = new Map<string, BusTrouble>();
  return {
    note(what, text, more = {}) {
      known.set(what, { ...more, what, text, since: known.get(what)?.since ?? clock.monotonic() });
    },
    over: (what) => known.delete(what),
    all: () => [...known.values()],
  };
}
