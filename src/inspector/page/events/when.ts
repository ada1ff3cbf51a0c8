/** Times as people type them: `03:10`, `2026-11-22T03:10`, `15m` ago. Pure but for the zone. */
const dayMs = 24 * 3_600_000;
const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: dayMs };

/**
 * A time of day is the latest one that is past; what names no zone is local, or UTC where `isUtc`.
 *
 * @returns ms since the epoch; null: it is no time
 */
export function readWhen(text: string, now: number, isUtc: boolean): number | null {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text.trim()) ?? [];
  if (count && unit) return now - Number(count) * (units[unit] ?? 0);
  const [, hours, minutes, seconds = '0'] = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(text.trim()) ?? [];
  if (hours && minutes) return timeOfDay([Number(hours), Number(minutes), Number(seconds)], now, isUtc);
  const at = date(text.trim().replace(' ', 'T'), isUtc);
  return Number.isFinite(at) ? at : null;
}

function timeOfDay(parts: [number, number, number], now: number, isUtc: boolean): number | null {
  if (parts[0] > 23 || parts[1] > 59 || parts[2] > 59) return null;
  const today = new Date(now);
  const at = isUtc ? today.setUTCHours(...parts, 0) : today.setHours(...parts, 0);
  return at <= now ? at : at - dayMs;
}

function date(text: string, isUtc: boolean): number {
  const [, day, time = '00:00', zone] =
    /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:?\d{2})?)?$/.exec(text) ?? [];
  if (day === undefined) return Number.NaN;
  return Date.parse(`${day}T${time}${zone ?? (isUtc ? 'Z' : '')}`);
}
