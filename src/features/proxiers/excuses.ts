/**
 * Excuses a proxier that nobody could hear (docs/features/proxiers.md §2.5).
 *
 * A change that waits when the connection breaks may have been applied a moment later without anybody hearing
 * of it. That alone makes it not late: while nothing can be heard it counts as fresh, and after the return
 * its whole time starts again, because catching up takes a moment. What was late before stays late. Pure
 * except for the clock.
 */
import type { Clock } from '../../base/clock.ts';
import { type FamilyHealth, isLate } from '../../machines/proxier/health-family.ts';

type Families = Readonly<Record<string, FamilyHealth>>;

interface Excuse {
  /** Of the waiting change. */
  readonly pendingSince: number;
  /** null: still nothing can be heard. */
  readonly until: number | null;
}

export function createExcuses(clock: Clock, timeoutMs: number) {
  const excuses = new Map<string, Excuse>();
  return {
    away(families: Families): void {
      const now = clock.now();
      for (const [name, family] of Object.entries(excused(families, excuses, now))) {
        const since = families[name]?.pendingSince ?? null;
        if (since !== null && !isLate(family, now, timeoutMs))
          excuses.set(name, { pendingSince: since, until: null });
      }
    },
    back(): void {
      const until = clock.now();
      for (const [name, excuse] of excuses) excuses.set(name, { ...excuse, until: excuse.until ?? until });
    },
    applied: (families: Families): Families => excused(families, excuses, clock.now()),
  };
}

function excused(families: Families, excuses: ReadonlyMap<string, Excuse>, now: number): Families {
  const one = ([name, family]: [string, FamilyHealth]) => {
    const excuse = excuses.get(name);
    const isSame = excuse !== undefined && excuse.pendingSince === family.pendingSince;
    return [name, isSame ? { ...family, pendingSince: excuse.until ?? now } : family] as const;
  };
  return Object.fromEntries(Object.entries(families).map(one));
}
