/**
 * Repeats calls of a feature's code that were interrupted (actors/time/care.ts). The code is pure, and an
 * interruption says nothing of the object for which it was called: one call that does not yield makes the
 * same call fail for all others for a while, and nothing else would bring those back.
 *
 * Promises: repeated after the time for which the call fails, then less and less often while some call is
 * interrupted again. What was called first goes last, so one that never yields holds up no other for ever.
 */
import { featureLimits } from '../actors/feature-limits.ts';
import { backOffMs } from '../base/back-off.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';

export interface InterruptedCalls<T> {
  /** To be repeated, with the latest object under this key. */
  note(key: string, what: T): void;
  forget(key: string): void;
  /** Whether some are worth waiting for: they were not repeated several times. */
  readonly isAwaited: boolean;
}

/** By then 17 s have passed. */
const awaitedRounds = 3;

/** @param repeat makes the calls again, in this order, and notes what is interrupted */
export function createInterruptedCalls<T>(
  clock: Clock,
  repeat: (missed: ReadonlyMap<string, T>) => void,
): InterruptedCalls<T> {
  let missed = new Map<string, T>();
  let rounds = 0;
  let isDue = false;
  const round = () => {
    isDue = false;
    const [first, ...others] = missed;
    missed = new Map();
    rounds++;
    repeat(new Map(first === undefined ? [] : [...others, first]));
    if (missed.size === 0) rounds = 0;
  };
  return {
    note(key, what) {
      missed.set(key, what);
      if (!isDue) clock.after(backOffMs(rounds, featureLimits.callAgainMs, limits.failedAgainMs), round);
      isDue = true;
    },
    forget: (key) => void missed.delete(key),
    get isAwaited() {
      return missed.size > 0 && rounds < awaitedRounds;
    },
  };
}
