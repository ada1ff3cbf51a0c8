/**
 * A subscription that the server may refuse: the client library forgets it then. Here it is made again until
 * the server takes it, because permissions can be given while we run.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { Subscription } from '../bus.ts';
import type { SubscriptionRefusals } from './server/subscription-refusals.ts';

export interface LastingParts {
  readonly subject: string;
  /** Subscribes once; calls `onRefused` if the server refuses. */
  readonly subscribe: (onRefused: () => void) => Subscription;
  /** Resolves when the server has seen all that was sent. */
  readonly flush: () => Promise<void>;
  readonly isClosed: () => boolean;
  readonly clock: Clock;
  readonly refusals: SubscriptionRefusals;
}

const retryMs = 2_000;

export function lastingSubscription(parts: LastingParts): Subscription {
  const { subject, clock, refusals } = parts;
  let retry: Timer | undefined;
  let isStopped = false;
  const onRefused = (): void => {
    if (isStopped) return;
    refusals.note(subject);
    retry = clock.after(retryMs, again);
  };
  let current = parts.subscribe(onRefused);
  const again = (): void => {
    retry = undefined;
    if (isStopped || parts.isClosed()) return;
    current = parts.subscribe(onRefused);
    parts.flush().then(onFlushed, () => {
      // Disconnected: subscribed again with the next connection, and asked again then.
      if (!isStopped && retry === undefined) retry = clock.after(retryMs, ask);
    });
  };
  const ask = (): void => {
    current.stop();
    again();
  };
  const onFlushed = (): void => {
    // A refusal would have come before the answer.
    if (isStopped || retry !== undefined) return;
    refusals.over(subject, true);
  };
  return {
    stop() {
      isStopped = true;
      retry?.cancel();
      refusals.over(subject, false);
      current.stop();
    },
  };
}
