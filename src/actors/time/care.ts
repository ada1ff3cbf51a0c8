/**
 * How the code of loaded features is called: what never yields must not hold every actor of its replica.
 *
 * Promises: whoever watches over the process knows which feature's code it is in (`Marks`). A feature under
 * suspicion is called with care: what doesn't yield in time is interrupted, and fails as if it had thrown, so
 * that it hurts the actor that it was called for (I8), and is not tried again at once for others. Care costs
 * about 0.1 ms a call, so there has to be a reason for it: a replica that had actors of the feature ended
 * without a word, another replica says so in its beats, or a call was interrupted. It lasts until nothing of
 * the kind was seen for a while.
 */

import type { Clock } from '../../base/clock.ts';
import { OrreryError } from '../../base/errors.ts';
import type { Ambient } from '../../base/log-port.ts';
import { featureLimits } from '../feature-limits.ts';
import { boundedCall, isOverdue } from './bounded-call.ts';

/** Where a process notes what code it is in, for a thread beside it. */
export interface Marks {
  enter(feature: string, what: string): void;
  leave(): void;
}

export interface Care {
  /**
   * Calls code of a feature. @param what it is called for, for people
   * @throws what it throws; OrreryError INVARIANT if it was interrupted
   */
  run<T>(feature: string, what: string, work: () => T): T;
  /** A replica that had actors of the feature ended without a word. */
  suspect(feature: string): void;
  /** Features that other replicas have a reason to call with care. */
  heard(features: Iterable<string>): void;
  /** Those for which this replica has a reason of its own. */
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
  /** Until when, monotonic ms. */
  const until = new Map<string, number>();
  const interruptions = createInterruptions(clock);
  let others: ReadonlySet<string> = new Set();
  let depth = 0;

  const suspect = (feature: string) => void until.set(feature, clock.monotonic() + featureLimits.careMs);
  const isSuspect = (feature: string) => (until.get(feature) ?? 0) > clock.monotonic();
  const careful = <T>(feature: string, what: string, work: () => T): T => {
    if (interruptions.wasJust(feature, what)) throw new OrreryError('INVARIANT', heldUp(feature, what));
    try {
      return boundedCall(work, featureLimits.callMs);
    } catch (thrown) {
      if (!isOverdue(thrown)) throw thrown;
      suspect(feature);
      interruptions.note(feature, what);
      log.error({ feature, what }, 'code of a feature does not yield; it was interrupted');
      throw new OrreryError('INVARIANT', heldUp(feature, what), { cause: thrown });
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

/** Of one feature: as many as somebody reads. */
const rememberedCalls = 10;

/** What was interrupted, and when; by feature, newest last. */
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
    /** Feature and call of each. */
    recent: (): ReadonlyArray<readonly [feature: string, what: string]> =>
      [...known.keys()].flatMap((feature) => recentOf(feature).map(([what]) => [feature, what] as const)),
  };
}

const heldUp = (feature: string, what: string) =>
  `code of the feature ${feature} did not yield for ${featureLimits.callMs} ms and was interrupted: ${what}`;
