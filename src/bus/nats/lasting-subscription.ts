/**
 * A subscription that the server may refuse: the client library forgets it then. Here it is made again until
 * the server takes it, because permissions can be given while we run.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log-port.ts';
import type { Subscription } from '../bus.ts';
import type { Troubles } from '../troubles.ts';

export interface LastingParts {
  readonly subject: string;
  /** Subscribes once; calls `onRefused` if the server refuses. */
  readonly subscribe: (onRefused: (error: Error) => void) => Subscription;
  /** Resolves when the server has seen all that was sent. */
  readonly flush: () => Promise<void>;
  readonly isClosed: () => boolean;
  readonly clock: Clock;
  readonly troubles: Troubles;
  readonly log: Log;
}

const retryMs = 2_000;

export function lastingSubscription(parts: LastingParts): Subscription {
  const { subject, clock, troubles, log } = parts;
  const what = `subscription ${subject}`;
  let retry: Timer | undefined;
  let isRefused = false;
  let isStopped = false;
  const onRefused = (error: Error): void => {
    if (isStopped) return;
    if (!isRefused) log.error({ subject, error: error.message }, subscriptionRefused);
    isRefused = true;
    troubles.note(what, `NATS refuses this user the subscription to ${subject}: nothing there is heard`);
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
    isRefused = false;
    if (troubles.over(what)) log.info({ subject }, 'a subscription that was refused is heard now');
  };
  return {
    stop() {
      isStopped = true;
      retry?.cancel();
      troubles.over(what);
      current.stop();
    },
  };
}

const subscriptionRefused =
  'a subscription was refused: nothing on this subject is heard until this NATS user may subscribe to it (deploy/nats/permissions.conf); it is tried again every 2 s';
