/**
 * Requests that this replica left to others, kept for a moment: if it becomes the owner meanwhile, it answers
 * them.
 *
 * Every replica hears every request, and a dead owner is noticed only after a second and a half. Until then
 * nobody knows whether a request will be answered, so the new owner of the election performs the requests
 * since then. A request that the former owner did answer is performed twice, which changes nothing: campaigns
 * and renewals repeat what already holds, and a resignation names its term. Promises: a request is kept for
 * `limits.electionAnswerMs`; if there is no owner by then, the requester is told; the number is bounded, and
 * the oldest is dropped first. Absent: the meaning of the requests.
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
  /** @param isLast no other replica will answer */
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
  /** The oldest expires first. */
  const arm = () => {
    const [first] = kept;
    if (first === undefined) return;
    timer ??= clock.after(first.until - clock.monotonic(), () => {
      timer = null;
      answer();
      arm();
    });
  };
  /** Set at the first request, because the engine that notifies us has started by then. */
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
    /** Nothing is answered after this. */
    stop(): void {
      kept = [];
      timer?.cancel();
      forget?.();
    },
  };
}
