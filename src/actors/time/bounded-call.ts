/**
 * A call of somebody else's code that ends in time, whatever it does.
 *
 * Owns the one way in which Node can interrupt code that never yields, such as `for (;;) {}`: a call of a
 * script with a time limit, for which a thread watches. That thread costs about 0.1 ms of each call, so it is
 * for calls of which something is feared. What is interrupted stops where it is: no `finally` of it runs.
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
