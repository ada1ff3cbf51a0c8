/** When a domain does what: what is due, how long is waited, when is looked. Pure. */
import type { DomainContext, Window } from './domain-context.ts';
import type { AriFetched } from './domain-events.ts';
import type { CertificateFacts } from './domain-facts.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Ten days: shorter lives are renewed at the half (ACME clients' practice for short-lived certificates). */
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

/** Whether the certificate is in its time: docs/features/certificates.md §9.1. */
export const isInTime = ({ certificate }: DomainContext, at: number) =>
  certificate !== null && certificate.notAfter > at;

/**
 * Whether the renewal follows the authority's own suggestion: such a one no budget counts. One before the
 * window opens, by the certificate's age, is counted by the authority, and so by us. So is that of a young
 * certificate: an authority whose windows are always in the past would have us order without end.
 */
export function isSuggested({ certificate, window, forced }: DomainContext, at: number): boolean {
  if (forced || certificate === null || certificate.ariId === null || window === null) return false;
  const { notBefore, notAfter } = certificate;
  return at >= window.start && at >= notBefore + Math.min(dayMs, (notAfter - notBefore) / 10);
}

/**
 * How long a refused domain waits: 1 min doubling with each refusal in a row, 24 h at most, ± 10 %. At least
 * 1 s and at most 24 h for every number of failures there can be: the exponent is bounded before the power is
 * taken.
 *
 * @param failures counted from 1 @param random in [0, 1)
 */
export function backOffMs(failures: number, random: number): number {
  const doublings = Math.min(Math.max(0, failures - 1), 20);
  return bounded(minuteMs * 2 ** doublings * (0.9 + 0.2 * random));
}

/**
 * What the authority asked for, up to 5 % more so that not everybody comes at once. @param retryAfterMs null:
 * a minute
 */
export function limitMs(retryAfterMs: number | null, random: number): number {
  return bounded(bounded(retryAfterMs ?? minuteMs) * (1 + 0.05 * random));
}

export function bounded(ms: number): number {
  return Math.round(Math.min(Math.max(Number.isFinite(ms) ? ms : dayMs, secondMs), dayMs));
}

/**
 * What is hopeless is tried once a day all the same: a record in DNS may have been mended, and nobody tells
 * us.
 */
export const hopelessMs = (random: number) => dayMs - hourMs * random;
/** Kubernetes or NATS will be back soon. */
export const brieflyMs = (random: number) => 5_000 + Math.round(5_000 * random);
/** A quota or a webhook stays for a while. */
export const unwritableMs = (random: number) => 30_000 + Math.round(30_000 * random);

/**
 * The authority's renewal information is asked for after what it says, 6 h if it says nothing, 12 h at most,
 * ± 10 %.
 */
export function pollPauseMs(retryAfterMs: number | null, random: number): number {
  const asked = Math.max(retryAfterMs ?? 6 * hourMs, minuteMs);
  return Math.min(asked * (0.9 + 0.2 * random), 12 * hourMs);
}

/**
 * First within minutes of the issue, so that the time of the renewal is right from the start; not all at
 * once.
 */
export const firstPollMs = (random: number) => 5_000 + Math.round(115_000 * random);

/**
 * The Secrets are looked at every 24 h at the latest, some up to two hours before, so that they do not all
 * come at once.
 */
export const lookPauseMs = (random: number) => dayMs - 2 * hourMs * random;

/**
 * The first look after storing: what was removed before the world had shown it leaves no trace there. Time
 * enough for the world to show what comes later.
 */
export const confirmMs = 1_000;

/** A new window gets a new moment, drawn evenly; the same window keeps the one that was drawn. */
export function windowOf(known: Window | null, { start, end }: AriFetched, random: number): Window {
  if (known !== null && known.start === start && known.end === end) return known;
  return { start, end, at: Math.round(start + Math.max(0, end - start) * random) };
}

/** Time until the valid certificate needs a look, ms. */
export function lookInMs(context: DomainContext, at: number): number {
  const { certificate, window, pollAt, lookAt, copyAt, missing } = context;
  const polled = isPollable(context) ? pollAt : Number.POSITIVE_INFINITY;
  const copied = missing.length > 0 ? copyAt : Number.POSITIVE_INFINITY;
  const due = certificate === null ? at : renewAt(certificate, window);
  return Math.min(Math.max(0, Math.min(due, polled, lookAt, copied) - at), dayMs);
}

export function isPollable({ facts, certificate }: DomainContext): boolean {
  return facts?.issuer?.kind === 'acme' && certificate !== null && certificate.ariId !== null;
}

/** Before the end of a certificate people are told again at these times, ms; and at the end itself. */
const tellings = [7 * dayMs, dayMs, hourMs, 0];

/** Time until people are told of the certificate's end next, ms; null: there is nothing more to tell. */
export function expiryInMs({ certificate }: DomainContext, at: number): number | null {
  if (certificate === null) return null;
  const next = tellings.map((before) => certificate.notAfter - before).find((time) => time > at);
  return next === undefined ? null : next - at;
}

/**
 * Nothing sets an attempt or a limit further away (`bounded`, `limitMs`): whoever wrote one that is had a
 * clock that was ahead.
 */
export const attemptMaxMs = 26 * hourMs;

/** Time until the next attempt, ms. */
export const untilAttempt = ({ nextAttempt }: DomainContext, at: number): number =>
  Math.min(Math.max(0, (nextAttempt ?? 0) - at), attemptMaxMs);

/** All steps of one attempt together. */
const attemptMs = 300 * secondMs;

/** What is left for a step that may take `stepMs` by itself. */
export function stepPatience({ startedAt }: DomainContext, at: number, stepMs: number): number {
  return Math.max(secondMs, Math.min(stepMs, startedAt + attemptMs - at));
}

/** 2 s doubling to 60 s; where the Issuer named a time, that, an hour at most. */
export function askPauseMs({ askings, deferral }: DomainContext, at: number): number {
  if (deferral?.until != null) return Math.min(Math.max(deferral.until - at, minuteMs), hourMs);
  return Math.min(2_000 * 2 ** Math.min(askings, 5), minuteMs);
}
