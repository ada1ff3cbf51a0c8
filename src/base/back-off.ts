/** Back-off: pauses that grow with each failure, before it is tried again, and before it is told again. */
import type { Clock } from './clock.ts';

/**
 * @param failures number of failures so far; 0 gives the first pause
 * @returns milliseconds: `minMs`, doubled with each failure, at most `maxMs`
 */
export function backOffMs(failures: number, minMs: number, maxMs: number): number {
  // 2 ** 52 is the last exact power; no pause is that long.
  return Math.min(minMs * 2 ** Math.min(Math.max(failures, 0), 52), maxMs);
}

/** When a trouble that lasts is told again: a line of the log each few seconds would fill disks in a week. */
export interface Repeats {
  /** To be called with each failure: whether this one is to be told. */
  isDue(): boolean;
  /** The trouble is over. Returns whether it was told. */
  over(): boolean;
}

const tellAgainMs = { first: 10_000, most: 600_000 };
/** Without a failure for this long, the next is told at once. */
const quietMs = 60_000;

export function createRepeats(clock: Pick<Clock, 'monotonic'>): Repeats {
  let count = 0;
  let nextAt = Number.NEGATIVE_INFINITY;
  let failedAt = Number.NEGATIVE_INFINITY;
  let isTold = false;
  return {
    isDue() {
      const now = clock.monotonic();
      if (now - failedAt > quietMs) {
        count = 0;
        nextAt = now;
      }
      failedAt = now;
      if (now < nextAt) return false;
      nextAt = now + backOffMs(count++, tellAgainMs.first, tellAgainMs.most);
      isTold = true;
      return true;
    },
    over() {
      const wasTold = isTold;
      isTold = false;
      return wasTold;
    },
  };
}
