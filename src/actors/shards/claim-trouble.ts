/**
 * Logs failing claims in one line for all holdings, because a store that refuses writes fails each of them,
 * again and again, for the same reason.
 *
 * Promises: the first failure is logged within a second, with all that fail for the same reason meanwhile;
 * while they keep failing, one line every ten seconds.
 */
import type { HostParts } from '../host/host-parts.ts';
import { pulseMs } from '../members/pulses.ts';

/** Each holding is planned every 0.6 s, so by then each has failed once. */
const gatherMs = 1_000;
const quietMs = 10_000;
const namedMax = 5;
/** A write that is not confirmed is told with its subject, another for each holding. */
const ownFence = /\bfence\.[^\s:.]+/;
const lostAgainMs = 10_000;
/** What failed is claimed again when it is next looked at. */
export const failedPauseMs = 2.5 * pulseMs;

export function createClaimTrouble({ clock, log }: Pick<HostParts, 'clock' | 'log'>) {
  /** Reason → holdings that failed for it and were not logged yet. */
  const failing = new Map<string, Set<string>>();
  let toldAt = Number.NEGATIVE_INFINITY;
  let isWaiting = false;
  const tell = () => {
    isWaiting = false;
    toldAt = clock.monotonic();
    for (const [error, holdings] of failing) {
      const named = [...holdings].slice(0, namedMax);
      log.warn(
        { holdings: named, count: holdings.size, error },
        'claims failed, and are tried again; until one succeeds, a holding may have no owner, and its work waits. If this goes on, see the error: most likely NATS takes no writes (docs/alerts.md)',
      );
    }
    failing.clear();
  };
  /** @param error the reason in words, which may name the holding's fence */
  const failed = (holding: string, error: string): void => {
    const reason = error.replace(ownFence, 'fence.*');
    const same = failing.get(reason) ?? new Set();
    failing.set(reason, same.add(holding));
    if (isWaiting) return;
    isWaiting = true;
    clock.after(Math.max(gatherMs, toldAt + quietMs - clock.monotonic()), tell);
  };
  return {
    failed,
    /** A holding that is lost again so soon did not change hands: its writes are refused. */
    lost(holding: string, sinceLastMs: number): void {
      if (sinceLastMs < lostAgainMs) failed(holding, 'lost again, soon after it was claimed');
    },
  };
}
