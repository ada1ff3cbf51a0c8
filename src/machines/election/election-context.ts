/**
 * What an election remembers, and the pure questions about it: who may lead, until when, what the Lease is to
 * say.
 *
 * Times are those of whoever runs the chart, milliseconds since the epoch, and are compared with nothing
 * else: a Lease is judged by when it was *seen* to change, never by the times that stand in it.
 */

import { equal } from '../../base/equal.ts';
import type { ActorInput } from '../actor-input.ts';
import type { Stamp } from '../stamp.ts';
import type { ElectionStatus } from './election-effects.ts';
import type { ElectionEvent, ElectionFacts } from './election-events.ts';
import type { ElectionTiming, LeasePlace, LeaseRecord } from './lease-record.ts';

export type ElectionInput = ElectionEvent & Stamp;

export interface Candidate {
  readonly ttlMs: number | null;
  /** It is one until then; null: until it resigns. */
  readonly until: number | null;
  /** Who came first is next. */
  readonly since: number;
}

/** The Lease as it was last seen. */
export interface Seen {
  readonly record: LeaseRecord | null;
  readonly resourceVersion: string | null;
  /** When the record was last seen to change. */
  readonly at: number;
}

/** Somebody leads by us. */
export interface Reign {
  readonly holder: string;
  readonly term: number;
  readonly place: LeasePlace;
  /** Before the request that succeeded last was sent. */
  readonly renewedAt: number;
  /** With this the Lease is ours and nobody else's. */
  readonly transitions: number;
}

/** What the Lease was last asked to say. */
export interface Asked {
  readonly record: LeaseRecord;
  readonly at: number;
  /**
   * Its holder has to have been seen silent for so long by whoever writes; absent: nobody has to be
   * respected.
   */
  readonly respectMs?: number;
}

/** The last reign that ended. */
export interface Former {
  readonly holder: string;
  readonly term: number;
  readonly place: LeasePlace;
  readonly transitions: number;
  /** When others may take the Lease if nothing more is written. */
  readonly leaseEnd: number;
  /** Until when it may act as the leader, by what it was told; null: it knows of its end. */
  readonly toldUntil: number | null;
  readonly reason: string;
}

/** The latest day (UTC) on which a term began. */
export interface TermsOfDay {
  /** Since the epoch. */
  readonly day: number;
  /** The highest term that began before it, or that stood when the Lease was first seen. */
  readonly before: number;
}

export interface ElectionContext {
  readonly namespace: string;
  readonly name: string;
  readonly facts: ElectionFacts | null;
  readonly ending: boolean;
  readonly candidates: Readonly<Record<string, Candidate>>;
  /**
   * Candidates that have spoken on a subject of their own and are heard there alone, the latest last (§5.6).
   */
  readonly bound: readonly string[];
  readonly seen: Seen | null;
  /** The highest that is known; it never goes back. */
  readonly term: number;
  /** By which the terms of the day are counted; null: none has begun since the election is kept. */
  readonly today: TermsOfDay | null;
  readonly reign: Reign | null;
  readonly asked: Asked | null;
  readonly former: Former | null;
  /** Number of the request in work; outcomes of older ones are ignored. */
  readonly attempt: number;
  /** Attempts in a row that came to nothing. */
  readonly failures: number;
  readonly lastError: string | null;
  /** The status that the Election resource was given last, and the one on its way to it. */
  readonly told: ElectionStatus | null;
  readonly telling: ElectionStatus | null;
  /** Number of the last following that was asked for: the end of an earlier one begins no other. */
  readonly follows: number;
  /** Since when the Election is usable or not; null: it was never told. */
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
    // Another object of the name was told nothing yet.
    ...(before?.uid === facts.uid ? {} : { told: null, telling: null }),
    ...(isElsewhere ? { seen: null, asked: null } : {}),
  };
}

/** The clock by which all these times were taken was set by so much. */
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
/** Times that cannot be used are nobody's. */
export const timingOf = ({ facts }: ElectionContext): ElectionTiming =>
  facts === null || facts.invalid !== null ? noTiming : facts.timing;
export const placeOf = ({ facts, namespace, name }: ElectionContext): LeasePlace =>
  facts?.place ?? { namespace, name };
/** One request may take half of what a leader may be without a renewal: then there is time for another. */
export const requestMs = (context: ElectionContext): number => timingOf(context).renewDeadlineMs / 2;
