/**
 * Time: the only file that reads the system's clock and sets timers.
 *
 * Owns wall time, monotonic time and the timers of one process. Everything that waits takes a `Clock`, so
 * tests and the simulation can use a virtual one. No other file may call `Date.now`, `performance.now`,
 * `setTimeout` or `setInterval` (test/tidy.test.ts).
 */

/** A running timer. Cancelling twice, or after it fired, does nothing. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall time in milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds since an arbitrary start; never goes back, stands still while the machine is suspended. */
  monotonic(): number;
  /**
   * Milliseconds since the machine started, suspensions included, to about 10 ms; absent where the system
   * does not provide it.
   */
  sinceBoot?(): number;
  /** Calls `fn` once after `delayMs` (clamped to 0 … 24.8 days, the longest a Node timer can hold). */
  after(delayMs: number, fn: () => void): Timer;
}

/** The longest delay that a Node timer can hold; a longer one would fire at once. */
const timerDelayMaxMs = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, fn) {
    const handle = setTimeout(fn, Math.min(Math.max(0, delayMs), timerDelayMaxMs));
    return { cancel: () => clearTimeout(handle) };
  },
};

/**
 * Resolves after `delayMs`, or rejects with the signal's reason as soon as it is aborted.
 *
 * @param delayMs milliseconds
 */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/**
 * Milliseconds until the next multiple of `periodMs` on this clock. Whoever looks once in a period waits
 * this long, so that all of them wake the process together.
 */
export function untilNextBeat(clock: Pick<Clock, 'monotonic'>, periodMs: number): number {
  const left = Math.ceil(periodMs - (clock.monotonic() % periodMs));
  // A timer may fire a little before its time: that was this beat, not the one before.
  return left < periodMs / 10 ? left + periodMs : left;
}

/** RFC 3339 with milliseconds, from milliseconds since the epoch. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString();
}
