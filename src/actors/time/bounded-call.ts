/**
 * Calls code that may never return, and ends the call in time.
 *
 * Owns the only way in which Node can interrupt code that never yields, such as `for (;;) {}`: running it as
 * a script with a time limit, which a thread watches. That thread costs about 0.1 ms per call, so it is used
 * only for suspicious code. Interrupted code stops where it is, without running any `finally`.
 *
 * The thread counts the time that passes. Of code that was interrupted and had computed little, the process
 * was stopped, or had no processor: that code is called again.
 */
import { Script } from 'node:vm';

const word = Symbol.for('orrery.bounded-call');
const script = new Script("globalThis[Symbol.for('orrery.bounded-call')]()");

/** So often a call is begun, at most: code that never yields must end, also where processors are scarce. */
const callsMax = 3;

/**
 * @param work may be called again where it had no processor
 * @throws what `work` throws; Error with code ERR_SCRIPT_EXECUTION_TIMEOUT if it takes longer
 */
export function boundedCall<T>(work: () => T, timeoutMs: number): T {
  const begunAt = computedMs();
  for (let calls = 1; ; calls++) {
    try {
      return timedCall(work, timeoutMs);
    } catch (thrown) {
      const hasComputed = computedMs() - begunAt >= timeoutMs / 2;
      if (!isOverdue(thrown) || hasComputed || calls >= callsMax) throw thrown;
    }
  }
}

/** How long this thread has computed; the whole process, before Node 23.9. */
function computedMs(): number {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage();
  return (user + system) / 1_000;
}

function timedCall<T>(work: () => T, timeoutMs: number): T {
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
