/**
 * Waiting for company: what an actor need not know at once stays in its mailbox a little, so that what comes
 * meanwhile is taken in the same step. A step saves a whole record, and an actor that twenty others speak to
 * would save it twenty times.
 *
 * The chart says how long (`Chart.patience`). Whatever cannot wait takes along what does. Nothing is lost by
 * waiting: mail that is not taken is read again by the next owner.
 */
import type { Clock } from '../../base/clock.ts';
import type { Chart } from '../../machines/chart.ts';
import { canWait } from '../host/mailbox.ts';
import type { Cell, Hot } from '../host/owned.ts';

export type Company = ReturnType<typeof createCompany>;

export function createCompany(clock: Clock, work: (cell: Cell, hot: Hot) => void) {
  const over = (hot: Hot): false => {
    hot.company?.timer.cancel();
    hot.company = null;
    return false;
  };
  return {
    /**
     * Whether everything in the mailbox waits for more; if so, `work` is called when it has waited enough.
     */
    isAwaited(cell: Cell, hot: Hot, chart: Chart | undefined): boolean {
      const patience = chart?.patience;
      if (patience === undefined || hot.snapshot === null || !hot.mailbox.every(canWait)) return over(hot);
      const now = clock.monotonic();
      const standing = { states: cell.state.split(','), context: hot.snapshot.context };
      const restMs = patience(
        standing,
        hot.mailbox.map(({ event }) => event),
      );
      const until = Math.min(now + restMs, hot.company?.until ?? Number.POSITIVE_INFINITY);
      if (until <= now) return over(hot);
      if (hot.company?.until === until) return true;
      over(hot);
      const timer = clock.after(until - now, () => {
        hot.company = null;
        work(cell, hot);
      });
      hot.company = { until, timer };
      return true;
    },
  };
}
