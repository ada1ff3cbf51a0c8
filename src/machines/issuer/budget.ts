/**
 * Token buckets as single numbers (the generic cell rate algorithm): a bucket is the time at which it is full
 * again.
 *
 * A bucket of `capacity` that refills evenly over `periodMs` admits what a token bucket of that size would.
 * Pure; a full bucket needs no memory. Absent: fixed windows, which admit twice the amount around their
 * boundaries.
 */

export interface BucketSize {
  readonly capacity: number;
  readonly periodMs: number;
}

/** Milliseconds in which one token returns. */
export const share = ({ capacity, periodMs }: BucketSize) => periodMs / capacity;

/**
 * When a token is available, ms since the epoch; at most `at` if one is available now. @param fullAt 0 or
 * absent: the bucket is full
 */
export function availableAt(fullAt: number | undefined, size: BucketSize): number {
  return (fullAt ?? 0) - (size.periodMs - share(size));
}

/** The bucket after taking one token. */
export function taken(fullAt: number | undefined, size: BucketSize, at: number): number {
  return Math.max(fullAt ?? 0, at) + share(size);
}

/** The bucket after returning one token. */
export function putBack(fullAt: number | undefined, size: BucketSize): number {
  return (fullAt ?? 0) - share(size);
}

/** Without full buckets; if there are too many, the fullest are dropped. */
export function pruned(
  buckets: Readonly<Record<string, number>>,
  at: number,
  bucketsMax: number,
): Readonly<Record<string, number>> {
  const short = Object.entries(buckets).filter(([, fullAt]) => fullAt > at);
  if (short.length === Object.keys(buckets).length && short.length <= bucketsMax) return buckets;
  return Object.fromEntries(short.sort(([, a], [, b]) => b - a).slice(0, bucketsMax));
}
