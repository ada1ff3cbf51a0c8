/**
 * What a domain remembers after each event: the context changes, for the actions of domain-setup. Pure.
 */
import type { Stamp } from '../stamp.ts';
import { type Deferral, type DomainContext, type DomainInput, keyOf, usable } from './domain-context.ts';
import type { AcquisitionFailed, CertificateInspected, OrderPlace, PermitDeferred } from './domain-events.ts';
import { shownFingerprint } from './domain-facts.ts';
import { factsIn, hasWish, isEdited, newsIn } from './domain-observation.ts';
import { foreignText } from './domain-report.ts';
import {
  bounded,
  brieflyMs,
  confirmMs,
  dueByAge,
  earlyMs,
  earnedBy,
  firstPollMs,
  handOverMs,
  hopelessMs,
  isAmidOrder,
  limitMs,
  lookPauseMs,
  pollPauseMs,
  processedMaxMs,
  refusedPauseMs,
  unseenMs,
  unwritableMs,
  windowOf,
} from './domain-schedule.ts';
import { waitMet } from './domain-waits.ts';
import { dateText, deferralText } from './domain-words.ts';

interface Moment {
  readonly context: DomainContext;
  readonly event: DomainInput;
}
type Change = Partial<DomainContext>;
type CertificateStored = Extract<DomainInput, { type: 'certificate.stored' }>;

const timeOf = (event: DomainInput) => (event as Stamp).at;
const chanceOf = (event: DomainInput) => (event as Stamp).random;

/** A wish is remembered in every state, until a certificate is issued. */
export function remembered(moment: Moment): Change {
  const facts = factsIn(moment);
  return facts === undefined ? {} : { facts, ...(hasWish(moment) ? { forced: true } : {}) };
}

/**
 * The host passes to another namespace: nothing of the old owner's is kept but the wait, and nobody else may
 * know the new key.
 */
export function ownerChanged(moment: Moment): Change {
  return {
    ...remembered(moment),
    ...(earnedBy(moment.context) === null ? { failures: 0 } : {}),
    lastError: null,
    ...waitMet(moment),
    certificate: null,
    window: null,
    missing: [],
    foreign: [],
    forced: true,
    order: null,
    issued: null,
    pendingAt: null,
    deferral: null,
  };
}

export const issuerChanged = (moment: Moment): Change => ({
  ...remembered(moment),
  ...waitMet(moment),
  order: null,
  permit: null,
  deferral: null,
  askings: 0,
});

/** A wildcard cannot be proven over HTTP (RFC 8555 7.1.3 and the authorities' rules). */
export const isUnprovable = ({ host, facts }: DomainContext) =>
  host.startsWith('*.') && facts?.issuer?.kind === 'acme' && facts.issuer.challenge === 'http01';

export function inspected({ context, event }: Moment): Change {
  if (event.type !== 'certificate.inspected') return {};
  // After a change of owner, the certificate found there is not taken over.
  const good = context.forced && context.certificate === null ? null : event.good;
  const isSame = good?.fingerprint === context.certificate?.fingerprint;
  return {
    facts: shown(context, event),
    certificate: good,
    missing: event.missing,
    foreign: event.foreign,
    ...(isSame ? {} : { window: null, pollAt: 0 }),
    ...pendingIn(event, event.at),
    lookAt: event.at + (event.foreign.length > 0 ? unseenMs : lookPauseMs)(event.random),
  };
}

/**
 * The facts, with what the look found. The world shows it as well, but nothing remembers that while all is
 * well, and what is deleted next differs from it.
 */
function shown({ facts }: DomainContext, { good, missing, foreign }: CertificateInspected) {
  if (facts === null || good === null) return facts;
  const lacking = new Set([...missing, ...foreign].map(keyOf));
  const found = shownFingerprint(good.fingerprint);
  const stored = facts.targets.map((one, n) => (lacking.has(keyOf(one)) ? (facts.stored[n] ?? null) : found));
  return { ...facts, stored };
}

/** A certificate that is ready makes its order complete; one that is not valid yet waits for an attempt. */
function pendingIn({ pending, good }: CertificateInspected, at: number): Change {
  const isNewer = pending !== null && pending.notBefore > (good?.notBefore ?? 0);
  if (isNewer && pending.notBefore <= at + earlyMs)
    return { issued: pending.fingerprint, order: null, pendingAt: pending.at };
  return { issued: null };
}

/** What another host has is in the world, and its end is told; a Secret of somebody else is not. */
export const nowhere = ({ context, event }: Moment): Change => ({
  lastError: foreignText(context),
  ...(context.foreign.length > 0 ? heldUnseen(event) : heldDaily(event)),
});

export const unprovable = ({ context, event }: Moment): Change => ({
  lastError: `${context.host} is a wildcard, and Issuer ${context.facts?.issuer?.name ?? ''} proves control over HTTP (http01): a wildcard needs dns01.`,
  ...heldDaily(event),
});

export const lookFailed = ({ event }: Moment): Change => ({
  lastError: event.type === 'inspection.failed' ? event.message : 'reading the Secrets timed out',
  ...heldBriefly(event),
});

export const deferralIn = ({ reason, until, message }: PermitDeferred): Deferral => ({
  reason,
  until,
  message: message ?? null,
});

export function waiting({ context, event }: Moment): Change {
  if (event.type !== 'permit.deferred') return {};
  return { lastError: deferralText(context.facts?.issuer ?? null, event), nextAttempt: event.until };
}

export const permitTaken = ({ event }: Moment): Change => ({
  permit: event.type === 'permit.granted' ? event.issuer : null,
  startedAt: timeOf(event),
  deferral: null,
  askings: 0,
  nextAttempt: null,
  hold: null,
});

/** An order that gets no proper answer so often in a row is given up. */
const troublesMax = 3;

/**
 * The order and its key after a failure: what waits to be stored keeps waiting. A step that timed out got no
 * answer either.
 */
function orderAfter({ order }: DomainContext, event: DomainInput): OrderPlace | null {
  const isTold = event.type === 'acquisition.failed';
  if (order === null || (isTold && event.orderLost)) return null;
  const { troubles = 0, ...place } = { ...order, ...countedIn(order, event) };
  if (isTold && event.outcome !== 'down') return waitedFor(place, event);
  // What was issued is waited for until it is overdue.
  if (place.counted === 'certificate') return place;
  return troubles + 1 < troublesMax ? { ...place, troubles: troubles + 1 } : null;
}

/** The permit goes back, so whoever continues the order counts it no more. */
const countedIn = ({ counted }: OrderPlace, event: DomainInput): Pick<OrderPlace, 'counted'> => {
  const isIssued = event.type === 'acquisition.failed' && event.issued === true;
  return { counted: isIssued || counted === 'certificate' ? 'certificate' : 'order' };
};

/** A certificate that is here, and not valid yet, is not waited for any more. */
function waitedFor(place: OrderPlace, { outcome, issued, at }: AcquisitionFailed & Stamp): OrderPlace {
  if (outcome === 'unfinished') return { ...place, awaited: place.awaited ?? at };
  if (issued !== true) return place;
  const { awaited: _, ...known } = place;
  return known;
}

/**
 * Whether an attempt continues the order. The authority decides about one that it was asked to issue, or has
 * issued, whatever its expiry.
 */
export const isOpen = ({ order }: DomainContext, at: number) =>
  order !== null && (at < order.expires || order.awaited !== undefined || order.counted === 'certificate');

/** When an order whose certificate is waited for is given up; null: it is not waited for. */
function givenUpAt({ order, failures }: DomainContext): number | null {
  if (order?.awaited === undefined) return null;
  const until = order.awaited + handOverMs(failures);
  if (order.counted === 'certificate') return until;
  return Math.max(until, Math.min(order.expires, order.awaited + processedMaxMs));
}

/** Whether the authority has had its time, and another order is placed. */
export function isOverdue({ context, event }: Moment): boolean {
  const at = givenUpAt(context);
  if (at === null || event.type !== 'acquisition.failed' || event.attempt !== context.attempt) return false;
  return (event.outcome === 'unfinished' || event.outcome === 'down') && event.at >= at;
}

export function failed({ context, event }: Moment): Change {
  const isTold = event.type === 'acquisition.failed';
  const order = orderAfter(context, event);
  const until = isTold && event.outcome === 'unfinished' ? givenUpAt({ ...context, order }) : null;
  const next = until === null ? '' : `; unless that changes by ${dateText(until)}, another is ordered`;
  return {
    lastError: isTold ? `${event.message}${next}` : 'the step timed out',
    order,
    nextAttempt: null,
    hold: null,
  };
}

export function limited({ context, event }: Moment): Change {
  if (event.type !== 'acquisition.failed') return {};
  return {
    lastError: event.message,
    order: orderAfter(context, event),
    nextAttempt: event.at + limitMs(event.retryAfterMs, event.random),
    hold: null,
  };
}

const held = (event: DomainInput, hold: DomainContext['hold'], ms: number): Change => ({
  hold,
  nextAttempt: timeOf(event) + bounded(ms),
});

const heldDaily = (event: DomainInput) => held(event, 'failed', hopelessMs(chanceOf(event)));
const heldUnseen = (event: DomainInput) => held(event, 'failed', unseenMs(chanceOf(event)));

/** What stands in the way of a CA, or of a Secret, is in Secrets that no watch shows. */
export function heldAsFailed({ context, event }: Moment): Change {
  const isForeign = event.type === 'acquisition.failed' && event.outcome === 'foreign';
  return isForeign || context.facts?.issuer?.kind === 'ca' ? heldUnseen(event) : heldDaily(event);
}

/** Kubernetes or NATS failed; or the order takes its time, and the event names it. */
export function heldBriefly(event: DomainInput): Change {
  const asked = event.type === 'acquisition.failed' ? (event.retryAfterMs ?? 0) : 0;
  return held(event, 'backingOff', Math.max(brieflyMs(chanceOf(event)), asked));
}
export const heldForRoom = (event: DomainInput) => held(event, 'backingOff', unwritableMs(chanceOf(event)));

export function refused({ context, event }: Moment): Change {
  if (event.type !== 'acquisition.failed') return {};
  const failures = context.failures + 1;
  const next = isOverdue({ context, event }) ? '; this order is given up, and another follows' : '';
  return {
    failures,
    lastError: `${event.message}${next}`,
    order: null,
    ...held(event, 'backingOff', refusedPauseMs(failures, event.random)),
  };
}

/** The context once a certificate is in the Secrets; those that could not be written are retried later. */
export function stored({ context, event }: Moment): Change {
  if (event.type !== 'certificate.stored') return {};
  const lacking = new Set(event.refused.map(keyOf));
  const written: Change = {
    foreign: event.foreign,
    missing: usable(context).filter((target) => lacking.has(keyOf(target))),
    copyAt: lacking.size === 0 ? 0 : event.at + unwritableMs(event.random),
    lastError: event.refused[0]?.message ?? null,
    lookAt: event.at + confirmMs,
  };
  // A copy has no bearing on attempts to get another certificate.
  if (context.storeFrom === 'stored') return written;
  return {
    ...written,
    certificate: event.certificate,
    storedLast: event.certificate.fingerprint,
    window: null,
    pollAt: event.at + firstPollMs(event.random),
    order: null,
    pendingAt: null,
    issued: null,
    forced: false,
    waitsSince: 0,
    askedAt: 0,
    failures: 0,
    nextAttempt: null,
    hold: null,
    ...(context.facts?.issuer?.kind === 'acme' ? { aside: null } : {}),
    ...(event.at < dueByAge(event.certificate) ? {} : dueOnArrival(context, event)),
  };
}

/** Otherwise the next one would be ordered at once, and the next. */
function dueOnArrival({ failures }: DomainContext, event: CertificateStored): Change {
  return {
    failures: failures + 1,
    lastError: `the certificate was due for renewal when it came, valid from ${dateText(event.certificate.notBefore)}; is a clock wrong?`,
    ...held(event, 'backingOff', refusedPauseMs(failures + 1, event.random)),
  };
}

export function windowLearned({ context, event }: Moment): Change {
  if (event.type !== 'ari.fetched') return {};
  return {
    window: windowOf(context.window, event, event.random),
    pollAt: event.at + pollPauseMs(event.retryAfterMs, event.random),
  };
}

export function windowMissing({ event }: Moment): Change {
  if (event.type !== 'ari.unavailable') return {};
  return { pollAt: event.at + pollPauseMs(event.retryAfterMs, event.random) };
}

/** An attempt that ends because of what asks for the host; the authority never says how it ended. */
export function brokenOff({ context, event }: Moment): Change {
  const { owner = '', issuer } = context.facts ?? {};
  if (!isAmidOrder(context) || issuer == null) return {};
  const news = newsIn({ context, event });
  const next = factsIn({ context, event })?.issuer ?? null;
  const before = { owner, issuer: issuer.name, version: issuer.version };
  const isOver = news === 'gone' || news === 'owner' || news === 'issuer';
  if (!isOver || (news === 'issuer' && next !== null && isEdited(before, next))) return {};
  const failures = context.failures + 1;
  return {
    failures,
    lastError: 'the attempt was broken off, because what asked for the host changed or went',
    ...held(event, 'backingOff', refusedPauseMs(failures, chanceOf(event))),
  };
}

export const cameBack = (moment: Moment): Change => ({
  ...remembered(moment),
  ...waitMet(moment),
  lastAsker: null,
});
