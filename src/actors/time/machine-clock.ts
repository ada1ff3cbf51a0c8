/**
 * The system's clock with the time since the machine started, for code that must count suspensions. Not for
 * browsers.
 */
import { uptime } from 'node:os';
import { type Clock, systemClock } from '../../base/clock.ts';
import { attempt } from '../../base/errors.ts';

/** Reading it opens a file, 20 µs, and its resolution is 10 ms, so a value is cached for this time, ms. */
const freshMs = 10;

const sinceBoot = bootClock();

export const machineClock: Clock = sinceBoot === null ? systemClock : { ...systemClock, sinceBoot };

/** On other systems it has whole seconds only, or follows wall time. */
function bootClock(): (() => number) | null {
  if (process.platform !== 'linux') return null;
  return attempt(() => (uptime() > 0 ? remembered(() => uptime() * 1_000) : null), null);
}

/** The same, read at most once in `freshMs`. */
function remembered(read: () => number): () => number {
  let [readAt, ahead] = [Number.NEGATIVE_INFINITY, 0];
  return () => {
    const now = systemClock.monotonic();
    if (now - readAt >= freshMs) [readAt, ahead] = [now, read() - now];
    return now + ahead;
  };
}
