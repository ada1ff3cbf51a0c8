/**
 * Reads something until it is answered: a replica may be busy, or NATS slow, for a while.
 *
 * Promise: only the answers to the last question are reported, each failure as well. Absent: refusals that
 * asking again does not change.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import type { Answer } from './answer.ts';

const pausesMs = [1_000, 2_000, 5_000, 10_000] as const;
/** Asking again changes nothing. */
const finalStatuses = [400, 401, 403, 404];

export function createPersistentReading<Q, T>(parts: {
  readonly clock: Clock;
  readonly read: (question: Q) => Promise<Answer<T>>;
  readonly onAnswer: (question: Q, answer: Answer<T>) => void;
}) {
  const { clock, read, onAnswer } = parts;
  let latest = 0;
  return {
    /** Begins anew. */
    async ask(question: Q): Promise<void> {
      latest++;
      const mine = latest;
      for (let attempt = 0; ; attempt++) {
        const answer = await read(question);
        if (mine !== latest) return;
        onAnswer(question, answer);
        if ('ok' in answer || finalStatuses.includes(answer.refused.status)) return;
        await sleep(clock, pausesMs[Math.min(attempt, pausesMs.length - 1)] ?? 10_000);
        if (mine !== latest) return;
      }
    },
    /** Nobody wants to know any more. */
    forget(): void {
      latest++;
    },
  };
}
