/**
 * Calls the code of loaded features with care, so that code that never yields does not hold every actor of
 * its replica.
 *
 * Promises: a watchdog of the process knows which feature's code is running (`Marks`). A call into a feature
 * under suspicion is interrupted if it does not return in time; it then fails as if it had thrown, so it
 * hurts only the actor for which it was made (I8), and is not repeated at once for others. Care costs about
 * 0.1 ms a call, so it needs a reason: a replica that had actors of the feature died silently, another
 * replica reports the feature in its beats, or a call was interrupted. Suspicion ends when there was no such
 * sign for a while.
 */

import type { Clock } from '../../base/clock.ts';
import { OrreryError } from '../../base/errors.ts';
import type { Ambient } from '../../base/log-port.ts';
import { featureLimits } from '../feature-limits.ts';
import { boundedCall, isOverdue } from './bounded-call.ts';

/** Where a process notes which code it is running, for a thread that watches it. */
export interface Marks {
  enter(feature: string, what: string): void;
  leave(): void;
}

export interface Care {
  /**
   * Calls code of a feature.
   *
   * @param what the purpose of the call, for people
   * @throws the code's exception; OrreryError INVARIANT if it was interrupted
   */
  run<T>(feature: string, what: string, work: () => T): T;
  /** A replica that had actors of the feature died silently. */
  suspect(feature: string): void;
  /** Features that other replicas have a reason to call with care. */
  heard(features: Iterable<string>): void;
  /** Features that this replica itself has a reason to call with care. */
  suspects(): readonly string[];
  /** What an operator should know, in words. */
  remarks(): readonly string[];
}

export const noCare: Care = {
  run: (_feature, _what, work) => work(),
  suspect() {},
  heard() {},
  suspects: () => [],
  remarks: () => [],
};

export function createCare({
  clock,
  log,
  marks,
}: Pick<Ambient, 'clock' | 'log'> & { readonly marks: Marks }): Care {
  /** End of the suspicion, monotonic ms. */
  const until = new Map<string, number>();
  const interruptions = createInterruptions(clock);
  let others: ReadonlySet<string> = new Set();
  let depth = 0;

  const suspect = (feature: string) => void until.set(feature, clock.monotonic() + featureLimits.careMs);
  const isSuspect = (feature: string) => (until.get(feature) ?? 0) > clock.monotonic();
  const careful = <T>(feature: string, what: string, work: () => T): T => {
    if (interruptions.wasJust(feature, what)) throw interrupted(feature, what);
    try {
      return boundedCall(work, featureLimits.callMs);
    } catch (thrown) {
      if (!isOverdue(thrown)) throw thrown;
      suspect(feature);
      interruptions.note(feature, what);
      log.error({ feature, what }, 'code of a feature does not yield; it was interrupted');
      throw interrupted(feature, what, thrown);
    }
  };
  return {
    run(feature, what, work) {
      if (depth > 0) return work();
      depth++;
      marks.enter(feature, what);
      try {
        return isSuspect(feature) || others.has(feature) ? careful(feature, what, work) : work();
      } finally {
        marks.leave();
        depth--;
      }
    },
    suspect,
    heard(features) {
      others = new Set(features);
    },
    suspects: () => [...until.keys()].filter(isSuspect),
    remarks: () => interruptions.recent().map(([feature, what]) => heldUp(feature, what)),
  };
}

/** For each feature: as many as somebody reads. */
const rememberedCalls = 10;

/** Interrupted calls and their times, by feature, newest last. */
function createInterruptions(clock: Clock) {
  const known = new Map<string, ReadonlyMap<string, number>>();
  const isWithin = (at: number | undefined, ms: number) => at !== undefined && clock.monotonic() - at < ms;
  const recentOf = (feature: string) =>
    [...(known.get(feature) ?? [])].filter(([, at]) => isWithin(at, featureLimits.careMs));
  return {
    note(feature: string, what: string): void {
      const others = recentOf(feature).filter(([one]) => one !== what);
      known.set(feature, new Map([...others.slice(1 - rememberedCalls), [what, clock.monotonic()]]));
    },
    wasJust: (feature: string, what: string): boolean =>
      isWithin(known.get(feature)?.get(what), featureLimits.callAgainMs),
    /** The feature and the call of each. */
    recent: (): ReadonlyArray<readonly [feature: string, what: string]> =>
      [...known.keys()].flatMap((feature) => recentOf(feature).map(([what]) => [feature, what] as const)),
  };
}

const interrupted = (feature: string, what: string, cause?: unknown) =>
  new OrreryError('INVARIANT', heldUp(feature, what), { cause, facts: { interrupted: true } });

/** Whether a call failed because it, or the same call shortly before, did not yield. */
export const isInterrupted = (thrown: unknown): boolean =>
  thrown instanceof OrreryError && thrown.facts.interrupted === true;

/** Whether this very call did not yield; otherwise the same one shortly before did not. */
export const isOwnInterruption = (thrown: unknown): boolean =>
  isInterrupted(thrown) && (thrown as OrreryError).cause !== undefined;

const heldUp = (feature: string, what: string) =>
  `code of the feature ${feature} did not yield for ${featureLimits.callMs} ms and was interrupted: ${what}`;
