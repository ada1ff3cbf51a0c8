/**
 * Times of a proxier in real time, whatever the wall clock is set to: a change that waits becomes neither
 * older nor younger by that. Outside, times are wall times, as the clock shows them now.
 */
import { createLeapGauge, leaseClock } from '../../actors/time/lease-clock.ts';
import type { Clock } from '../../base/clock.ts';
import type { FamilyHealth } from '../../machines/proxier/health-family.ts';

/** The two clocks are read one after the other; a smaller difference at the start is none, ms. */
const sameMs = 250;

export type RealTimes = ReturnType<typeof createRealTimes>;

export function createRealTimes(clock: Clock) {
  const real = leaseClock(clock);
  const leapt = createLeapGauge(clock);
  const begun = clock.now() - real.now();
  const ahead = () => (Math.abs(begun) < sameMs ? 0 : begun) + leapt();
  const told = new Map<string, { readonly wall: number; readonly real: number }>();
  const shifted = (at: number | null) => at && at + ahead();
  return {
    clock: real,
    of: (wall: number): number => wall - ahead(),
    /** The same for a time that its source may repeat: it stays what it was when it was first told. */
    repeated(source: string, wall: number | null): number | null {
      if (wall === null) return null;
      const known = told.get(source);
      if (known?.wall === wall) return known.real;
      told.set(source, { wall, real: wall - ahead() });
      return wall - ahead();
    },
    shown<F extends Readonly<Record<string, FamilyHealth>>>(families: F): F {
      const all = Object.entries(families).map(([name, { pendingSince, lastUpdated, ...rest }]) => [
        name,
        { ...rest, pendingSince: shifted(pendingSince), lastUpdated: shifted(lastUpdated) },
      ]);
      return Object.fromEntries(all) as F;
    },
  };
}
