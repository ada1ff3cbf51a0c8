/**
 * Times as people type them: `03:12`, `2026-11-22T03:12`, `15m` ago; local or UTC. Pure but for the zone of
 * this machine.
 */
import { duration } from '../../base/config-values.ts';
import { OrreryError } from '../../base/errors.ts';

const dayMs = 24 * 3_600_000;
const clockForm = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/;
const dateForm = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

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
  const at = clockForm.test(text) ? timeOfDay(text, now, isUtc) : date(text, isUtc);
  if (Number.isFinite(at)) return at;
  throw new OrreryError(
    'USAGE',
    `${flag}: ${JSON.stringify(text)} is not allowed; allowed: a time such as 03:12 or 2026-11-22T03:12 (local; with Z or --utc: UTC), or an age such as 15m`,
  );
}

/**
 * A time of day ends what begins before it, though it be still to come: `--from 08:50 --to 08:51` at 08:50.
 */
export function readEnd(
  text: string,
  { now, from, isUtc }: { readonly now: number; readonly from: number | null; readonly isUtc: boolean },
): number {
  const at = readTime('--to', text, now, isUtc);
  return clockForm.test(text) && from !== null && at < from ? at + dayMs : at;
}

function timeOfDay(text: string, now: number, isUtc: boolean): number {
  const [, hours, minutes, seconds = '0'] = clockForm.exec(text) ?? [];
  const parts = [Number(hours), Number(minutes), Number(seconds)] as const;
  if (parts[0] > 23 || parts[1] > 59 || parts[2] > 59) return Number.NaN;
  const today = new Date(now);
  const at = isUtc ? today.setUTCHours(...parts, 0) : today.setHours(...parts, 0);
  return at <= now ? at : at - dayMs;
}

function date(text: string, isUtc: boolean): number {
  if (!dateForm.test(text)) return Number.NaN;
  const [day = '', time = '00:00'] = text.replace(' ', 'T').split('T');
  const hasZone = /(Z|[+-]\d{2}:?\d{2})$/.test(time);
  return Date.parse(`${day}T${time}${hasZone || !isUtc ? '' : 'Z'}`);
}
