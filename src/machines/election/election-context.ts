/**
 * What an election remembers, and the pure questions about it: who may lead, until when, what the Lease
 * should say.
 *
 * Times are those of the replica that runs the chart, milliseconds since the epoch, and are compared with
 * nothing else: a Lease is judged by when it was *seen* to change, never by the times written in it.
 */

import { equal } from '../../base/equal.ts';
import type { ActorInput } from '../actor-input.ts';
import type { Stamp } from '../stamp.ts';
import type { Reporting } from '../unwritten.ts';
import type { ElectionStatus } from './election-effects.ts';
import type { ElectionEvent, ElectionFacts } from './election-events.ts';
import type { ElectionTiming, LeasePlace, LeaseRecord } from './lease-record.ts';

export type ElectionInput = ElectionEvent & Stamp;

export interface Candidate {
  readonly ttlMs: number | null;
  /** It is a candidate until then; null: until it resigns. */
  readonly until: number | null;
  /** The oldest candidate is next. */
  readonly since: number;
}

export interface Seen {
  readonly record: LeaseRecord | null;
  readonly resourceVersion: string | null;
  /** When the record was last seen to change. */
  readonly at: number;
}

/** A candidate of ours leads. */
export interface Reign {
  readonly holder: string;
  readonly term: number;
  readonly place: LeasePlace;
  /** When the last successful request was sent. */
  readonly renewedAt: number;
  /** The Lease's count of transitions in this term; it proves that the Lease is ours. */
  readonly transitions: number;
  /**
   * The renew deadline when that request was made, ms: an edit counts from the next renewal on, because the
   * leader and the Lease have been told this one. Absent: asked for by an earlier release.
   */
  readonly deadlineMs?: number;
}

/** What the Lease was last requested to say. */
export interface Asked {
  readonly record: LeaseRecord;
  readonly at: number;
  /** As in `Reign`. */
  readonly deadlineMs?: number;
  /** The writer must have seen the holder silent for this long; absent: there is no holder to respect. */
  readonly respectMs?: number;
}

/** The last term that ended. */
export interface Former {
  readonly holder: string;
  readonly term: number;
  readonly place: LeasePlace;
  readonly transitions: number;
  /** When others may take the Lease if nothing more is written. */
  readonly leaseEnd: number;
  /**
   * Until when the former leader may still act, by what it was told; null: it knows that its term is over.
   */
  readonly toldUntil: number | null;
  readonly reason: string;
}

/** The latest day (UTC) on which a term began. */
export interface TermsOfDay {
  /** Days since the epoch. */
  readonly day: number;
  /** The last term before that day, or the one at the first sight of the Lease. */
  readonly before: number;
}

export interface ElectionContext extends Reporting {
  readonly namespace: string;
  readonly name: string;
  readonly facts: ElectionFacts | null;
  readonly ending: boolean;
  readonly candidates: Readonly<Record<string, Candidate>>;
  /**
   * Candidates that have used a subject of their own and are accepted only there, the latest last (§5.6).
   */
  readonly bound: readonly string[];
  readonly seen: Seen | null;
  /** The highest known term; it never decreases. */
  readonly term: number;
  /** For counting the day's terms; null: none has begun since the election exists. */
  readonly today: TermsOfDay | null;
  readonly reign: Reign | null;
  readonly asked: Asked | null;
  readonly former: Former | null;
  /** Number of the current request; outcomes of older ones are ignored. */
  readonly attempt: number;
  /** Consecutive failed attempts. */
  readonly failures: number;
  readonly lastError: string | null;
  /** The last status of the Election resource, and the one being written. */
  readonly told: ElectionStatus | null;
  /** When it was written, ms since the epoch; absent: never, or by an earlier release. */
  readonly toldAt?: number;
  readonly telling: ElectionStatus | null;
  /** The resource said something else while it was being written: it is looked at once more. */
  readonly doubted?: boolean;
  /** Number of the last following; the end of an earlier one starts no other. */
  readonly follows: number;
  /** When the Election's validity last changed; null: it was never reported. */
  readonly validSince: number | null;
}

export function newborn({ namespace, name }: ActorInput): ElectionContext {
  return {
    namespace,
    name,
    facts: null,
    ending: false,
    candidates: {},
    bound: [],
    seen: null,
    term: 0,
    today: null,
    reign: null,
    asked: null,
    former: null,
    attempt: 0,
    failures: 0,
    lastError: null,
    told: null,
    telling: null,
    follows: 0,
    validSince: null,
  };
}

export function remembered(
  context: ElectionContext,
  facts: ElectionFacts | null,
  at: number,
): Partial<ElectionContext> {
  if (facts === null) return { ending: true };
  const { facts: before, validSince } = context;
  const isElsewhere = !equal(facts.place, before?.place);
  const isAsValid = before?.uid === facts.uid && (before.invalid === null) === (facts.invalid === null);
  return {
    facts,
    ending: false,
    validSince: isAsValid ? validSince : at,
    // A new object of the same name has no reported status.
    ...(before?.uid === facts.uid ? {} : { told: null, telling: null, ...forgiven(context) }),
    ...(isElsewhere ? { seen: null, asked: null } : {}),
  };
}

/** The status is written again, or nobody misses it. */
export const forgiven = ({ unwritten }: ElectionContext): Reporting =>
  unwritten == null ? {} : { unwritten: null };

/** The clock behind all these times was set by this much. */
export function shifted(context: ElectionContext, byMs: number): Partial<ElectionContext> {
  const { seen, reign, asked, former, candidates } = context;
  const later = (at: number) => at + byMs;
  const one = ({ until, since, ...rest }: Candidate) => ({
    ...rest,
    until: until === null ? null : later(until),
    since: later(since),
  });
  return {
    seen: seen && { ...seen, at: later(seen.at) },
    reign: reign && { ...reign, renewedAt: later(reign.renewedAt) },
    asked: asked && { ...asked, at: later(asked.at) },
    former: former && {
      ...former,
      leaseEnd: later(former.leaseEnd),
      toldUntil: former.toldUntil === null ? null : later(former.toldUntil),
    },
    candidates: Object.fromEntries(Object.entries(candidates).map(([id, candidate]) => [id, one(candidate)])),
  };
}

export function isElsewhere(context: ElectionContext, event: ElectionInput): boolean {
  if (event.type !== 'election.observed' || event.facts === null) return false;
  return !equal(event.facts.place, context.facts?.place);
}

const noTiming: ElectionTiming = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };
/** Times of an unusable specification are replaced by the defaults. */
export const timingOf = ({ facts }: ElectionContext): ElectionTiming =>
  facts === null || facts.invalid !== null ? noTiming : facts.timing;
export const placeOf = ({ facts, namespace, name }: ElectionContext): LeasePlace =>
  facts?.place ?? { namespace, name };
/** One request may take half of the renew deadline, which leaves time for another. */
export const requestMs = (context: ElectionContext): number => timingOf(context).renewDeadlineMs / 2;
