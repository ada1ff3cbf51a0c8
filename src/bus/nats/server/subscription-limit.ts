/**
 * What is told when NATS lets this user have no more subscriptions, and how that ends.
 *
 * The server does not say which subscription it refused, and the client library takes all for made: whatever
 * should be heard there is not. So everything is subscribed to again with a new connection, until the server
 * takes it. Absent: subscriptions that the user may not make (lasting-subscription.ts).
 */
import type { Clock, Timer } from '../../../base/clock.ts';
import type { Log } from '../../../base/log-port.ts';
import type { Troubles } from '../../troubles.ts';

export interface SubscriptionLimitParts {
  readonly clock: Clock;
  readonly troubles: Troubles;
  readonly log: Log;
  /** Connects again. */
  readonly reconnect: () => Promise<void>;
}

const what = 'subscriptions';
const retryMs = 10_000;
const told =
  'NATS lets this user have no more subscriptions, so some of what it should hear is not heard: raise max_subscriptions (of the account, or of each connection)';

export function subscriptionLimit({ clock, troubles, log, reconnect }: SubscriptionLimitParts) {
  let retry: Timer | undefined;
  return {
    /** Returns whether the error is about this limit. */
    onError(error: Error): boolean {
      if (!/maximum subscriptions exceeded/i.test(error.message)) return false;
      troubles.note(what, told);
      if (retry !== undefined) return true;
      log.error({ error: error.message }, `${told}. Connecting again in 10 s, until it may`);
      retry = clock.after(retryMs, () => {
        retry = undefined;
        // Closed meanwhile.
        reconnect().catch(() => undefined);
      });
      return true;
    },
    /** All is subscribed to again. */
    onConnected(): void {
      retry?.cancel();
      retry = undefined;
      troubles.over(what);
    },
  };
}
