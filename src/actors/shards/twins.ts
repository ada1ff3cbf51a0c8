/**
 * Other processes that live under this replica's name. Two of them would take everything from each other
 * for ever; both come to the same answer which of them was there before.
 *
 * The last beats of one that died do not count, nor those of one that leaves.
 */
import type { Clock } from '../../base/clock.ts';

interface Twin {
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
  /** One was heard of for the first time. */
  readonly onNew: () => void;
  readonly onTwin: (incarnation: string, isElder: boolean) => void;
}) {
  const { clock, incarnation, livesAfterMs, onNew, onTwin } = parts;
  const born = clock.monotonic();
  let heard: { readonly incarnation: string; readonly since: number } | null = null;
  const ageMs = () => Math.round(clock.monotonic() - born);
  return {
    ageMs,
    hear(twin: Twin): void {
      const now = clock.monotonic();
      if (heard?.incarnation !== twin.incarnation) {
        heard = { incarnation: twin.incarnation, since: now };
        onNew();
      } else if (!twin.leaving && now - heard.since >= livesAfterMs) {
        heard = { ...heard, since: now };
        onTwin(twin.incarnation, isElder(twin, { incarnation, ageMs: ageMs() }));
      }
    },
  };
}

function isElder(twin: Twin, own: { readonly incarnation: string; readonly ageMs: number }): boolean {
  if (twin.ageMs === undefined) return true;
  const difference = twin.ageMs - own.ageMs;
  return Math.abs(difference) > ageDoubtMs ? difference > 0 : twin.incarnation > own.incarnation;
}
