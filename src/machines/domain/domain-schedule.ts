/** The times of a domain: when something is due, how long it waits, when it inspects. Pure. */

import { backOffMs } from '../../base/back-off.ts';
import type { Aside, Asker, DomainContext, Window } from './domain-context.ts';
import type { AriFetched } from './domain-events.ts';
import type { CertificateFacts } from './domain-facts.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** Ten days: certificates with a shorter life are renewed halfway (the practice of ACME clients). */
const shortLifeMs = 10 * dayMs;

/** When the certificate is due by its age alone, ms since the epoch. */
export function dueByAge({ notBefore, notAfter }: CertificateFacts): number {
  const life = Math.max(0, notAfter - notBefore);
  return Math.round(notBefore + life * (life < shortLifeMs ? 1 / 2 : 2 / 3));
}

/** When the certificate is to be renewed: by its age, or earlier if the authority suggests so. */
export function renewAt(certificate: CertificateFacts, window: Window | null): number {
  return Math.min(dueByAge(certificate), window?.at ?? Number.POSITIVE_INFINITY);
}

export function isDue({ certificate, window, forced }: DomainContext, at: number): boolean {
  return forced || certificate === null || at >= renewAt(certificate, window);
}

/** Whether the certificate is within its validity: docs/features/certificates.md §9.1. */
export const isInTime = ({ certificate }: DomainContext, at: number) =>
  certificate !== null && certificate.notAfter > at;

/** A certificate is stored this long before it becomes valid, because clocks differ, ms. */
export const earlyMs = 5 * minuteMs;

/**
 * Whether the renewal follows the authority's suggestion, which counts against no budget. A renewal by age,
 * before the window opens, counts at the authority and therefore here. So does one of a young
 * certificate: an authority whose windows are always in the past would make us order without end. And so does
 * one of any certificate but the last: whoever may write the Secret could put an older one there again and
 * again.
 */
export function isSuggested(context: DomainContext, at: number): boolean {
  const { certificate, window, forced, storedLast } = context;
  if (forced || certificate === null || certificate.ariId === null || window === null) return false;
  if (storedLast !== undefined && storedLast !== certificate.fingerprint) return false;
  const { notBefore, notAfter } = certificate;
  return at >= window.start && at >= notBefore + Math.min(dayMs, (notAfter - notBefore) / 10);
}

/**
 * How long a refused domain waits: 1 min, doubling with each consecutive refusal, at most 24 h, ± 10 %.
 *
 * @param failures counted from 1
 * @param random in [0, 1)
 */
export function refusedPauseMs(failures: number, random: number): number {
  return bounded(backOffMs(failures - 1, minuteMs, 2 * dayMs) * (0.9 + 0.2 * random));
}

/**
 * What the authority asked for plus up to 5 %, so that domains do not all return at once.
 *
 * @param retryAfterMs null: a minute
 */
export function limitMs(retryAfterMs: number | null, random: number): number {
  return bounded(bounded(retryAfterMs ?? minuteMs) * (1 + 0.05 * random));
}

export function bounded(ms: number): number {
  return Math.round(Math.min(Math.max(Number.isFinite(ms) ? ms : dayMs, secondMs), dayMs));
}

/** A hopeless attempt is repeated once a day: a DNS record may have been corrected, and nobody tells us. */
export const hopelessMs = (random: number) => dayMs - hourMs * random;
/** A Secret that no watch shows is read this often while it stands in the way: its owner may remove it. */
export const unseenMs = (random: number) => 5 * minuteMs - minuteMs * random;
/** An authority has this long to hand a certificate over: an hour, doubling with each failure to a day. */
export const handOverMs = (failures: number) => backOffMs(failures, hourMs, dayMs);
/** Let's Encrypt keeps an order for a week; one that is still processed then is given up. */
export const processedMaxMs = 7 * dayMs;
/** Kubernetes or NATS will be available again soon. */
export const brieflyMs = (random: number) => 5_000 + Math.round(5_000 * random);
/** A quota or a webhook stays for a while. */
export const unwritableMs = (random: number) => 30_000 + Math.round(30_000 * random);

/**
 * The interval for renewal information: as the authority says, 6 h if it says nothing, at most 12 h, ± 10 %.
 */
export function pollPauseMs(retryAfterMs: number | null, random: number): number {
  const asked = Math.max(retryAfterMs ?? 6 * hourMs, minuteMs);
  return Math.min(asked * (0.9 + 0.2 * random), 12 * hourMs);
}

/** First within minutes of issuance, so that the renewal time is right from the start; spread out. */
export const firstPollMs = (random: number) => 5_000 + Math.round(115_000 * random);

/** The Secrets are inspected at least every 24 h, some up to two hours earlier, so that they spread out. */
export const lookPauseMs = (random: number) => dayMs - 2 * hourMs * random;

/**
 * The first inspection after storing. It finds Secrets that were removed before the world showed them, which
 * leaves no trace there; later removals appear in the world by then.
 */
export const confirmMs = 1_000;

/** A new window gets a new moment, drawn evenly; the same window keeps its moment. */
export function windowOf(known: Window | null, { start, end, why }: AriFetched, random: number): Window {
  const isSame = known !== null && known.start === start && known.end === end;
  const at = isSame ? known.at : Math.round(start + Math.max(0, end - start) * random);
  return { start, end, at, ...(why === undefined ? {} : { why }) };
}

/** Time until the valid certificate needs an inspection, ms. */
export function lookInMs(context: DomainContext, at: number): number {
  const { certificate, window, pollAt, lookAt, copyAt, missing } = context;
  const due = certificate === null ? 0 : Math.max(0, renewAt(certificate, window) - at);
  const polled = isPollable(context) ? inMs(pollAt, at, pollMaxMs) : dayMs;
  const copied = missing.length > 0 ? inMs(copyAt, at, copyMaxMs) : dayMs;
  return Math.min(due, polled, inMs(lookAt, at, dayMs), copied, dayMs);
}

/** The time left, ms; none if it is more than any rule sets: a clock that was ahead has written it. */
function inMs(time: number, at: number, maxMs: number): number {
  return time - at > maxMs ? 0 : Math.max(0, time - at);
}

/** No rule puts the next question for the window, or the next copy, further ahead, ms. */
const pollMaxMs = 12 * hourMs;
const copyMaxMs = minuteMs;

export const isPollTime = ({ pollAt }: DomainContext, at: number) => inMs(pollAt, at, pollMaxMs) === 0;
export const isCopyTime = ({ copyAt }: DomainContext, at: number) => inMs(copyAt, at, copyMaxMs) === 0;

export function isPollable({ facts, certificate }: DomainContext): boolean {
  return facts?.issuer?.kind === 'acme' && certificate !== null && certificate.ariId !== null;
}

/** People are told again at these times before the certificate expires, ms, and when it does. */
const tellings = [7 * dayMs, dayMs, hourMs, 0];

/** Time until people are next told that the certificate expires, ms; null: never again. */
export function expiryInMs({ certificate }: DomainContext, at: number): number | null {
  if (certificate === null) return null;
  const next = tellings.map((before) => certificate.notAfter - before).find((time) => time > at);
  return next === undefined ? null : next - at;
}

/**
 * No rule sets an attempt or a limit further ahead (`bounded`, `limitMs`); a time beyond it was written by a
 * clock that was ahead.
 */
export const attemptMaxMs = 26 * hourMs;

/** Whether the next attempt is to be waited for. */
export const isAhead = ({ nextAttempt }: DomainContext, at: number) =>
  nextAttempt !== null && inMs(nextAttempt, at, attemptMaxMs) > 0;

/** Time until the next attempt, ms. */
export const untilAttempt = ({ nextAttempt }: DomainContext, at: number): number =>
  Math.min(Math.max(0, (nextAttempt ?? 0) - at), attemptMaxMs);

/**
 * Failures are remembered this much longer than the wait that they earned, ms: who stays away until it is
 * over would begin to count anew. Let's Encrypt counts failed validations by the hour.
 */
const rememberedMs = hourMs;

/** Until when a host that nobody asks for is remembered, ms since the epoch; 0: it is not. */
export const rememberedUntil = ({ formerly, nextAttempt }: DomainContext): number =>
  formerly == null ? 0 : (nextAttempt ?? 0) + rememberedMs;

/** Whether a wait that was put aside is over; a time beyond all rules is one of a clock that was ahead. */
export const isAsideOver = ({ nextAttempt }: Aside, at: number): boolean =>
  at >= nextAttempt + rememberedMs || nextAttempt - at > attemptMaxMs;

/** The total time for all steps of one attempt. */
const attemptMs = 300 * secondMs;

/** The time left for a step that may take `stepMs`. */
export function stepPatience({ startedAt }: DomainContext, at: number, stepMs: number): number {
  return Math.max(secondMs, Math.min(stepMs, startedAt + attemptMs - at));
}

/** Once the Issuer has answered, it remembers the question: asking again only repairs a lost answer. */
const answeredPauseMs = 5 * minuteMs;

/** While the authority is away; one that has no place in the queue asks when it was told to. */
export const outagePauseMs = ({ deferral }: DomainContext, at: number): number =>
  Math.min(Math.max((deferral?.until ?? 0) - at, answeredPauseMs), dayMs);

/**
 * 2 s, doubling to 5 min; once the Issuer has said why not yet, a minute, doubling to 5 min; or the time that
 * it named, at most an hour. One that had no room has forgotten the question, and names the time to ask
 * again.
 */
export function askPauseMs({ askings, deferral }: DomainContext, at: number): number {
  const isFull = deferral?.reason === 'full';
  const untilMs = (deferral?.until ?? 0) - at;
  if (isFull && untilMs > 0) return bounded(untilMs);
  if (deferral?.until != null && !isFull) return Math.min(Math.max(untilMs, minuteMs), hourMs);
  const isKnown = deferral !== null && !isFull;
  return isKnown
    ? backOffMs(askings - 1, minuteMs, answeredPauseMs)
    : backOffMs(askings, 2_000, answeredPauseMs);
}

/** A new host is mostly served within minutes; after an hour people are told that it has no certificate. */
const keptLongMs = hourMs;

/**
 * Whether somebody should look at a domain that waits for its permit, by its budget or because of others: it
 * waits, or will, for an hour without a certificate, or until the one that is stored has ended. Of a context
 * as it is in the record.
 */
export function isKeptLong(context: Partial<DomainContext>): boolean {
  const { askings = 0, askedAt = 0, waitsSince = 0, deferral, certificate } = context;
  if (askings === 0 || waitsSince === 0) return false;
  const until = Math.max(deferral?.until ?? 0, askedAt);
  return certificate ? certificate.notAfter <= until : until - waitsSince >= keptLongMs;
}

/**
 * Who earned the wait that outlives what asked for the host: an authority has failed for it. Without that, an
 * object that is made anew would be asked for at once, each time. null: nobody; a CA of one's own may be
 * asked at any time.
 */
export function earnedBy({ facts, formerly, failures, hold, startedAt }: DomainContext): Asker | null {
  if (failures === 0 && (hold !== 'failed' || startedAt === 0)) return null;
  const issuer = facts?.issuer ?? null;
  if (facts === null || issuer === null) return formerly ?? null;
  return issuer.kind === 'ca' ? null : { owner: facts.owner, issuer: issuer.name, version: issuer.version };
}

/** Whether an authority knows of an attempt that is in progress. */
export const isAmidOrder = ({ permit, facts }: DomainContext) =>
  permit !== null && facts?.issuer?.kind === 'acme';

/**
 * Whether a host that nobody asks for any more has a wait to remember. Each needed a permit, so that an
 * Issuer causes no more of them in a day than its budget has orders (I6).
 */
export const isToRemember = (context: DomainContext) =>
  earnedBy(context) !== null || isAmidOrder(context) || context.aside != null;
