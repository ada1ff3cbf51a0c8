/**
 * What becomes of an actor whose chart fails over an event (I8): it waits, takes the event again, and after
 * some failures goes on without it.
 *
 * Promises: mail that is put aside is refused (mail.ts buries it); what nobody but this host would bring
 * again (a deadline, the outcome of an effect, what the world says) comes again after a long pause, for as
 * long as this replica owns the actor. So a chart that is mended by events in between is not left waiting for
 * ever (I4).
 */

import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { Log } from '../../base/log-port.ts';
import { settle } from './mailbox.ts';
import type { Cell, Hot, MailboxItem } from './owned.ts';

export type Parking = ReturnType<typeof createParking>;

/** After so many failures the event is put aside, so that it does not hold the actor for ever. */
const failuresMax = 5;
/** The first pause, ms; each is twice the one before. */
const pauseMs = 1_000;

export function createParking(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  host: {
    work(cell: Cell, hot: Hot): void;
    due(cell: Cell, timer: { readonly id: string; readonly at: number }): void;
    deliverOutcome(cell: Cell, item: MailboxItem): void;
    untold(cell: Cell): void;
  },
) {
  const bringAgain = (cell: Cell, { failures: _, ...item }: MailboxItem) => {
    clock.after(limits.failedAgainMs, () => {
      if (cell.shard.phase !== 'active' || cell.shard.cells.get(cell.id) !== cell) return;
      if (item.timer) host.due(cell, item.timer);
      else if (item.completes !== undefined) host.deliverOutcome(cell, item);
      // Not the same observation: the world may say something else by then.
      else if (item.replaces !== undefined) host.untold(cell);
    });
  };
  return {
    /** @returns resolves when the next event may be taken; undefined: at once, or after the actor's pause */
    park(cell: Cell, hot: Hot, item: MailboxItem, error: Error): Promise<void> | undefined {
      const failures = (item.failures ?? 0) + 1;
      cell.error = error.message;
      const revision = hot.record?.rev ?? 0;
      const facts = { actor: cell.id, revision, event: item.event.type, failures, error: error.message };
      log.error(facts, 'actor parked: its chart failed');
      if (failures >= failuresMax) {
        bringAgain(cell, item);
        return settle(cell, item, { kind: 'refused', code: 'INVARIANT', reason: error.message });
      }
      hot.mailbox.unshift({ ...item, failures });
      const restMs = pauseMs * 2 ** (failures - 1);
      hot.parkedUntil = clock.now() + restMs;
      clock.after(restMs, () => {
        hot.parkedUntil = 0;
        host.work(cell, hot);
      });
      return undefined;
    },
  };
}
