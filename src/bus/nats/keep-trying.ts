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
  const { clock, random, log, signal, facts } = parts;
  let said = '';
  for (;;) {
    if (signal?.aborted) throw unreachable('asked to stop', signal.reason);
    try {
      const result = await attempt();
      if (said !== '') log.info(facts, parts.success);
      return result;
    } catch (thrown) {
      const error = asError(thrown);
      if (error instanceof OrreryError && error.kind !== 'transient') throw error;
      if (error.message !== said) log.warn({ ...facts, reason: error.message }, parts.trouble);
      said = error.message;
    }
    await sleep(clock, jittered(retryMs, 0.5, random), signal).catch((reason) => {
      throw unreachable('asked to stop', reason);
    });
  }
}
