/**
 * Other processes that live under this replica's name. They would take everything from each other for ever,
 * so all of them come to the same answer about which of them was there first.
 *
 * The last beats of one that died do not count, nor do those of one that leaves.
 */
import type { Clock } from '../../base/clock.ts';

export interface Twin {
  readonly incarnation: string;
  readonly leaving: boolean;
  /** Absent: a release that does not tell it, and counts as the elder. */
  readonly ageMs?: number;
}

/** Ages that differ by less tell nothing: the messages took some time. */
const ageDoubtMs = 100;

export function createTwins(parts: {
  readonly clock: Clock;
  readonly incarnation: string;
  /** Whoever is heard of over so long a time lives: a process that died has said its last word. */
  readonly livesAfterMs: number;
  /** Whoever is not heard of for so long has gone. */
  readonly goneAfterMs: number;
  /** One was heard of for the first time. */
  readonly onNew: () => void;
  readonly onTwin: (incarnation: string, isElder: boolean) => void;
}) {
  const { clock, incarnation, livesAfterMs, goneAfterMs, onNew, onTwin } = parts;
  const born = clock.monotonic();
  /** Those that are there, by incarnation; `since`: heard of without a gap, or told of last. */
  const heard = new Map<string, { readonly since: number; readonly last: number }>();
  const ageMs = () => Math.round(clock.monotonic() - born);
  const forgetGone = (now: number) => {
    for (const [one, { last }] of heard) if (now - last > goneAfterMs) heard.delete(one);
  };
  return {
    ageMs,
    isPresent(other: string): boolean {
      forgetGone(clock.monotonic());
      return heard.has(other);
    },
    /** @param hasActed it did something that only the living do: no second sign of life is awaited */
    hear(twin: Twin, hasActed = false): void {
      const now = clock.monotonic();
      forgetGone(now);
      const known = heard.get(twin.incarnation);
      const isDue = known === undefined ? hasActed : now - known.since >= livesAfterMs;
      const isTelling = isDue && !twin.leaving;
      heard.set(twin.incarnation, { since: isTelling ? now : (known?.since ?? now), last: now });
      if (known === undefined) onNew();
      if (isTelling) onTwin(twin.incarnation, isElder(twin, { incarnation, ageMs: ageMs() }));
    },
  };
}

function isElder(twin: Twin, own: { readonly incarnation: string; readonly ageMs: number }): boolean {
  if (twin.ageMs === undefined) return true;
  const difference = twin.ageMs - own.ageMs;
  return Math.abs(difference) > ageDoubtMs ? difference > 0 : twin.incarnation > own.incarnation;
}
