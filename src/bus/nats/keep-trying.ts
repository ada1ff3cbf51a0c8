/** Tries again for ever, and logs no more than it must. */
import { sleep } from '../../base/clock.ts';
import { asError, OrreryError } from '../../base/errors.ts';
import type { Ambient } from '../../base/log-port.ts';
import { jittered } from '../../base/random.ts';
import { unreachable } from '../bus-errors.ts';

export interface KeepTrying extends Ambient {
  readonly signal?: AbortSignal | undefined;
  /** Facts for the log: what is tried. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** What to say while it does not work, and when it does again. */
  readonly trouble: string;
  readonly success: string;
}

/** Between attempts; short, since others wait for this, and jittered, since all replicas do it at once. */
const retryMs = 500;

/**
 * Runs `attempt` until it succeeds; logs once for each distinct reason why it does not.
 *
 * @throws OrreryError what the attempt threw, if trying again cannot help; BUS_UNREACHABLE if `signal` was
 * aborted
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
