/** Steps per second of each kind over the last minute, from the growth of revisions. */
import type { Clock } from '../../../base/clock.ts';

export type Rates = ReturnType<typeof createRates>;

const rateSeconds = 60;

export function createRates(clock: Clock) {
  const counts = new Map<string, Map<number, number>>();
  const second = () => Math.floor(clock.monotonic() / 1000);
  return {
    add(kind: string, steps: number): void {
      const ofKind = counts.get(kind) ?? new Map<number, number>();
      counts.set(kind, ofKind);
      const now = second();
      ofKind.set(now, (ofKind.get(now) ?? 0) + steps);
      for (const old of ofKind.keys()) if (old < now - rateSeconds) ofKind.delete(old);
    },
    /** The last minute, one number for each second, oldest first. */
    of(kind: string): readonly number[] {
      const ofKind = counts.get(kind);
      const now = second();
      // The present second is not over: the last whole one is the newest.
      return Array.from({ length: rateSeconds }, (_, index) => ofKind?.get(now - rateSeconds + index) ?? 0);
    },
    kinds: (): readonly string[] => [...counts.keys()].sort(),
  };
}
