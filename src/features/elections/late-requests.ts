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
import type { FeatureParts } from '../../actors/feature.ts';
import type { Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { BusMessage } from '../../bus/bus.ts';
import { answerLate } from '../../bus/rpc.ts';

interface Kept {
  readonly message: BusMessage;
  /** Monotonic, ms. */
  readonly until: number;
  readonly isOurs: () => boolean;
  /** @param isLast nobody will answer after us */
  readonly answer: (isLast: boolean) => Promise<Uint8Array | undefined>;
}

export function createLateRequests({
  bus,
  clock,
  onOpened,
}: Pick<FeatureParts, 'bus' | 'clock'> & {
  readonly onOpened: (callback: () => void) => () => void;
}) {
  let kept: Kept[] = [];
  let timer: Timer | null = null;
  const answer = () => {
    const now = clock.monotonic();
    const open = kept;
    kept = [];
    for (const one of open) {
      const isLast = now >= one.until;
      if (isLast || one.isOurs()) void answerLate(bus, one.message, () => one.answer(isLast));
      else kept.push(one);
    }
  };
  /** The oldest is over first. */
  const arm = () => {
    const [first] = kept;
    if (first === undefined) return;
    timer ??= clock.after(first.until - clock.monotonic(), () => {
      timer = null;
      answer();
      arm();
    });
  };
  /** The engine, which tells, has started when the first request comes. */
  let forget: (() => void) | null = null;
  return {
    keep(message: BusMessage, isOurs: Kept['isOurs'], reply: Kept['answer']): void {
      forget ??= onOpened(answer);
      kept.push({ message, until: clock.monotonic() + limits.electionAnswerMs, isOurs, answer: reply });
      if (kept.length > limits.electionRequestsKept) kept.shift();
      // It may have become ours since it was left to others.
      if (isOurs()) answer();
      arm();
    },
    /** Nothing is answered from then on. */
    stop(): void {
      kept = [];
      timer?.cancel();
      forget?.();
    },
  };
}
