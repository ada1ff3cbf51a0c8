/**
 * How long ago something happened, in the few characters that a table has for it. Source: what kubectl's
 * users are used to.
 */

/** `5s`, `4m10s`, `3h`, `2d5h`, `1y30d`: at most two figures, and one where the second says nothing. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  // Clocks may differ by a second.
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return pair(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  return longDuration(Math.floor(minutes / 60), minutes % 60);
}

function longDuration(hours: number, minutes: number): string {
  const days = Math.floor(hours / 24);
  const years = Math.floor(days / 365);
  if (hours < 8) return pair(hours, 'h', minutes, 'm');
  if (hours < 48) return `${hours}h`;
  if (days < 8) return pair(days, 'd', hours % 24, 'h');
  if (years < 2) return `${days}d`;
  return years < 8 ? pair(years, 'y', days % 365, 'd') : `${years}y`;
}

function pair(great: number, greatUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${great}${greatUnit}` : `${great}${greatUnit}${small}${smallUnit}`;
}

/** @param timestamp RFC 3339; anything else is unknown */
export function age(timestamp: string, nowMs: number): string {
  const then = Date.parse(timestamp);
  return Number.isNaN(then) ? '<unknown>' : humanDuration(nowMs - then);
}
