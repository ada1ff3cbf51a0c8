/**
 * The requests of a person, who would otherwise give the same command again by hand.
 *
 * Nobody listens: asked again for a second, because replicas that have just lost their NATS server, or listen
 * at another one of its cluster, are heard a moment later. Nothing was delivered, so that holds for every
 * request. Somebody listens and nobody answers: what only reads is asked once more, because the owner of an
 * actor may have died just then; what changes something is not, and has all the time at once.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { isNobody, isUnanswered } from '../../bus/bus-errors.ts';

/** NATS servers tell one another within milliseconds who listens; a lost connection is back sooner, ms. */
const nobodyMs = 1_000;
const pauseMs = 200;

/** @param ask asks once, for an answer within so many ms */
export async function askPersistently<T>(
  clock: Clock,
  ask: (timeoutMs: number) => Promise<T>,
  isReading: boolean,
): Promise<T> {
  if (!isReading) return untilListened(clock, () => ask(limits.cliAnswerMs));
  const first = limits.requestTimeoutMs;
  try {
    return await untilListened(clock, () => ask(first));
  } catch (thrown) {
    if (!isUnanswered(thrown)) throw thrown;
    return untilListened(clock, () => ask(limits.cliAnswerMs - first));
  }
}

async function untilListened<T>(clock: Clock, ask: () => Promise<T>): Promise<T> {
  for (const endAt = clock.monotonic() + nobodyMs; ; await sleep(clock, pauseMs)) {
    try {
      return await ask();
    } catch (thrown) {
      if (!isNobody(thrown) || clock.monotonic() >= endAt) throw thrown;
    }
  }
}
