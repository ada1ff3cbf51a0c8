/**
 * What an election learns from its Lease, for whom it may claim it, and what the Lease should say. Pure.
 *
 * The Lease counts its changes of holder; a term is that count + 1. It never decreases, even if somebody
 * recreated the Lease.
 */

import { equal } from '../../base/equal.ts';
import { kubeMicroTime } from '../../base/kube-time.ts';
import { isOlderVersion } from '../../base/resource-version.ts';
import {
  candidateOf,
  deadlineMsOf,
  deadlineOf,
  holderEnd,
  isLiving,
  waiting,
  withoutCandidate,
} from './election-candidates.ts';
import {
  type Asked,
  type ElectionContext,
  type ElectionInput,
  type Former,
  placeOf,
  timingOf,
} from './election-context.ts';
import type { LeaseSeen } from './election-events.ts';
import { type LeaseRecord, transitionsMax } from './lease-record.ts';

/** Without events, the chart checks the Lease this often, ms; this only repairs lost events. */
const lookAroundMs = 60_000;

/** Whether it is news: a followed Lease may lag behind what was read or written since. */
export function isSeenNews(context: ElectionContext, event: ElectionInput): boolean {
  if (event.type !== 'lease.seen' || !equal(event.place, placeOf(context))) return false;
  if (event.attempt !== null) return event.attempt === context.attempt;
  const { seen } = context;
  if (seen === null) return true;
  if (isOlderVersion(event.resourceVersion, seen.resourceVersion) || isEcho(context, event)) return false;
  return event.resourceVersion !== seen.resourceVersion || !equal(event.record, seen.record);
}

/** Our own write, as it returns to us. */
function isEcho({ asked }: ElectionContext, { record }: LeaseSeen): boolean {
  return asked !== null && equal(record, asked.record);
}

export function withSeen(
  context: ElectionContext,
  { record, resourceVersion }: Pick<LeaseSeen, 'record' | 'resourceVersion'>,
  at: number,
): Partial<ElectionContext> {
  const { seen } = context;
  const isChanged = seen === null || !equal(record, seen.record);
  return {
    seen: { record, resourceVersion, at: isChanged ? at : seen.at },
    ...withTerm(context, termSeen(context, record), at),
  };
}

const dayMs = 86_400_000;
const dayOf = (at: number) => Math.floor(at / dayMs);

function withTerm(
  context: ElectionContext,
  term: number,
  at: number,
): Pick<ElectionContext, 'term' | 'today'> {
  const { today, seen } = context;
  if (term === context.term) return { term, today };
  const day = dayOf(at);
  // When the terms before the first sight, or before a recreated Lease, began is unknown.
  if (seen === null) return { term, today: { day, before: term } };
  if (seen.record === null && term > context.term + 1) return { term, today: { day, before: term - 1 } };
  return { term, today: today?.day === day ? today : { day, before: context.term } };
}

/**
 * Whether the Election's status names a later term than we know of, and we have written none: our record was
 * lost, and the Lease may have been recreated since by a program that counts from 0.
 */
export function isTermRemembered(context: ElectionContext, event: ElectionInput): boolean {
  if (event.type !== 'election.status.observed' || context.toldAt !== undefined) return false;
  return event.facts?.uid === context.facts?.uid && (event.facts?.term ?? 0) > context.term;
}

export function withTermRemembered(context: ElectionContext, event: ElectionInput): Partial<ElectionContext> {
  const term = event.type === 'election.status.observed' ? event.facts?.term : undefined;
  return term === undefined ? {} : withTerm({ ...context, seen: null }, term, event.at);
}

/** How many terms were seen to begin on the day (UTC) of that time. */
export function termsToday({ term, today }: ElectionContext, at: number): number {
  return today?.day === dayOf(at) ? term - today.before : 0;
}

/**
 * The Lease counts its changes of holder from 0. A Lease that somebody recreated without the count starts
 * from 0 again; the term does not.
 */
function termSeen({ term, seen }: ElectionContext, record: LeaseRecord | null): number {
  if (record === null) return term;
  const counted = record.transitions + 1;
  if (counted > term || record.holder === '') return Math.max(term, counted);
  const before = seen?.record;
  const isNewLeader =
    before !== undefined && (before?.holder !== record.holder || before.transitions !== record.transitions);
  return isNewLeader ? term + 1 : term;
}

/** The Lease says what was requested, though no answer came: the claim was won. */
export function isOwnClaim(context: ElectionContext, event: ElectionInput): boolean {
  if (event.type !== 'lease.seen' || !equal(event.place, placeOf(context))) return false;
  if (event.attempt !== null && event.attempt !== context.attempt) return false;
  const { asked } = context;
  if (asked === null || !isEcho(context, event)) return false;
  const candidate = candidateOf(context, asked.record.holder);
  const isInTime = event.at < asked.at + deadlineMsOf(context, asked);
  return isInTime && candidate !== undefined && isLiving(candidate, event.at);
}

const isOurs = ({ reign }: ElectionContext, record: LeaseRecord | null) =>
  record !== null && record.holder === reign?.holder && record.transitions === reign.transitions;

/** Another holder has the Lease that we thought ours. */
export function isStolen(context: ElectionContext, event: ElectionInput): boolean {
  if (event.type !== 'lease.seen' || !isSeenNews(context, event)) return false;
  return event.record !== null && event.record.holder !== '' && !isOurs(context, event.record);
}

/** The Lease was deleted, or its holder was removed. */
export function isWiped(context: ElectionContext, event: ElectionInput): boolean {
  if (event.type !== 'lease.seen' || !isSeenNews(context, event)) return false;
  return event.record === null || event.record.holder === '';
}

/** When the seen holder no longer has to be respected. */
export function foreignEnd({ seen }: ElectionContext): number {
  const record = seen?.record;
  if (seen === null || !record || record.holder === '') return 0;
  return seen.at + record.durationSeconds * 1_000;
}

/** The Lease has no holder; or its holder led through us, and its time with us is over. */
function isFree(context: ElectionContext, at: number): boolean {
  if (context.seen === null) return false;
  return at >= foreignEnd(context) || isLeftByUs(context);
}

/** Another program's holder, which has neither renewed nor released the Lease in time. */
export const isExpired = (context: ElectionContext, at: number): boolean =>
  foreignEnd(context) > 0 && at >= foreignEnd(context) && !isLeftByUs(context);

function isLeftByUs(context: ElectionContext): boolean {
  const { seen, former, asked } = context;
  const record = seen?.record ?? null;
  const wasOurs =
    former !== null &&
    equal(former.place, placeOf(context)) &&
    record?.holder === former.holder &&
    record.transitions === former.transitions;
  return wasOurs || (asked !== null && record !== null && equal(record, asked.record));
}

/**
 * How long the writer has to have seen the holder silent, because the chart's clock may have been set (§1.2).
 */
function respectOf(context: ElectionContext): Pick<Asked, 'respectMs'> {
  const record = context.seen?.record ?? null;
  if (record === null || record.holder === '' || isLeftByUs(context)) return {};
  return { respectMs: record.durationSeconds * 1_000 };
}

/** The holder has to be respected for longer than expected. */
export function withHeld(context: ElectionContext, event: ElectionInput): Partial<ElectionContext> {
  const { seen } = context;
  if (event.type !== 'lease.refused' || !seen?.record) return {};
  const until = event.at + (event.leftMs ?? 0);
  return { seen: { ...seen, at: until - seen.record.durationSeconds * 1_000 }, asked: null };
}

/** A coordinated election prefers another holder. */
export function isAnotherPreferred(
  { seen }: Pick<ElectionContext, 'seen'>,
  candidate: string | undefined,
): boolean {
  const record = seen?.record;
  if (!record || record.strategy === '' || record.preferredHolder === '') return false;
  return record.preferredHolder !== candidate;
}

/** How many changes of holder the Lease counts once somebody takes it. */
function nextCount({ seen, term }: ElectionContext): number {
  const before = seen?.record ?? null;
  return Math.max(before === null ? 0 : before.transitions + 1, term);
}

/** The Lease has counted as many changes of holder as the API takes: nobody leads after its holder. */
export const isSpent = (context: ElectionContext): boolean => nextCount(context) > transitionsMax;

/** The candidate for whom the Lease is to be claimed now; undefined: none. */
export const nextLeader = (context: ElectionContext, at: number): string | undefined =>
  isSpent(context) ? undefined : candidateInTurn(context, at);

/** The candidate who could lead now if terms were left for one; undefined: none. */
export function candidateInTurn(context: ElectionContext, at: number): string | undefined {
  if (context.ending || context.facts === null || context.facts.invalid !== null) return undefined;
  if (!isFree(context, at)) return undefined;
  return waiting(context, at).find((candidate) => !isAnotherPreferred(context, candidate));
}

/** The Lease's content when `holder` takes it. */
function claim(context: ElectionContext, holder: string, at: number): LeaseRecord {
  const before = context.seen?.record ?? null;
  const { leaseMs } = timingOf(context);
  return {
    holder,
    durationSeconds: Math.max(1, Math.ceil(leaseMs / 1_000)),
    acquireTime: kubeMicroTime(at),
    renewTime: kubeMicroTime(at),
    transitions: nextCount(context),
    strategy: before?.strategy ?? '',
    preferredHolder: before?.preferredHolder === holder ? '' : (before?.preferredHolder ?? ''),
  };
}

export function withClaim(context: ElectionContext, at: number): Partial<ElectionContext> {
  const holder = nextLeader(context, at);
  if (holder === undefined) return {};
  const { renewDeadlineMs: deadlineMs } = timingOf(context);
  const asked = { record: claim(context, holder, at), at, deadlineMs, ...respectOf(context) };
  return { asked, attempt: context.attempt + 1 };
}

/** The Lease's content when its holder renews. */
export function withRenewalAsked(context: ElectionContext, at: number): Partial<ElectionContext> {
  const before = context.seen?.record;
  if (!before) return {};
  const { leaseMs, renewDeadlineMs: deadlineMs } = timingOf(context);
  const record = {
    ...before,
    durationSeconds: Math.max(1, Math.ceil(leaseMs / 1_000)),
    // The API takes no empty time, and somebody may have removed it.
    acquireTime: before.acquireTime || kubeMicroTime(at),
    renewTime: laterSecond(before.renewTime, at),
  };
  return { asked: { record, at, deadlineMs }, attempt: context.attempt + 1 };
}

/**
 * Other candidates compare whole seconds, so the written time must be in a later second than the previous
 * one.
 */
function laterSecond(before: string, at: number): string {
  const last = Date.parse(before);
  return kubeMicroTime(Math.floor(at / 1_000) === Math.floor(last / 1_000) ? last + 1_000 : at);
}

/** The requested write succeeded: the leader leads, from before the request was sent. */
export function withReign(
  context: ElectionContext,
  resourceVersion: string | null,
): Partial<ElectionContext> {
  const { asked } = context;
  if (asked === null) return {};
  const { holder, transitions } = asked.record;
  const deadlineMs = deadlineMsOf(context, asked);
  const of = { place: placeOf(context), renewedAt: asked.at, deadlineMs };
  const reign = { holder, transitions, term: transitions + 1, ...of };
  return {
    reign,
    ...withTerm(context, Math.max(context.term, reign.term), asked.at),
    seen: { record: asked.record, resourceVersion, at: asked.at },
    asked: null,
    former: null,
    failures: 0,
    lastError: null,
  };
}

/** @param isHeard whether the former leader stays a candidate; one that loses or gives up campaigns again */
export function withoutReign(
  context: ElectionContext,
  reason: string,
  isHeard = false,
): Partial<ElectionContext> {
  const { reign } = context;
  if (reign === null) return {};
  const { holder, term, place, transitions, renewedAt } = reign;
  const leaseEnd = renewedAt + timingOf(context).leaseMs;
  const former: Former = { holder, term, place, transitions, leaseEnd, toldUntil: null, reason };
  return { reign: null, asked: null, former, ...(isHeard ? {} : withoutCandidate(context, holder)) };
}

/**
 * The term ends without the leader's doing, so it may act until the last time it was told
 * (docs/features/elections.md §5.3). A process that campaigns for itself knows at once.
 */
export function withReignTaken(context: ElectionContext, at: number): Partial<ElectionContext> {
  const end = holderEnd(context);
  const toldUntil = end === null ? null : Math.min(end, deadlineOf(context));
  const after = withoutReign(context, 'the election was changed or deleted');
  if (toldUntil === null || toldUntil <= at || !after.former) return after;
  return { ...after, former: { ...after.former, toldUntil } };
}

/** Its leader knows that the term is over. */
export const withEndKnown = ({ former }: ElectionContext): Partial<ElectionContext> =>
  former === null ? {} : { former: { ...former, toldUntil: null } };

/** The former leader resigns itself. */
export function isFormerResigning({ former }: ElectionContext, event: ElectionInput): boolean {
  if (event.type !== 'election.resign' || former === null) return false;
  return event.candidate === former.holder && (event.term === 0 || event.term === former.term);
}

/** How long the former leader may still act, ms. */
export const toldLeftMs = ({ former }: ElectionContext, at: number): number =>
  Math.max(0, (former?.toldUntil ?? 0) - at);

export function isToBeReleased({ facts, former }: ElectionContext, at: number): boolean {
  return facts?.releaseOnCancel === true && former !== null && at < former.leaseEnd;
}

/** From when it is no matter of moments any more that nobody leads, ms since the epoch. */
export const vacantAt = (context: ElectionContext): number =>
  Math.max(foreignEnd(context), context.seen?.at ?? 0) + timingOf(context).leaseMs;

/** The same for candidates that wait and may not lead; null: there are none. */
function overdueAt(context: ElectionContext, at: number): number | null {
  const [first] = waiting(context, at);
  if (first === undefined || !isAnotherPreferred(context, undefined)) return null;
  const since = candidateOf(context, first)?.since ?? 0;
  return Math.max(vacantAt(context), since + timingOf(context).leaseMs);
}

/** Candidates have waited for longer than a lease: the one that the Lease prefers does not take it. */
export function isOverdue(context: ElectionContext, at: number): boolean {
  const due = overdueAt(context, at);
  return due !== null && at >= due && nextLeader(context, at) === undefined;
}

/** How long nothing can change without an event. */
export function quietMs(context: ElectionContext, at: number): number {
  const ends = Object.values(context.candidates).flatMap(({ until }) => (until === null ? [] : [until]));
  const dues = [foreignEnd(context), overdueAt(context, at) ?? 0, ...ends].filter((due) => due > at);
  return Math.max(1, Math.min(lookAroundMs, ...dues.map((due) => due - at)));
}
