/**
 * The issuer chart's context and everything pure that is computed from it: whose turn it is, what the budgets allow, what is told.
 */
import type { ActorId } from '../../base/ids.ts';
import type { ActorInput } from '../actor-input.ts';
import type { Notice } from '../domain/domain-effects.ts';
import type { PermitAsked, PermitDeferred, PermitReturned } from '../domain/domain-events.ts';
import type { IssuerBudget, IssuerFacts } from '../domain/domain-facts.ts';
import type { MessageSend } from '../effects.ts';
import type { Stamp } from '../events.ts';
import { availableAt, type BucketSize, pruned, putBack, taken } from './budget.ts';
import type { IssuerReport, IssuerStatus, IssuerVerify } from './issuer-effects.ts';
import type { IssuerEvent } from './issuer-events.ts';

/** A domain that waits for its permit. */
export interface Waiting {
  readonly domain: ActorId;
  readonly registered: string;
  readonly exempt: boolean;
}

/** A permit that is out: until when it holds at the latest, ms since the epoch. */
export interface Permit {
  readonly until: number;
}

export interface Buckets {
  readonly orders: number;
  /** By registered domain. */
  readonly certificates: Readonly<Record<string, number>>;
  /** By host. */
  readonly duplicates: Readonly<Record<string, number>>;
}

export interface IssuerContext {
  readonly name: string;
  /** null: nothing is known of it (yet). */
  readonly facts: IssuerFacts | null;
  readonly phase: string;
  /** Numbers the checks: an outcome that names another number is old. */
  readonly check: number;
  /** First come, first served. */
  readonly queue: readonly Waiting[];
  readonly inWork: Readonly<Record<ActorId, Permit>>;
  readonly buckets: Buckets;
  /** Domains that got a permit in this step and are to be told so. */
  readonly granted: readonly ActorId[];
  /** Domains that asked in this step and have to wait. */
  readonly deferred: readonly ActorId[];
  readonly limitedUntil: number | null;
  readonly outageSince: number | null;
  /** Outages in a row, with nothing that went well between them. */
  readonly probes: number;
  readonly lastError: string | null;
  readonly readySince: number;
  readonly isReady: boolean;
}

export type IssuerInput = IssuerEvent & Stamp;

export interface Moment {
  readonly context: IssuerContext;
  readonly event: IssuerInput;
}

export const newborn = ({ name }: ActorInput): IssuerContext => ({
  name,
  facts: null,
  phase: 'unobserved',
  check: 0,
  queue: [],
  inWork: {},
  buckets: { orders: 0, certificates: {}, duplicates: {} },
  granted: [],
  deferred: [],
  limitedUntil: null,
  outageSince: null,
  probes: 0,
  lastError: null,
  readySince: 0,
  isReady: false,
});

/** Orders in work at one time at an authority; a CA of one's own signs, and bears more. */
export const inWorkMax = ({ facts }: IssuerContext) => (facts?.kind === 'ca' ? 64 : 10);
/** Domains that wait here; more are told to ask again later. At 80 bytes each the record stays far below its bound. */
export const queueMax = 1_000;
/** Buckets remembered of each sort; the fullest are forgotten. */
const bucketsMax = 2_000;
/** A domain gives its permit back within 300 s; one that does not has been lost on the way. */
const permitMs = 330_000;

const hourMs = 3_600_000;
const weekMs = 7 * 24 * hourMs;

const hostOf = (domain: ActorId) => domain.slice('domain/_/'.length);

/** Takes the domain into the queue, once. */
export function enqueued(
  queue: readonly Waiting[],
  { domain, registered, exempt }: PermitAsked | PermitReturned,
  place: 'first' | 'last',
): readonly Waiting[] {
  const entry = { domain, registered, exempt };
  if (queue.some((one) => one.domain === domain)) return queue;
  return place === 'first' ? [entry, ...queue] : [...queue, entry];
}

export function asked(context: IssuerContext, event: PermitAsked): Partial<IssuerContext> {
  // One that asks again has not heard of its permit yet.
  if (context.inWork[event.domain] !== undefined) return { granted: [event.domain] };
  const isFull = context.queue.length >= queueMax;
  const queue = isFull ? context.queue : enqueued(context.queue, event, 'last');
  return { queue, deferred: [event.domain] };
}

/** Takes the permit back; what was not used up goes back into the budget. */
export function returned(context: IssuerContext, event: PermitReturned): Partial<IssuerContext> {
  const { [event.domain]: permit, ...inWork } = context.inWork;
  const others = context.queue.filter(({ domain }) => domain !== event.domain);
  const place = event.outcome === 'rateLimited' ? 'first' : 'last';
  const isUnused = permit !== undefined && !event.exempt && event.outcome !== 'issued';
  return {
    inWork,
    queue: event.again ? enqueued(others, event, place) : others,
    buckets: isUnused ? refunded(context, event) : context.buckets,
  };
}

function refunded(
  { buckets, facts }: IssuerContext,
  { domain, registered, outcome }: PermitReturned,
): Buckets {
  if (!facts?.budget) return buckets;
  const { orders, certificates, duplicates } = sizes(facts.budget);
  const host = hostOf(domain);
  const { [registered]: ofDomain, ...otherDomains } = buckets.certificates;
  const { [host]: ofHost, ...otherHosts } = buckets.duplicates;
  return {
    // A refused order was an order all the same.
    orders: outcome === 'unused' ? putBack(buckets.orders, orders) : buckets.orders,
    certificates: {
      ...otherDomains,
      ...(ofDomain === undefined ? {} : { [registered]: putBack(ofDomain, certificates) }),
    },
    duplicates: { ...otherHosts, ...(ofHost === undefined ? {} : { [host]: putBack(ofHost, duplicates) }) },
  };
}

function sizes(budget: IssuerBudget): Record<'orders' | 'certificates' | 'duplicates', BucketSize> {
  return {
    orders: { capacity: budget.ordersPer3h, periodMs: 3 * hourMs },
    certificates: { capacity: budget.certificatesPerDomainPer7d, periodMs: weekMs },
    duplicates: { capacity: budget.duplicatesPer7d, periodMs: weekMs },
  };
}

/** When the budgets allow this domain an order, ms since the epoch. */
export function allowedAt(
  { buckets, facts }: IssuerContext,
  { domain, registered, exempt }: Waiting,
): number {
  if (exempt || !facts?.budget) return 0;
  const size = sizes(facts.budget);
  return Math.max(
    availableAt(buckets.orders, size.orders),
    availableAt(buckets.certificates[registered], size.certificates),
    availableAt(buckets.duplicates[hostOf(domain)], size.duplicates),
  );
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

/** Gives permits to those whose turn it is: the first in the queue whom the budgets allow. */
export function served(context: IssuerContext, at: number, permitsMax: number): Partial<IssuerContext> {
  let next: IssuerContext = { ...context, inWork: inForce(context.inWork, at) };
  const granted = [...context.granted];
  while (Object.keys(next.inWork).length < permitsMax) {
    const turn = next.queue.find((one) => allowedAt(next, one) <= at);
    if (turn === undefined) break;
    granted.push(turn.domain);
    next = {
      ...next,
      queue: next.queue.filter((one) => one !== turn),
      inWork: { ...next.inWork, [turn.domain]: { until: at + permitMs } },
      buckets: spent(next, turn, at),
    };
  }
  const { queue, inWork, buckets } = next;
  return {
    queue,
    inWork,
    buckets,
    granted,
    deferred: context.deferred.filter((one) => isHeldUp(next, one, at)),
  };
}

/** Whether the domain waits for more than its turn: those who only wait for that are not told. */
function isHeldUp(context: IssuerContext, domain: ActorId, at: number): boolean {
  if (context.inWork[domain] !== undefined) return false;
  const turn = context.queue.find((one) => one.domain === domain);
  return turn === undefined || allowedAt(context, turn) > at;
}

function inForce(inWork: IssuerContext['inWork'], at: number): IssuerContext['inWork'] {
  const entries = Object.entries(inWork) as Array<[ActorId, Permit]>;
  return entries.every(([, { until }]) => until > at)
    ? inWork
    : (Object.fromEntries(entries.filter(([, { until }]) => until > at)) as IssuerContext['inWork']);
}

/** Time until something may change by itself: a permit that runs out, a budget that fills. ms */
export function quietMs(context: IssuerContext, at: number): number {
  const ends = Object.values(context.inWork).map(({ until }) => until);
  const isRoom = ends.length < inWorkMax(context);
  const turns = isRoom ? context.queue.map((one) => allowedAt(context, one)) : [];
  const next = Math.min(at + 24 * hourMs, ...ends, ...turns);
  return Math.max(1_000, next - at);
}

/** 10 s doubling to 5 min: the specification. Moved down by up to 10 %, so that 5 min is the most. */
export function probePauseMs(probes: number, random: number): number {
  return Math.round(
    Math.min(10_000 * 2 ** Math.min(Math.max(0, probes - 1), 10), 300_000) * (0.9 + 0.1 * random),
  );
}

export const checkingOf = ({ context }: Moment): Omit<IssuerVerify, 'type'> => ({
  issuer: context.name,
  check: context.check,
});

export const grants = ({ context }: Moment): Omit<MessageSend, 'type'> => ({
  to: context.granted,
  event: { type: 'permit.granted', issuer: context.name },
});

/** Tells those who asked just now why they have to wait. */
export function deferrals({ context, event }: Moment): Omit<MessageSend, 'type'> {
  return { to: context.deferred, event: deferralOf(context, event.at) };
}

function deferralOf(context: IssuerContext, at: number): PermitDeferred {
  const { name, phase, limitedUntil, queue } = context;
  const say = (reason: PermitDeferred['reason'], until: number | null): PermitDeferred => ({
    type: 'permit.deferred',
    issuer: name,
    reason,
    until,
  });
  if (phase === 'rateLimited') return say('rateLimited', limitedUntil);
  if (phase === 'down') return say('down', null);
  if (phase !== 'ready' && phase !== 'trying') return say('notReady', null);
  const mine = queue.find(({ domain }) => context.deferred.includes(domain));
  if (mine === undefined) return say('full', null);
  return say('budget', Math.round(Math.max(at, allowedAt(context, mine))));
}

export function entered(context: IssuerContext, phase: string, at: number): Partial<IssuerContext> {
  const isReady = phase === 'ready' || phase === 'trying';
  const isSame = context.isReady === isReady && context.readySince !== 0;
  return { phase, isReady, readySince: isSame ? context.readySince : at };
}

export function statusOf(context: IssuerContext): IssuerStatus {
  const { isReady, readySince, phase, lastError, limitedUntil, outageSince } = context;
  return {
    rateLimitedUntil: limitedUntil,
    outageSince,
    conditions: [
      {
        type: 'Ready',
        status: isReady ? 'True' : 'False',
        reason: reasons[phase] ?? 'Verifying',
        message: isReady ? 'certificates can be had' : (lastError ?? 'it is being verified'),
        since: readySince,
      },
    ],
  };
}

const reasons: Readonly<Record<string, string>> = {
  ready: 'Verified',
  trying: 'Verified',
  rateLimited: 'RateLimited',
  down: 'AuthorityDown',
  invalid: 'InvalidSpec',
  refused: 'Refused',
};

/** The status for people, with an Event if there is something to say. */
export function report(
  { context, event }: Moment,
  notice: ((context: IssuerContext) => Notice) | null,
): Omit<IssuerReport, 'type'> {
  return {
    issuer: context.name,
    uid: context.facts?.uid ?? '',
    generation: context.facts?.generation ?? 0,
    status: statusOf(context),
    notice: notice?.(context) ?? null,
    at: event.at,
  };
}

const warning =
  (reason: string) =>
  ({ lastError }: IssuerContext): Notice => ({
    eventType: 'Warning',
    reason,
    note: lastError ?? '',
  });

export const downNotice = warning('AuthorityDown');
export const limitNotice = warning('RateLimited');
export const invalidNotice = warning('InvalidSpec');
export const refusedNotice = warning('NotUsable');
export const readyNotice = ({ name }: IssuerContext): Notice => ({
  eventType: 'Normal',
  reason: 'Verified',
  note: `Issuer ${name} can be used.`,
});
