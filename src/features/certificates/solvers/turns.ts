/**
 * One operation at a time for each host, so that clearing up after an earlier challenge does not remove the
 * present one's exhibit.
 *
 * Owns the turns of this process; one replica at a time owns a host.
 */
import { createLanes } from '../../../base/promises/lanes.ts';

export type Turns = ReturnType<typeof createTurns>;

export function createTurns() {
  const inTurn = createLanes();
  return {
    /** Waits for its turn, however the previous operation ends. */
    take: <T>(host: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> =>
      inTurn(host, () => {
        // An operation that was aborted while waiting must not start.
        signal.throwIfAborted();
        return work();
      }),
  };
}
