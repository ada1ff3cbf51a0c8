/** Waiting in tests: for a condition, never for a time. */
import { sleep, systemClock } from '../src/base/clock.ts';

const leastPauseMs = 10;
const mostPauseMs = 100;
/** A look that takes long, at a server or a browser, leaves the processor to those it waits for. */
const pausePerLook = 10;

/**
 * Resolves with the first truthy value of `probe`; looks every 10 ms, and less often, up to every 100 ms,
 * where the look itself takes time.
 *
 * @param options.timeoutMs bound on the whole wait, default 30 s: a busy machine is slow, not wrong
 * @throws Error that names `what` and the last thing that `probe` threw
 */
export async function until<T>(
  probe: () => T | Promise<T>,
  options: { what: string; timeoutMs?: number },
): Promise<NonNullable<T>> {
  const deadline = systemClock.monotonic() + (options.timeoutMs ?? 30_000);
  let lastError: unknown;
  for (let now = systemClock.monotonic(); now < deadline; ) {
    const begun = now;
    try {
      const value = await probe();
      if (value) return value;
    } catch (error) {
      lastError = error;
    }
    const lookMs = systemClock.monotonic() - begun;
    await sleep(systemClock, Math.min(Math.max(leastPauseMs, pausePerLook * lookMs), mostPauseMs));
    now = systemClock.monotonic();
  }
  throw new Error(`waited too long for: ${options.what}`, { cause: lastError });
}
