/**
 * Calls code that may never return, and ends the call in time.
 *
 * Owns the only way in which Node can interrupt code that never yields, such as `for (;;) {}`: running it as
 * a script with a time limit, which a thread watches. That thread costs about 0.1 ms per call, so it is used
 * only for suspicious code. Interrupted code stops where it is, without running any `finally`.
 */
import { Script } from 'node:vm';

const word = Symbol.for('orrery.bounded-call');
const script = new Script("globalThis[Symbol.for('orrery.bounded-call')]()");

/** @throws what `work` throws; Error with code ERR_SCRIPT_EXECUTION_TIMEOUT if it takes longer */
export function boundedCall<T>(work: () => T, timeoutMs: number): T {
  const place = globalThis as { [word]?: () => unknown };
  const outer = place[word];
  place[word] = work;
  try {
    return script.runInThisContext({ timeout: timeoutMs, displayErrors: false }) as T;
  } finally {
    if (outer === undefined) delete place[word];
    else place[word] = outer;
  }
}

export function isOverdue(thrown: unknown): boolean {
  return (thrown as { code?: unknown } | null)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
