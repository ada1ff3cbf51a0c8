/** Back-off: pauses that grow with each failure. */

/**
 * @param failures number of failures so far; 0 gives the first pause
 * @returns milliseconds: `minMs`, doubled with each failure, at most `maxMs`
 */
export function backOffMs(failures: number, minMs: number, maxMs: number): number {
  // 2 ** 52 is the last exact power; no pause is that long.
  return Math.min(minMs * 2 ** Math.min(Math.max(failures, 0), 52), maxMs);
}
