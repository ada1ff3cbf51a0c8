/** Waiting in tests: for a condition, never for a time. */
import { sleep, systemClock } from '../src/base/clock.ts';

/**
 * Resolves with the first truthy value of `probe`; looks every 10 ms.
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
  while (systemClock.monotonic() < deadline) {
    try {
      const value = await probe();
      if (value) return value;
    } catch (error) {
      lastError = error;
    }
    await sleep(systemClock, 10);
  }
  throw new Error(`waited too long for: ${options.what}`, { cause: lastError });
}
