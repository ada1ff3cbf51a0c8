/**
 * Batching: an event that an actor need not process at once waits in its mailbox for others, so that one step
 * takes them together. A step saves a whole record, and an actor with twenty senders would save it twenty
 * times.
 *
 * The chart defines the wait (`Chart.patience`). An event that cannot wait takes along those waiting before
 * it. Waiting loses nothing: the next owner reads untaken mail again, and the world is told again.
 */
import type { Clock } from '../../base/clock.ts';
import type { Chart, Waiting } from '../../machines/chart.ts';
import { canWait } from '../host/mailbox.ts';
import type { Cell, Hot } from '../host/owned.ts';

/** Most events are judged without a look at the states. */
class Standing implements Waiting {
  readonly #state: string;
  readonly context: unknown;
  constructor(state: string, context: unknown) {
    this.#state = state;
    this.context = context;
  }
  get states(): readonly string[] {
    return this.#state.split(',');
  }
}

export type Company = ReturnType<typeof createCompany>;

export function createCompany(clock: Clock, work: (cell: Cell, hot: Hot) => void) {
  const over = (hot: Hot) => {
    hot.company?.timer.cancel();
    hot.company = null;
  };
  return {
    /** Whether everything in the mailbox waits for more; if so, `work` is called when the wait is over. */
    isAwaited(cell: Cell, hot: Hot, chart: Chart | undefined): boolean {
      const { mailbox, snapshot } = hot;
      if (mailbox.length === 0) over(hot);
      if (mailbox.length === 0 || chart?.patience === undefined || snapshot === null) return false;
      // What waits behind an urgent event keeps its own time.
      if (!mailbox.every(canWait)) return false;
      const standing = new Standing(cell.state, snapshot.context);
      const restMs = chart.patience(
        standing,
        mailbox.map(({ event }) => event),
      );
      const now = clock.monotonic();
      const until = Math.min(now + restMs, hot.company?.until ?? Number.POSITIVE_INFINITY);
      if (until <= now) return false;
      if (hot.company?.until === until) return true;
      over(hot);
      const timer = clock.after(until - now, () => {
        // A timer may fire up to a millisecond early, and no other would follow.
        if (hot.company?.timer === timer) hot.company = { until: clock.monotonic(), timer };
        work(cell, hot);
      });
      hot.company = { until, timer };
      return true;
    },
  };
}
