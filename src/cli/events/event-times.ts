/**
 * Times as people type them: `03:12`, `2026-11-22T03:12`, `15m` ago; local or UTC. Pure except for the time
 * zone of this machine.
 */
import { duration, notAllowed } from '../../base/config-values.ts';
import { isTimeOfDay, nextDay, readMoment } from '../../base/words.ts';

/**
 * A time of day means its latest occurrence in the past; a time without a zone is local, or UTC if `isUtc`.
 *
 * @param flag for the error
 * @returns ms since the epoch
 * @throws OrreryError USAGE
 */
export function readTime(flag: string, text: string, now: number, isUtc: boolean): number {
  const ago = /^\d+$/.test(text) ? undefined : duration.read(text);
  if (ago !== undefined) return now - ago;
  const at = readMoment(text, now, isUtc);
  if (Number.isFinite(at)) return at;
  const allowed =
    'a time such as 03:12 or 2026-11-22T03:12 (local; with Z or --utc: UTC), or an age such as 15m';
  throw notAllowed(flag, text, allowed);
}

/**
 * As the end of a range, a time of day follows the start, even if it is in the future: `--from 08:50 --to
 * 08:51` at 08:50.
 */
export function readEnd(
  text: string,
  { now, from, isUtc }: { readonly now: number; readonly from: number | null; readonly isUtc: boolean },
): number {
  const at = readTime('--to', text, now, isUtc);
  return isTimeOfDay(text) && from !== null && at < from ? nextDay(at) : at;
}
