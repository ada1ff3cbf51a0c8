/**
 * Times as people type them: `03:12`, `2026-11-22T03:12`, `15m` ago; local or UTC. Pure but for the zone of
 * this machine.
 */
import { duration, notAllowed } from '../../base/config-values.ts';
import { isTimeOfDay, nextDay, readMoment } from '../../base/words.ts';

/**
 * A time of day is the latest one that is past; what names no zone is local, or UTC where `isUtc`.
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
 * A time of day ends what begins before it, though it be still to come: `--from 08:50 --to 08:51` at 08:50.
 */
export function readEnd(
  text: string,
  { now, from, isUtc }: { readonly now: number; readonly from: number | null; readonly isUtc: boolean },
): number {
  const at = readTime('--to', text, now, isUtc);
  return isTimeOfDay(text) && from !== null && at < from ? nextDay(at) : at;
}
