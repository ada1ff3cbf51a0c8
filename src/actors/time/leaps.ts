/**
 * Tells actors that count in real time how far the wall clock was set: their deadlines are wall times by the
 * clock before that (`Chart.leaps`).
 *
 * Promise: they are told before they take any event stamped by the new clock. Absent: how they react.
 */
import type { Clock } from '../../base/clock.ts';
import type { Cell, Hot, ShardRun } from '../host/owned.ts';
import { createLeapGauge } from './lease-clock.ts';

export type Leaps = ReturnType<typeof createLeaps>;

export function createLeaps(
  clock: Clock,
  host: {
    /** null: it does not count in real time, or cannot be woken. */
    wake(cell: Cell): Hot | null;
    work(cell: Cell, hot: Hot): void;
  },
) {
  const runs = new Set<ShardRun>();
  const gauge = createLeapGauge(clock);
  let known = 0;
  return {
    /**
     * Reports what the clock was set by since the last call; about once a second, and before an event is
     * taken.
     */
    notice(): void {
      const leapt = gauge();
      const byMs = leapt - known;
      if (byMs === 0) return;
      known = leapt;
      for (const cell of [...runs].flatMap((run) => [...run.cells.values()])) {
        const isThere = cell.state !== '' && cell.unreadable === null;
        const hot = isThere ? host.wake(cell) : null;
        if (hot === null) continue;
        hot.mailbox.unshift({ event: { type: 'clock.leapt', byMs }, cause: null });
        host.work(cell, hot);
      }
    },
    open: (run: ShardRun): void => void runs.add(run),
    close: (run: ShardRun): void => void runs.delete(run),
  };
}
