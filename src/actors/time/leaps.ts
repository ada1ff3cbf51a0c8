/**
 * Tells actors that count in real time by how much the wall clock was set: their deadlines are wall times,
 * and were meant by the clock as it was (`Chart.leaps`).
 *
 * Promise: they hear of it before they take anything that is timed by the new clock. Absent: what they do
 * about it.
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
     * Tells of what the clock was set by since it was called last; about once a second, and before an event
     * is taken.
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
