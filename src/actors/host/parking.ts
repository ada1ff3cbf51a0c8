/**
 * What happens to an actor whose chart fails on an event (I8): it pauses, takes the event again, and after
 * several failures continues without it.
 *
 * Promises: mail that is given up is refused (mail.ts makes it a dead letter). Events that only this host
 * would deliver again (a deadline, the outcome of an effect, an observation) return after a long pause for as
 * long as this replica owns the actor. So a chart that other events have put right is not left waiting for
 * ever (I4).
 */

import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { Log } from '../../base/log-port.ts';
import { forgetFailure, settle } from './mailbox.ts';
import type { Cell, Hot, MailboxItem } from './owned.ts';

/** The actor is parked until a replica that can read its record owns it. @param reason for people */
export function markUnreadable(cell: Cell, reason: string): void {
  cell.unreadable = reason;
  cell.shard.living = null;
}

export type Parking = ReturnType<typeof createParking>;

/** After this many failures the event is put aside, so that it does not block the actor forever. */
const failuresMax = 5;
/** The first pause, ms; each pause is twice as long as the one before. */
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
      // Not the same observation, because the world may have changed by then.
      else if (item.replaces !== undefined) host.untold(cell);
    });
  };
  return {
    /**
     * @returns a promise that resolves when the next event may be taken, after the actor's pause; undefined:
     *   at once
     */
    park(cell: Cell, hot: Hot, item: MailboxItem, error: Error): Promise<void> | undefined {
      const failures = (item.failures ?? 0) + 1;
      cell.error = error.message;
      if (cell.state === '') {
        cell.trouble ??= clock.now();
        cell.shard.living = null;
      }
      const revision = hot.record?.rev ?? 0;
      const facts = { actor: cell.id, revision, event: item.event.type, failures, error: error.message };
      log.error(facts, 'actor parked: its chart failed');
      if (failures >= failuresMax) {
        bringAgain(cell, item);
        // Nothing calls for an actor that never was, unless the world or an effect does.
        if (hot.record === null && item.replaces === undefined) forgetFailure(cell);
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
