/**
 * How fast the actors of a loaded feature may go: a feature that floods, or whose actors keep waking
 * themselves, is slowed down, so that all other actors get their turn.
 *
 * One bucket for each feature and replica: what it has saved up lets a start, or a burst of news, through at
 * once.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import { featureLimits } from '../feature-limits.ts';

export interface Pace {
  /** @returns resolves when so many are allowed; undefined: at once */
  take(count: number): Promise<void> | undefined;
}

export function createPace(clock: Clock, { perSecond, burst }: { perSecond: number; burst: number }): Pace {
  let tokens = burst;
  let at = clock.monotonic();
  return {
    take(count) {
      const now = clock.monotonic();
      tokens = Math.min(burst, tokens + ((now - at) * perSecond) / 1_000) - count;
      at = now;
      // Those that wait have taken theirs already: each waits for its own.
      return tokens >= 0 ? undefined : sleep(clock, (-tokens * 1_000) / perSecond);
    },
  };
}

/** By the feature of an actor; kinds of the program itself have none. */
export interface Paces {
  steps(kind: string): Promise<void> | undefined;
  messages(kind: string, count: number): Promise<void> | undefined;
}

export function createPaces(clock: Clock, featureOf: (kind: string) => string | undefined): Paces {
  const paceOf = (limit: { readonly perSecond: number; readonly burst: number }) => {
    const paces = new Map<string, Pace>();
    return (kind: string, count = 1) => {
      const feature = featureOf(kind);
      if (feature === undefined) return undefined;
      const pace = paces.get(feature) ?? createPace(clock, limit);
      paces.set(feature, pace);
      return pace.take(count);
    };
  };
  const { stepsPerSecond, stepsSavedUp, messagesPerSecond, messagesSavedUp } = featureLimits;
  return {
    steps: paceOf({ perSecond: stepsPerSecond, burst: stepsSavedUp }),
    messages: paceOf({ perSecond: messagesPerSecond, burst: messagesSavedUp }),
  };
}

/** Waits, and tells whether the shard is still worked on. */
export async function isActiveAfter(
  pacing: Promise<void>,
  shard: { readonly phase: string },
): Promise<boolean> {
  await pacing;
  return shard.phase === 'active';
}
