/** Durations as people write them in annotations, `800ms`, `1.5s`, and ranges of them, `200ms-3s`. */
import { OrreryError } from '../../../src/base/errors.ts';
import type { Random } from '../../../src/base/random.ts';

/** Both ends in milliseconds, `min` ≤ `max`. */
export interface DurationRange {
  readonly minMs: number;
  readonly maxMs: number;
}

/** @throws OrreryError USAGE */
export function parseDurationMs(text: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(text.trim());
  if (match === null)
    throw new OrreryError('USAGE', `"${text}" is no duration: a number with ms, s or m, as 1.5s`);
  const unitMs = match[2] === 'ms' ? 1 : match[2] === 's' ? 1_000 : 60_000;
  return Number(match[1]) * unitMs;
}

/** @throws OrreryError USAGE */
export function parseDurationRange(text: string): DurationRange {
  const [low, high] = text.split('-');
  const minMs = parseDurationMs(low ?? '');
  const maxMs = high === undefined ? minMs : parseDurationMs(high);
  if (minMs > maxMs)
    throw new OrreryError('USAGE', `"${text}" is no range of durations: the first is longer than the second`);
  return { minMs, maxMs };
}

export function drawMs(range: DurationRange, random: Random): number {
  return range.minMs + (range.maxMs - range.minMs) * random.next();
}

/** Seconds for people: `0.84 s`. */
export function inSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
