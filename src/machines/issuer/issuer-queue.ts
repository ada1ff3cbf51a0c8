/**
 * Whose turn it is: an Issuer's queue, its budgets, and the shares of namespaces
 * (docs/features/certificates.md §5). Pure.
 *
 * In which order domains have their turn is in issuer-turns.ts. When the queue is full, one of the namespace
 * with the most places gives way: a new host rather than a renewal, the one that has waited least, or whose
 * certificate ends last; among those that a budget or a limit blocks if there are such.
 */
import type { ActorId } from '../../base/ids.ts';
import type { PermitAsked, PermitReturned } from '../domain/domain-events.ts';
import type { IssuerBudget } from '../domain/domain-facts.ts';
import { availableAt, type BucketSize, pruned, putBack, taken } from './budget.ts';
import { type Buckets, hostOf, type IssuerContext, type Permit, type Waiting } from './issuer-context.ts';
import { limitedUntil, limitsAfter } from './issuer-limits.ts';
import { hourMs, permitMs, weekMs } from './issuer-periods.ts';
import { byEnd, byTurn, noteTurn } from './issuer-turns.ts';

/** Concurrent orders at an authority; a private CA signs them itself and allows more. */
export const inWorkMax = ({ facts }: Pick<IssuerContext, 'facts'>) => (facts?.kind === 'ca' ? 64 : 10);
/**
 * Domains that wait here; further ones are told when to ask again (issuer-crowd.ts). At 140 bytes each the
 * record stays below its bound.
 */
export const queueMax = 1_000;
/** Buckets remembered of each sort; the fullest are dropped. */
const bucketsMax = 2_000;

const waitingOf = ({
  domain,
  registered,
  exempt,
  namespace = '',
  due = false,
  ends,
  ...numbers
}: PermitAsked | PermitReturned): Waiting => {
  const question = 'next' in numbers ? numbers.next : numbers.question;
  const known = question === undefined ? {} : { question };
  const waits = numbers.since === undefined ? {} : { since: numbers.since };
  return {
    domain,
    registered,
    exempt,
    namespace,
    due,
    ...(ends === undefined ? {} : { ends }),
    ...known,
    ...waits,
  };
};

/** Whether a question is no newer than another of its domain; of an earlier release's that is unknown. */
const isNoNewer = (one: { readonly question?: number }, other: { readonly question?: number }) =>
  one.question === undefined || other.question === undefined || one.question <= other.question;

/** Whether a domain asks although it has its permit: it has not received it. */
export function isDeaf({ inWork }: IssuerContext, event: PermitAsked, at: number): boolean {
  const permit = inWork[event.domain];
  return permit !== undefined && permit.until > at && isNoNewer(event, permit);
}

/** The queue with one more domain; `evicted` lost its place, and may be the new one. */
export function enqueued(
  context: IssuerContext,
  event: PermitAsked | PermitReturned,
  at: number,
): { readonly queue: readonly Waiting[]; readonly evicted: Waiting | null } {
  const { queue } = context;
  const entry = waitingOf(event);
  const index = queue.findIndex(({ domain }) => domain === event.domain);
  const known = queue[index];
  if (known !== undefined)
    return { queue: isNoNewer(known, entry) ? queue.with(index, entry) : queue, evicted: null };
  if (queue.length < queueMax) return { queue: [...queue, entry], evicted: null };
  const loser = givesWay(context, entry, at);
  if (loser === entry) return { queue, evicted: entry };
  return { queue: [...queue.filter((one) => one !== loser), entry], evicted: loser };
}

/**
 * Which domain has no place when there is one too many: of those that are blocked, or of all if none is, the
 * one of the namespace with the most places that has waited least. So whoever asks again and again gets one.
 */
function givesWay(context: IssuerContext, entry: Waiting, at: number): Waiting {
  const all = [...context.queue, entry];
  const blocked = all.filter((one) => allowedAt(context, one) > at);
  const choice = blocked.length > 0 ? blocked : all;
  const places = new Map<string, number>();
  for (const { namespace } of all) places.set(namespace, (places.get(namespace) ?? 0) + 1);
  const placesOf = ({ namespace }: Waiting) => places.get(namespace) ?? 0;
  // Where several namespaces have as many, the new one's loses.
  const inOrder = choice.includes(entry) ? [entry, ...choice] : choice;
  const crowded = inOrder.reduce(
    (most, one) => (placesOf(one) > placesOf(most) ? one : most),
    inOrder[0] ?? entry,
  );
  const its = choice.filter(({ namespace }) => namespace === crowded.namespace);
  const fresh = its.filter(({ due }) => !due);
  return latest(fresh.length > 0 ? fresh : its) ?? entry;
}

/**
 * The one whose certificate ends last; of new hosts, the one that has waited least; of those that have waited
 * as long, the last.
 */
const latest = (all: readonly Waiting[]): Waiting | undefined =>
  all.reduce<Waiting | undefined>(
    (last, one) =>
      last === undefined || (byEnd(one, last) || (one.since ?? 0) - (last.since ?? 0)) >= 0 ? one : last,
    undefined,
  );

const isSame = (one: { readonly question?: number }, other: { readonly question?: number }) =>
  isNoNewer(one, other) && isNoNewer(other, one);

/**
 * Takes back the permit, and the place, of the question that ended; a permit under which no order was made
 * returns to the budget.
 */
export function returned(
  context: IssuerContext,
  event: PermitReturned,
  at: number,
): { readonly change: Partial<IssuerContext>; readonly evicted: Waiting | null } {
  const { [event.domain]: permit, ...others } = context.inWork;
  const isEnded = permit !== undefined && isSame(permit, event);
  const queue = context.queue.filter((one) => one.domain !== event.domain || !isSame(one, event));
  // What did not count when it was granted is not given back, whatever the domain has become since.
  const isExempt = permit?.exempt ?? event.exempt;
  const isUnused = isEnded && !event.late && !isExempt && event.outcome !== 'issued';
  const waiting = event.again ? enqueued({ ...context, queue }, event, at) : { queue, evicted: null };
  const change = {
    inWork: isEnded ? others : context.inWork,
    queue: waiting.queue,
    buckets: isUnused ? refunded(context, event) : context.buckets,
    limits: limitsAfter(context, event, at),
  };
  return { change, evicted: waiting.evicted };
}

function refunded(
  { buckets, facts }: IssuerContext,
  { domain, registered, outcome, ordered }: PermitReturned,
): Buckets {
  if (!facts?.budget) return buckets;
  const { orders, certificates, duplicates } = sizes(facts.budget);
  const host = hostOf(domain);
  const { [registered]: ofDomain, ...otherDomains } = buckets.certificates;
  const { [host]: ofHost, ...otherHosts } = buckets.duplicates;
  const isUnused = ordered !== true && (outcome === 'unused' || outcome === 'unusable');
  return {
    // A refused order counts as an order all the same, and so does one that was abandoned.
    orders: isUnused ? putBack(buckets.orders, orders) : buckets.orders,
    certificates: {
      ...otherDomains,
      ...(ofDomain === undefined ? {} : { [registered]: putBack(ofDomain, certificates) }),
    },
    duplicates: { ...otherHosts, ...(ofHost === undefined ? {} : { [host]: putBack(ofHost, duplicates) }) },
  };
}

type Sizes = Readonly<Record<keyof Buckets, BucketSize>>;

/** A thousand domains are compared at each question, so they are made once for each budget. */
const sizesKnown = new WeakMap<IssuerBudget, Sizes>();

export function sizes(budget: IssuerBudget): Sizes {
  const known = sizesKnown.get(budget);
  if (known !== undefined) return known;
  const made = {
    orders: { capacity: budget.ordersPer3h, periodMs: 3 * hourMs },
    certificates: { capacity: budget.certificatesPerDomainPer7d, periodMs: weekMs },
    duplicates: { capacity: budget.duplicatesPer7d, periodMs: weekMs },
  };
  sizesKnown.set(budget, made);
  return made;
}

/** When budgets and limits allow this domain an order, ms since the epoch. */
export function allowedAt(context: IssuerContext, one: Waiting): number {
  return Math.max(budgetAt(context, one), limitedUntil(context, one));
}

function budgetAt(context: IssuerContext, one: Waiting): number {
  if (one.exempt) return 0;
  const { orders, certificates, duplicates } = budgetTimes(context, one);
  return Math.max(orders, certificates, duplicates);
}

/** When each budget allows this domain an order, ms since the epoch. */
function budgetTimes(
  { buckets, facts }: IssuerContext,
  { domain, registered }: Waiting,
): Record<keyof Buckets, number> {
  if (!facts?.budget) return { orders: 0, certificates: 0, duplicates: 0 };
  const size = sizes(facts.budget);
  return {
    orders: availableAt(buckets.orders, size.orders),
    certificates: availableAt(buckets.certificates[registered], size.certificates),
    duplicates: availableAt(buckets.duplicates[hostOf(domain)], size.duplicates),
  };
}

/** The budget that holds this domain back for longest, in words. */
export function budgetText(context: IssuerContext, one: Waiting): string {
  const { budget } = context.facts ?? {};
  if (!budget) return '';
  const { orders, certificates, duplicates } = budgetTimes(context, one);
  const { ordersPer3h, certificatesPerDomainPer7d, duplicatesPer7d } = budget;
  const issued = (count: number) => `${count} ${count === 1 ? 'certificate' : 'certificates'}`;
  if (duplicates >= Math.max(orders, certificates))
    return `${issued(duplicatesPer7d)} for ${hostOf(one.domain)} in 7 days (spec.budget.duplicatesPer7d)`;
  return certificates >= orders
    ? `${issued(certificatesPerDomainPer7d)} for ${one.registered} and all hosts under it in 7 days (spec.budget.certificatesPerDomainPer7d)`
    : `${ordersPer3h} orders in 3 hours (spec.budget.ordersPer3h)`;
}

function spent(
  { buckets, facts }: IssuerContext,
  { domain, registered, exempt }: Waiting,
  at: number,
): Buckets {
  if (exempt || !facts?.budget) return buckets;
  const size = sizes(facts.budget);
  const host = hostOf(domain);
  return {
    orders: taken(buckets.orders, size.orders, at),
    certificates: {
      ...pruned(buckets.certificates, at, bucketsMax),
      [registered]: taken(buckets.certificates[registered], size.certificates, at),
    },
    duplicates: {
      ...pruned(buckets.duplicates, at, bucketsMax),
      [host]: taken(buckets.duplicates[host], size.duplicates, at),
    },
  };
}

/** Grants permits to the domains whose turn it is. @param width concurrent orders */
export function served(
  context: IssuerContext,
  at: number,
  width: number,
): { readonly change: Partial<IssuerContext>; readonly granted: readonly ActorId[] } {
  const known = { ...context, ...withinReach(context, at) };
  let next: IssuerContext = { ...known, inWork: inForce(known.inWork, at) };
  const granted: ActorId[] = [];
  while (Object.keys(next.inWork).length < width) {
    const turn = nextTurn(next, at);
    if (turn === null) break;
    granted.push(turn.domain);
    const permit = {
      until: at + permitMs,
      exempt: turn.exempt,
      ...(turn.namespace === '' ? {} : { namespace: turn.namespace }),
      ...(turn.question === undefined ? {} : { question: turn.question }),
    };
    next = {
      ...next,
      queue: next.queue.filter((one) => one !== turn),
      inWork: { ...next.inWork, [turn.domain]: permit },
      ...noteTurn(next, turn),
      buckets: spent(next, turn, at),
    };
  }
  const { queue, inWork, buckets, limits, turns, renewals } = next;
  const order = granted.length === 0 ? {} : { turns: turns ?? [], renewals: renewals ?? 0 };
  return { change: { queue, inWork, buckets, limits, ...order }, granted };
}

/** Whose last permit is still to come back has to wait for that. */
const isUnsettled = ({ inWork }: IssuerContext, { domain }: Waiting) => inWork[domain] !== undefined;

function nextTurn(context: IssuerContext, at: number): Waiting | null {
  const compare = byTurn(context, at);
  let best: Waiting | null = null;
  for (const one of context.queue) {
    const isBetter = best === null || compare(one, best) < 0;
    if (isBetter && !isUnsettled(context, one) && allowedAt(context, one) <= at) best = one;
  }
  return best;
}

function inForce(inWork: IssuerContext['inWork'], at: number): IssuerContext['inWork'] {
  const entries = Object.entries(inWork) as Array<[ActorId, Permit]>;
  return entries.every(([, { until }]) => until > at)
    ? inWork
    : (Object.fromEntries(entries.filter(([, { until }]) => until > at)) as IssuerContext['inWork']);
}

/** Time until something may change without an event, ms: a permit expires, a budget fills, a limit ends. */
export function quietMs(context: IssuerContext, at: number, width: number): number {
  const ends = Object.values(context.inWork).map(({ until }) => until);
  const asking = ends.length < width ? context.queue.filter((one) => !isUnsettled(context, one)) : [];
  const turns = asking.map((one) => allowedAt(context, one));
  const next = Math.min(at + 24 * hourMs, ...ends, ...turns);
  return Math.max(1_000, next - at);
}

/** Time until every budget is full again and every permit is back, ms: then nothing is left to remember. */
export function memoryMs({ inWork, buckets }: IssuerContext, at: number): number {
  const { orders, certificates, duplicates } = bucketsWithin(buckets, at);
  const fullAts = [orders, ...Object.values(certificates), ...Object.values(duplicates)];
  const ends = Object.values(untilAtMost(inWork, at + permitMs)).map(({ until }) => until);
  return Math.max(...fullAts, ...ends) - at;
}

type Times = Pick<IssuerContext, 'inWork' | 'buckets' | 'limits'>;

/** A limit lasts a day at most (`grownMs`). */
const limitMs = 24 * hourMs;

/**
 * No permit, bucket or limit ends later than the rules allow. A later time was written by a clock that was
 * ahead, and would block everybody until then; it counts from now instead.
 */
function withinReach({ inWork, buckets, limits }: IssuerContext, at: number): Times {
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
