/**
 * The system's clock with the time since the machine started, for code that must count suspensions. Not for
 * browsers.
 */
import { uptime } from 'node:os';
import { type Clock, systemClock } from '../../base/clock.ts';
import { attempt } from '../../base/errors.ts';

/**
 * Reading it opens a file, 20 µs, and its resolution is 10 ms, so a value is cached for this time, ms: of
 * monotonic time, which may stand still while the machine sleeps, and of wall time, which does not.
 */
const freshMs = 10;

const sinceBoot = bootClock();

export const machineClock: Clock = sinceBoot === null ? systemClock : { ...systemClock, sinceBoot };

/** On other systems it has whole seconds only, or follows wall time. */
function bootClock(): (() => number) | null {
  if (process.platform !== 'linux') return null;
  return attempt(() => (uptime() > 0 ? remembered(() => uptime() * 1_000) : null), null);
}

/** The same, read once in `freshMs`, and when wall time has leapt: the machine may have slept. */
export function remembered(
  read: () => number,
  clock: Pick<Clock, 'now' | 'monotonic'> = systemClock,
): () => number {
  let [readAt, apart, ahead] = [Number.NEGATIVE_INFINITY, 0, 0];
  return () => {
    const now = clock.monotonic();
    const apartNow = clock.now() - now;
    if (now - readAt >= freshMs || Math.abs(apartNow - apart) >= freshMs)
      [readAt, apart, ahead] = [now, apartNow, read() - now];
    return now + ahead;
  };
}
