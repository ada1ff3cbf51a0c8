/**
 * Limits reads: a burst, then a rate, first come, first served. Kubernetes' own controllers bound their work
 * queues in the same way. A thousand Services that fail together then cost the API server no more than a few.
 */
import { type Clock, sleep } from '../../../base/clock.ts';

export function createReadTurns(
  clock: Clock,
  { perSecond, atOnce }: { readonly perSecond: number; readonly atOnce: number },
) {
  const everyMs = 1_000 / perSecond;
  /** When the next turn is due at the steady rate, monotonic ms; up to a burst in the past. */
  let next = Number.NEGATIVE_INFINITY;
  return {
    /** Resolves at the caller's turn; rejects with the signal. */
    async take(signal: AbortSignal): Promise<void> {
      const now = clock.monotonic();
      next = Math.max(next, now - (atOnce - 1) * everyMs);
      const at = next;
      next += everyMs;
      if (at > now) await sleep(clock, at - now, signal);
    },
  };
}
