/**
 * Bounds an Issuer's future times. Pure.
 *
 * No permit, bucket or limit ends later than the rules allow. A later time was written by a clock that was
 * ahead, and would block everybody until then; it counts from now instead.
 */

import type { Buckets, IssuerContext } from './issuer-context.ts';
import { hourMs, permitMs, weekMs } from './issuer-periods.ts';

type Times = Pick<IssuerContext, 'inWork' | 'buckets' | 'limits'>;

/** A limit lasts a day at most (`grownMs`). */
const limitMs = 24 * hourMs;

export function withinReach({ inWork, buckets, limits }: IssuerContext, at: number): Times {
  return {
    inWork: untilAtMost(inWork, at + permitMs),
    buckets: bucketsWithin(buckets, at),
    limits: untilAtMost(limits, at + limitMs),
  };
}

function bucketsWithin({ orders, certificates, duplicates }: Buckets, at: number): Buckets {
  return {
    orders: Math.min(orders, at + 3 * hourMs),
    certificates: mapped(certificates, (fullAt) => Math.min(fullAt, at + weekMs)),
    duplicates: mapped(duplicates, (fullAt) => Math.min(fullAt, at + weekMs)),
  };
}

const untilAtMost = <T extends { readonly until: number }>(
  known: Readonly<Record<string, T>>,
  latest: number,
) => mapped(known, (one) => (one.until > latest ? { ...one, until: latest } : one));

/** The same object if nothing changes. */
function mapped<T>(known: Readonly<Record<string, T>>, change: (one: T) => T): Readonly<Record<string, T>> {
  const entries = Object.entries(known).map(([key, one]) => [key, change(one)] as const);
  return entries.every(([key, one]) => known[key] === one) ? known : Object.fromEntries(entries);
}
