/**
 * Detects other processes under this replica's name. They would take everything from each other forever, so
 * all of them reach the same decision about which was first.
 *
 * The last beats of a process that died do not count, nor do those of one that leaves.
 */
import type { Clock } from '../../base/clock.ts';

export interface Twin {
  readonly incarnation: string;
  readonly leaving: boolean;
  /** Absent: an earlier release, which counts as the elder. */
  readonly ageMs?: number;
}

/** A smaller difference in age decides nothing, because messages take time. */
const ageDoubtMs = 100;

export function createTwins(parts: {
  readonly clock: Clock;
  readonly incarnation: string;
  /** A process that is heard over this span lives; a dead one is only heard for a moment. */
  readonly livesAfterMs: number;
  /** A process that is silent for this long has gone. */
  readonly goneAfterMs: number;
  /** A process was heard for the first time. */
  readonly onNew: () => void;
  readonly onTwin: (incarnation: string, isElder: boolean) => void;
}) {
  const { clock, incarnation, livesAfterMs, goneAfterMs, onNew, onTwin } = parts;
  const born = clock.monotonic();
  /** The processes that are present, by incarnation; `since`: heard without a gap, or last reported. */
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
    /**
     * @param hasActed it did something that only a live process does, so no second sign of life is needed
     */
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

/** Whether the other process is the older one; all who ask decide alike. */
export function isElder(
  twin: Pick<Twin, 'incarnation' | 'ageMs'>,
  own: { readonly incarnation: string; readonly ageMs: number },
): boolean {
  if (twin.ageMs === undefined) return true;
  const difference = twin.ageMs - own.ageMs;
  return Math.abs(difference) > ageDoubtMs ? difference > 0 : twin.incarnation > own.incarnation;
}
