/** Times as tests write them: `'250ms'`, `'30s'`, `'5m'`, `'2h'`, or a number of milliseconds. */

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * @returns ms
 * @throws Error for anything that is not a time
 */
export function duration(time: string | number): number {
  if (typeof time === 'number') return time;
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(time) ?? [];
  const factor = units[unit];
  if (number === undefined || factor === undefined)
    throw new Error(`${JSON.stringify(time)} is no time; write 250ms, 30s, 5m or 2h`);
  return Number(number) * factor;
}
