/** Times as people type them, and ages: `15m` ago. Pure except for the time zone. */
import { readMoment } from '../../../base/words.ts';

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * A time of day means its latest occurrence in the past; a time without a zone is local, or UTC if `isUtc`.
 *
 * @returns ms since the epoch; null if the text is no time
 */
export function readWhen(text: string, now: number, isUtc: boolean): number | null {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text.trim()) ?? [];
  if (count && unit) return now - Number(count) * (units[unit] ?? 0);
  const at = readMoment(text.trim(), now, isUtc);
  return Number.isFinite(at) ? at : null;
}
