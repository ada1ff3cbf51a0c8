/**
 * A time as people read it, with date and zone: local to this machine, or UTC. Pure but for the zone. No
 * imports: the page takes it as it is.
 */

/** `2026-11-22 03:12:05.123 +01:00`, or `2026-11-22 02:12:05.123 UTC`. */
export function shownTime(at: number, isUtc: boolean): string {
  const offset = isUtc ? 0 : -new Date(at).getTimezoneOffset();
  const text = new Date(at + offset * 60_000).toISOString().replace('T', ' ').slice(0, 23);
  return `${text} ${isUtc ? 'UTC' : zone(offset)}`;
}

/** The same to the second. */
export function shownSecond(at: number, isUtc: boolean): string {
  return shownTime(at, isUtc).replace(/\.\d{3}/, '');
}

/** Only the time of day: `03:12:05`. */
export function shownClock(at: number): string {
  return shownTime(at, false).slice(11, 19);
}

/** @param minutes east of UTC */
function zone(minutes: number): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const away = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(away / 60))}:${two(away % 60)}`;
}
