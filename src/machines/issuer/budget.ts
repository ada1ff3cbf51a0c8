/**
 * Token buckets as single numbers (the generic cell rate algorithm): a bucket is the time at which it is full
 * again.
 *
 * A bucket of `capacity` that refills evenly over `periodMs` lets through what a token bucket of that size
 * would. Pure; a bucket that is full needs no memory at all. Absent: fixed windows, which let twice the
 * amount through at their borders.
 */

export interface BucketSize {
  readonly capacity: number;
  readonly periodMs: number;
}

/** Milliseconds in which one token comes back. */
const share = ({ capacity, periodMs }: BucketSize) => periodMs / capacity;

/**
 * When a token is there, ms since the epoch; not later than `at` if there is one now. @param fullAt 0 or
 * absent: the bucket is full
 */
export function availableAt(fullAt: number | undefined, size: BucketSize): number {
  return (fullAt ?? 0) - (size.periodMs - share(size));
}

/** The bucket after one token was taken. */
export function taken(fullAt: number | undefined, size: BucketSize, at: number): number {
  return Math.max(fullAt ?? 0, at) + share(size);
}

/** The bucket after one token was put back. */
export function putBack(fullAt: number | undefined, size: BucketSize): number {
  return (fullAt ?? 0) - share(size);
}

/** Without the buckets that are full again; of too many, those that are fullest are forgotten. */
export function pruned(
  buckets: Readonly<Record<string, number>>,
  at: number,
  bucketsMax: number,
): Readonly<Record<string, number>> {
  const short = Object.entries(buckets).filter(([, fullAt]) => fullAt > at);
  if (short.length === Object.keys(buckets).length && short.length <= bucketsMax) return buckets;
  return Object.fromEntries(short.sort(([, a], [, b]) => b - a).slice(0, bucketsMax));
}
