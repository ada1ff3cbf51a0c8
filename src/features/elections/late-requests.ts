/**
 * Requests that this replica left to others, kept for a moment: if it becomes the owner meanwhile, it answers
 * them.
 *
 * Every replica hears every request, and a dead owner is missed only after a second and a half. So nobody
 * knows at first whether a request will be answered; whoever takes the election over does what was asked
 * since then. A request that the former owner did answer is done once more, which changes nothing: campaigns
 * and renewals say what holds already, a resignation names its term. Promises: a request is kept for
 * `limits.electionAnswerMs`; whoever asked is told at the end if there is no owner; what is kept is bounded,
 * the oldest is forgotten first. Absent: what requests mean.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { Bus, BusMessage } from '../../bus/bus.ts';
import { answerLate } from '../../bus/rpc.ts';

interface Kept {
  readonly message: BusMessage;
  /** Monotonic, ms. */
  readonly until: number;
  readonly isOurs: () => boolean;
  /** @param isLast nobody will answer after us */
  readonly answer: (isLast: boolean) => Promise<Uint8Array | undefined>;
}

export interface LateRequests {
  keep(message: BusMessage, isOurs: Kept['isOurs'], answer: Kept['answer']): void;
  /** Nothing is answered from then on. */
  stop(): void;
}

/** As soon as a candidate would ask again if it heard of a new owner; while nothing is kept nobody looks. */
const lookEveryMs = 20;

export function createLateRequests({
  bus,
  clock,
}: {
  readonly bus: Bus;
  readonly clock: Clock;
}): LateRequests {
  let kept: Kept[] = [];
  let timer: Timer | null = null;
  const look = () => {
    timer = null;
    const now = clock.monotonic();
    const open = kept;
    kept = [];
    for (const one of open) {
      const isLast = now >= one.until;
      if (isLast || one.isOurs()) void answerLate(bus, one.message, () => one.answer(isLast));
      else kept.push(one);
    }
    arm();
  };
  const arm = () => {
    if (kept.length > 0) timer ??= clock.after(lookEveryMs, look);
  };
  return {
    keep(message, isOurs, answer) {
      kept.push({ message, until: clock.monotonic() + limits.electionAnswerMs, isOurs, answer });
      if (kept.length > limits.electionRequestsKept) kept.shift();
      arm();
    },
    stop() {
      kept = [];
      timer?.cancel();
    },
  };
}
