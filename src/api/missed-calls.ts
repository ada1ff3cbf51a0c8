/**
 * What a mirror could not learn from a feature's watch, because a call of its code was interrupted
 * (actors/time/care.ts): which objects it keeps, and what of them.
 *
 * Promises: what failed because the call for another object did not yield is asked again soon, then less and
 * less often. An object whose own call did not yield is not asked about until it changes, or each round would
 * end with it. Until then the world keeps what it has.
 */
import { featureLimits } from '../actors/feature-limits.ts';
import type { AskAgain } from '../actors/world/watch-declaration.ts';
import { backOffMs } from '../base/back-off.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';

export type Missed = ReturnType<typeof createMissed>;

/** A call for one version of an object. */
interface Seen {
  readonly key: string;
  readonly version: string;
}

/** Objects remembered whose call does not yield; one that is forgotten is asked about once more. */
const stuckMax = 1_000;

/** @param parts the clock may be another one once the feature has started */
export function createMissed(parts: { readonly clock: Clock }) {
  const stuck = new Map<string, string>();
  let again: AskAgain = () => {};
  let names = new Map<string, Set<string>>();
  let isReadMissed = false;
  const later = createRounds(parts, () => {
    const undecided = names;
    names = new Map();
    if (isReadMissed) again(null, 'digests');
    else for (const [namespace, ones] of undecided) again(namespace, [...ones]);
    isReadMissed = false;
  });
  return {
    onAgain(callback: AskAgain): void {
      again = callback;
    },
    isStuck: ({ key, version }: Seen): boolean => stuck.get(key) === version,
    noteStuck({ key, version }: Seen): void {
      stuck.delete(key);
      stuck.set(key, version);
      const [oldest] = stuck.keys();
      if (stuck.size > stuckMax && oldest !== undefined) stuck.delete(oldest);
    },
    /** All objects are read again, because nobody holds them. */
    readAgain(): void {
      isReadMissed = true;
      later();
    },
    askAgain(namespace: string, name: string): void {
      names.set(namespace, (names.get(namespace) ?? new Set()).add(name));
      later();
    },
  };
}

/** Runs work once the call may be made again; then less and less often, while it is asked for. */
function createRounds(parts: { readonly clock: Clock }, work: () => void): () => void {
  let rounds = 0;
  let isDue = false;
  let lastAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (isDue) return;
    const { clock } = parts;
    if (clock.monotonic() - lastAt > 2 * limits.failedAgainMs) rounds = 0;
    isDue = true;
    const pauseMs = backOffMs(rounds, featureLimits.callAgainMs, limits.failedAgainMs);
    rounds += 1;
    lastAt = clock.monotonic() + pauseMs;
    clock.after(pauseMs, () => {
      isDue = false;
      work();
    });
  };
}
