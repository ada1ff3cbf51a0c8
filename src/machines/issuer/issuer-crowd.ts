/**
 * An Issuer with more domains than it can serve at once: when the turn of one that waits is expected, and
 * when one that found no place asks again (docs/features/certificates.md §5.8, §5.9). Pure.
 *
 * Those without a place are called one after another, each namespace by itself, at the pace at which places
 * can become free: so they ask about as often as there is something to get, however many they are, and the
 * queue does not run dry. Absent: a list of them, which would have no bound.
 */
import { availableAt, type BucketSize, share } from './budget.ts';
import { hostOf, type IssuerContext, type Waiting } from './issuer-context.ts';
import { limitedUntil } from './issuer-limits.ts';
import { dayMs, hourMs } from './issuer-periods.ts';
import { allowedAt, sizes } from './issuer-queue.ts';
import { turnsBefore } from './issuer-turns.ts';

/** When the turn of a waiting domain comes, as far as can be told, ms since the epoch. */
export function turnAt(context: IssuerContext, one: Waiting, at: number): number {
  const { queue, buckets, facts } = context;
  const allowed = allowedAt(context, one);
  if (one.exempt || !facts?.budget) return allowed;
  const { orders, certificates } = sizes(facts.budget);
  const counted = queue.filter(({ exempt }) => !exempt);
  const neighbours = counted.filter(({ registered }) => registered === one.registered);
  const rivals = counted.filter((other) => other === one || !isHeldBack(context, other, at));
  return Math.max(
    allowed,
    after(buckets.orders, orders, turnsBefore(context, rivals, one, at), at),
    after(buckets.certificates[one.registered], certificates, turnsBefore(context, neighbours, one, at), at),
  );
}

/** When a bucket has a token again after so many others were taken. */
const after = (fullAt: number | undefined, size: BucketSize, others: number, at: number): number =>
  others === 0 ? 0 : availableAt(Math.max(fullAt ?? 0, at), size) + others * share(size);

/** Whether something other than the budget for orders keeps a domain from taking one soon. */
function isHeldBack(context: IssuerContext, one: Waiting, at: number): boolean {
  const { buckets, facts } = context;
  if (!facts?.budget) return false;
  const { orders, certificates, duplicates } = sizes(facts.budget);
  const own = Math.max(
    availableAt(buckets.certificates[one.registered], certificates),
    availableAt(buckets.duplicates[hostOf(one.domain)], duplicates),
    limitedUntil(context, one),
  );
  return own > Math.max(at, availableAt(buckets.orders, orders));
}

/** Namespaces whose calls are remembered. */
const callsMax = 256;
/** One order after another, at its fastest, ms: ten at a time at an authority, 64 of a CA of one's own. */
const orderPaceMs = { acme: 250, ca: 10 } as const;
/** While nobody is served, a question serves only to keep what is told true. */
const idlePauseMs = 5 * 60_000;
const idlePaceMs = 100;

interface Caller {
  readonly at: number;
  /** In [0, 1) */
  readonly random: number;
  /** Nobody is served before, ms since the epoch; null: unknown. */
  readonly from: number | null;
}

/** When a domain without a place asks again, ms since the epoch, and the calls with this one. */
export function called(
  context: IssuerContext,
  { namespace = '', exempt }: Pick<Waiting, 'exempt'> & { readonly namespace?: string },
  { at, random, from }: Caller,
): { readonly calls: Readonly<Record<string, number>>; readonly until: number } {
  const calls = Object.fromEntries(
    Object.entries(context.calls ?? {}).filter(([, last]) => last > at && last <= at + dayMs),
  );
  const pauseMs = context.isReady ? 1_000 : idlePauseMs;
  const last = calls[namespace] ?? 0;
  const start = Math.max(last, at + pauseMs, from ?? 0);
  const until = Math.round(start + paceMs(context, exempt, Object.keys(calls).length));
  // While nobody is served, what they were told must not stay told for long.
  const [spanMs, base] = context.isReady ? [dayMs, at] : [hourMs, Math.max(at, from ?? 0)];
  // Who would come later is spread over half of that time.
  if (until > base + spanMs) return { calls, until: Math.round(base + spanMs * (0.5 + 0.5 * random)) };
  return { calls: latest({ ...calls, [namespace]: until }), until };
}

/**
 * A namespace may be the only one tomorrow, so it is called at the full pace; but many of them are not called
 * many times as often.
 */
function paceMs({ facts, isReady }: IssuerContext, exempt: boolean, namespaces: number): number {
  const budget = exempt ? null : facts?.budget;
  const order = budget ? share(sizes(budget).orders) : 0;
  const work = orderPaceMs[facts?.kind ?? 'acme'] * Math.min(Math.max(namespaces, 1), 4);
  return Math.max(order, work, isReady ? 0 : idlePaceMs);
}

const latest = (calls: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(calls)
      .sort(([, a], [, b]) => b - a)
      .slice(0, callsMax),
  );

/** Whether domains without a place are to ask again. */
export const isCalling = ({ calls = {} }: IssuerContext, at: number) =>
  Object.values(calls).some((last) => last > at);
