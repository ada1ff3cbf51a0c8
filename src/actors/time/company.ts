/**
 * Waiting for company: what an actor need not know at once stays in its mailbox a little, so that what comes
 * meanwhile is taken in the same step. A step saves a whole record, and an actor that twenty others speak to
 * would save it twenty times.
 *
 * The chart says how long (`Chart.patience`). Whatever cannot wait takes along what waits before it. Nothing
 * is lost by waiting: mail that is not taken is read again by the next owner, and the world is told again.
 */
import type { Clock } from '../../base/clock.ts';
import type { Chart } from '../../machines/chart.ts';
import { canWait } from '../host/mailbox.ts';
import type { Cell, Hot } from '../host/owned.ts';

export type Company = ReturnType<typeof createCompany>;

export function createCompany(clock: Clock, work: (cell: Cell, hot: Hot) => void) {
  const over = (hot: Hot) => {
    hot.company?.timer.cancel();
    hot.company = null;
  };
  return {
    /**
     * Whether everything in the mailbox waits for more; if so, `work` is called when it has waited enough.
     */
    isAwaited(cell: Cell, hot: Hot, chart: Chart | undefined): boolean {
      const { mailbox, snapshot } = hot;
      if (mailbox.length === 0) over(hot);
      if (mailbox.length === 0 || chart?.patience === undefined || snapshot === null) return false;
      // What waits behind what cannot has its time still.
      if (!mailbox.every(canWait)) return false;
      const standing = { states: cell.state.split(','), context: snapshot.context };
      const restMs = chart.patience(
        standing,
        mailbox.map(({ event }) => event),
      );
      const now = clock.monotonic();
      const until = Math.min(now + restMs, hot.company?.until ?? Number.POSITIVE_INFINITY);
      if (until <= now) return false;
      if (hot.company?.until === until) return true;
      over(hot);
      hot.company = { until, timer: clock.after(until - now, () => work(cell, hot)) };
      return true;
    },
  };
}
