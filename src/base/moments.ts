/** Times as people type them: `03:10`, `2026-11-22T03:10`. Pure but for the zone of this machine. */

const dayMs = 24 * 3_600_000;
const clockForm = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/;
const dateForm = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/;

export const isTimeOfDay = (text: string): boolean => clockForm.test(text);

/**
 * A time of day is the latest one that is past; what names no zone is local, or UTC where `isUtc`.
 *
 * @returns ms since the epoch; NaN: it is no time
 */
export function readMoment(text: string, now: number, isUtc: boolean): number {
  const [, hours, minutes, seconds = '0'] = clockForm.exec(text) ?? [];
  if (hours !== undefined) return timeOfDay([Number(hours), Number(minutes), Number(seconds)], now, isUtc);
  const [, day, time = '00:00', zone] = dateForm.exec(text) ?? [];
  return day === undefined ? Number.NaN : Date.parse(`${day}T${time}${zone ?? (isUtc ? 'Z' : '')}`);
}

/** The same time of the day after. */
export const nextDay = (at: number): number => at + dayMs;

function timeOfDay(parts: readonly [number, number, number], now: number, isUtc: boolean): number {
  if (parts[0] > 23 || parts[1] > 59 || parts[2] > 59) return Number.NaN;
  const today = new Date(now);
  const at = isUtc ? today.setUTCHours(...parts, 0) : today.setHours(...parts, 0);
  return at <= now ? at : at - dayMs;
}
