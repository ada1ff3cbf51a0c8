/** Retries until success, with as few log lines as possible. */
import { sleep } from '../../base/clock.ts';
import { asError, OrreryError } from '../../base/errors.ts';
import type { Ambient } from '../../base/log-port.ts';
import { jittered } from '../../base/random.ts';
import { unreachable } from '../bus-errors.ts';

export interface KeepTrying extends Ambient {
  readonly signal?: AbortSignal | undefined;
  /** Facts for the log: what is being tried. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** The log messages: while it fails, and when it works again. */
  readonly trouble: string;
  readonly success: string;
  /** Called with the reason of each failure, and with null at the end. */
  readonly onReason?: ((reason: string | null) => void) | undefined;
  /** Also after an error that retrying is not known to help against: somebody may mend what it names. */
  readonly isEndless?: boolean | undefined;
}

/**
 * Between attempts, ms; short because others wait, and jittered because all replicas try at the same time.
 */
const retryMs = 500;

/**
 * Runs `attempt` until it succeeds; logs each distinct reason for failure once.
 *
 * @throws OrreryError the attempt's error, if retrying cannot help; BUS_UNREACHABLE if `signal` was aborted
 */
export async function keepTrying<T>(parts: KeepTrying, attempt: () => Promise<T>): Promise<T> {
  const { clock, random, log, signal, facts, onReason, isEndless = false } = parts;
  const said = new Set<string>();
  for (;;) {
    if (signal?.aborted) throw unreachable('asked to stop', signal.reason);
    try {
      const result = await attempt();
      if (said.size > 0) log.info(facts, parts.success);
      onReason?.(null);
      return result;
    } catch (thrown) {
      const error = asError(thrown);
      if (!isEndless && error instanceof OrreryError && error.kind !== 'transient') throw error;
      // Aborted meanwhile: what failed says nothing.
      if (signal?.aborted) continue;
      if (!said.has(error.message)) log.warn({ ...facts, reason: error.message }, parts.trouble);
      said.add(error.message);
      onReason?.(error.message);
    }
    await sleep(clock, jittered(retryMs, 0.5, random), signal).catch((reason) => {
      throw unreachable('asked to stop', reason);
    });
  }
}
