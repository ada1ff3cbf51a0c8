/**
 * The domain chart's context and everything pure that is computed from it: what is due, how long is waited, what others are told.
 */
import type { ActorId } from '../../base/ids.ts';
import type { ActorInput } from '../actor-input.ts';
import type { MessageSend } from '../effects.ts';
import type { Stamp } from '../events.ts';
import type {
  AcmeAuthorize,
  AcmeFinalize,
  AcmeOrder,
  AriFetch,
  CertificateInspect,
  CertificateStore,
  PendingDiscard,
} from './domain-effects.ts';
import type {
  AcquisitionFailed,
  AriFetched,
  CertificateInspected,
  DomainEvent,
  OrderPlace,
  PermitReturned,
} from './domain-events.ts';
import type { CertificateFacts, DomainFacts, Target } from './domain-facts.ts';

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The window in which the authority would like the certificate to be renewed, and the moment drawn from it. */
export interface Window {
  readonly start: number;
  readonly end: number;
  readonly at: number;
}

/** A condition as it was when it changed last. */
export interface Held {
  readonly is: boolean;
  readonly since: number;
}

export interface DomainContext {
  readonly host: string;
  /** null: nothing is known, or nothing asks for the host any more. */
  readonly facts: DomainFacts | null;
  /** The state as people read it, for the status. */
  readonly phase: string;
  /** Numbers the effects: an outcome that names another number is old. */
  readonly attempt: number;
  /** The Issuer whose permit is held; null: none. */
  readonly permit: string | null;
  /** When the permit was used first, ms since the epoch: all steps together are bounded. */
  readonly startedAt: number;
  readonly order: OrderPlace | null;
  /** Where the key of the order lies. */
  readonly pendingAt: Target | null;
  /** What is stored; null: nothing good. */
  readonly certificate: CertificateFacts | null;
  readonly missing: readonly Target[];
  readonly foreign: readonly Target[];
  /** A certificate was issued and lies beside its key, not stored yet. */
  readonly isIssued: boolean;
  /** What is stored next. */
  readonly storeFrom: 'pending' | 'stored' | 'ca';
  readonly window: Window | null;
  /** When the authority is asked for the window next, ms since the epoch. */
  readonly pollAt: number;
  /** When the Secrets are looked at next, ms since the epoch. */
  readonly lookAt: number;
  /** A new certificate is wanted whatever is stored. */
  readonly forced: boolean;
  /** Refusals in a row. */
  readonly failures: number;
  /** No attempt before this time, ms since the epoch; null: nothing holds it back. */
  readonly nextAttempt: number | null;
  /** What the Issuer said why it keeps us waiting. */
  readonly deferral: { readonly reason: string; readonly until: number | null } | null;
  /** Times that the permit was asked for since it is waited for. */
  readonly askings: number;
  readonly lastError: string | null;
  readonly ready: Held;
  readonly issuing: Held;
  /** What people were told last: the state, and which certificate. */
  readonly told: string;
}

export type DomainInput = DomainEvent & Stamp;

export interface Moment {
  readonly context: DomainContext;
  readonly event: DomainInput;
}

/** Before the first event. */
export const newborn = ({ name }: ActorInput): DomainContext => ({
  host: name,
  facts: null,
  phase: 'waitingForIssuer',
  attempt: 0,
  permit: null,
  startedAt: 0,
  order: null,
  pendingAt: null,
  certificate: null,
  missing: [],
  foreign: [],
  isIssued: false,
  storeFrom: 'pending',
  window: null,
  pollAt: 0,
  lookAt: 0,
  forced: false,
  failures: 0,
  nextAttempt: null,
  deferral: null,
  askings: 0,
  lastError: null,
  ready: { is: false, since: 0 },
  issuing: { is: false, since: 0 },
  told: '',
});

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

/** Whether the renewal follows the authority's own suggestion: such a one no budget counts. */
export function isSuggested({ certificate, window, forced }: DomainContext): boolean {
  return !forced && certificate?.ariId != null && window !== null;
}

/**
 * How long a refused domain waits: 1 min doubling with each refusal in a row, 24 h at most, ± 10 %. At least 1 s and at most 24 h for
 * every number of failures there can be: the exponent is bounded before the power is taken.
 *
 * @param failures counted from 1 @param random in [0, 1)
 */
export function backOffMs(failures: number, random: number): number {
  const doublings = Math.min(Math.max(0, failures - 1), 20);
  return bounded(minuteMs * 2 ** doublings * (0.9 + 0.2 * random));
}

/** What the authority asked for, up to 5 % more so that not everybody comes at once. @param retryAfterMs null: a minute */
export function limitMs(retryAfterMs: number | null, random: number): number {
  return bounded(bounded(retryAfterMs ?? minuteMs) * (1 + 0.05 * random));
}

function bounded(ms: number): number {
  return Math.round(Math.min(Math.max(Number.isFinite(ms) ? ms : dayMs, secondMs), dayMs));
}

/** The authority's renewal information is asked for after what it says, 6 h if it says nothing, 12 h at most, ± 10 %. */
export function pollPauseMs(retryAfterMs: number | null, random: number): number {
  const asked = Math.max(retryAfterMs ?? 6 * hourMs, minuteMs);
  return Math.min(asked * (0.9 + 0.2 * random), 12 * hourMs);
}

/** The Secrets are looked at every 24 h at the latest, some up to two hours before, so that they do not all come at once. */
export const lookPauseMs = (random: number) => dayMs - 2 * hourMs * random;

/**
 * The first look after storing: what was taken away before the world had shown it leaves no trace there. Time enough for the world to show
 * what comes later.
 */
export const confirmMs = 1_000;

/** A new window gets a new moment, drawn evenly; the same window keeps the one that was drawn. */
export function windowOf(known: Window | null, { start, end }: AriFetched, random: number): Window {
  if (known !== null && known.start === start && known.end === end) return known;
  return { start, end, at: Math.round(start + Math.max(0, end - start) * random) };
}

/** Time until the valid certificate needs a look, ms. */
export function lookInMs(context: DomainContext, at: number): number {
  const { certificate, window, pollAt, lookAt } = context;
  const polled = isPollable(context) ? pollAt : Number.POSITIVE_INFINITY;
  const due = certificate === null ? at : renewAt(certificate, window);
  return Math.max(0, Math.min(due, polled, lookAt) - at);
}

export function isPollable({ facts, certificate }: DomainContext): boolean {
  return facts?.issuer?.kind === 'acme' && certificate !== null && certificate.ariId !== null;
}

/** All steps of one attempt together. */
const attemptMs = 300 * secondMs;

/** What is left for a step that may take `stepMs` by itself. */
export function stepPatience({ startedAt }: DomainContext, at: number, stepMs: number): number {
  return Math.max(secondMs, Math.min(stepMs, startedAt + attemptMs - at));
}

export const isIssuerNews = (known: DomainFacts | null, next: DomainFacts | null) =>
  known?.issuer?.name !== next?.issuer?.name || known?.issuer?.version !== next?.issuer?.version;

/** Somebody asks for it elsewhere, or in another way. */
export function isAskedAnew(known: DomainFacts | null, next: DomainFacts | null): boolean {
  const text = (facts: DomainFacts | null) => JSON.stringify([facts?.targets, facts?.sources]);
  return text(known) !== text(next);
}

/** A Secret does not hold what we know to be good, and that is news. */
export function isTampered({ facts: known, certificate, foreign }: DomainContext, next: DomainFacts | null) {
  const before = new Map((known?.targets ?? []).map((target, n) => [keyOf(target), known?.stored[n]]));
  const others = new Set(foreign.map(keyOf));
  return (next?.targets ?? []).some((target, n) => {
    const shown = next?.stored[n] ?? null;
    const isOurs = shown !== null && certificate?.fingerprint.startsWith(shown);
    return !others.has(keyOf(target)) && !isOurs && shown !== before.get(keyOf(target));
  });
}

const keyOf = ({ namespace, secretName }: Target) => `${namespace}/${secretName}`;

/** Targets that may be written. */
export function usable({ facts, foreign }: DomainContext): readonly Target[] {
  const others = new Set(foreign.map(keyOf));
  return (facts?.targets ?? []).filter((target) => !others.has(keyOf(target)));
}

/** A wildcard cannot be proven by an answer over HTTP (RFC 8555 7.1.3 and the authorities' rules). */
export const isUnprovable = ({ host, facts }: DomainContext) =>
  host.startsWith('*.') && facts?.issuer?.kind === 'acme' && facts.issuer.challenge === 'http01';

const self = ({ host }: DomainContext): ActorId => `domain/_/${host}`;

/** 2 s doubling to 60 s; where the Issuer named a time, that, an hour at most. */
export function askPauseMs({ askings, deferral }: DomainContext, at: number): number {
  if (deferral?.until != null) return Math.min(Math.max(deferral.until - at, minuteMs), hourMs);
  return Math.min(2_000 * 2 ** Math.min(askings, 5), minuteMs);
}

const midway = [
  'waitingForPermit',
  'ordering',
  'authorizing',
  'finalizing',
  'storing',
  'rateLimited',
  'issuerDown',
];

/** Whether the Issuer knows of us: we wait for its permit or hold it. */
export const isMidway = ({ phase }: DomainContext) => midway.includes(phase);

/** A certificate that lies ready makes the order one that is done; without order or certificate nothing is pending. */
export function pendingOf(
  context: DomainContext,
  { pending, good: stored }: CertificateInspected,
): Partial<DomainContext> {
  if (pending !== null && pending.notBefore > (stored?.notBefore ?? 0))
    return { isIssued: true, order: null, pendingAt: pending.at };
  return { isIssued: false, ...(context.order === null ? { pendingAt: null } : {}) };
}

/** Whether the Issuer says that everybody waits for this reason, to one that does not know it yet. */
export function isDeferredBy(
  { facts, phase, nextAttempt }: DomainContext,
  event: DomainInput,
  reason: string,
) {
  if (event.type !== 'permit.deferred' || event.reason !== reason || event.issuer !== facts?.issuer?.name)
    return false;
  return phase !== (reason === 'down' ? 'issuerDown' : 'rateLimited') || nextAttempt !== event.until;
}

/** Asks the Issuer for a permit. */
export function question({ context }: Pick<Moment, 'context'>): Omit<MessageSend, 'type'> {
  const { facts } = context;
  return {
    to: facts?.issuer ? [`issuer/_/${facts.issuer.name}`] : [],
    event: {
      type: 'permit.asked',
      domain: self(context),
      registered: facts?.registered ?? context.host,
      exempt: isSuggested(context),
    },
  };
}

/** Gives the permit back, whoever gave it. */
export function returned(
  { context, event }: Moment,
  { outcome, again }: { readonly outcome: PermitReturned['outcome']; readonly again: boolean },
): Omit<MessageSend, 'type'> {
  const issuer =
    event.type === 'permit.granted' ? event.issuer : (context.permit ?? context.facts?.issuer?.name);
  const failed = event.type === 'acquisition.failed' ? event : null;
  return {
    to: issuer === undefined ? [] : [`issuer/_/${issuer}`],
    event: {
      type: 'permit.returned',
      domain: self(context),
      registered: context.facts?.registered ?? context.host,
      exempt: isSuggested(context),
      outcome,
      waitMs: outcome === 'rateLimited' ? limitMs(failed?.retryAfterMs ?? null, event.random) : 0,
      again,
    },
  };
}

const place = (context: DomainContext): Target =>
  context.pendingAt ?? usable(context)[0] ?? { namespace: '', secretName: '' };

/** Which Issuer, which attempt. */
const step = ({ host, facts, attempt }: DomainContext) => ({
  host,
  issuer: facts?.issuer?.name ?? '',
  attempt,
});

export const inspection = ({ context }: Moment): Omit<CertificateInspect, 'type'> => ({
  host: context.host,
  attempt: context.attempt,
  targets: context.facts?.targets ?? [],
  at: context.facts?.issuer?.kind === 'ca' ? null : place(context),
});

export const ordering = ({ context }: Moment): Omit<AcmeOrder, 'type'> => ({
  ...step(context),
  replaces: context.certificate?.ariId ?? null,
});

export const authorization = ({ context }: Moment): Omit<AcmeAuthorize, 'type'> => ({
  ...step(context),
  order: context.order ?? { url: '', expires: 0 },
});

export const finalization = ({ context }: Moment): Omit<AcmeFinalize, 'type'> => ({
  ...step(context),
  order: context.order ?? { url: '', expires: 0 },
  at: place(context),
});

export const storage = ({ context }: Moment): Omit<CertificateStore, 'type'> => ({
  ...step(context),
  from: context.storeFrom,
  targets: usable(context),
  at: place(context),
});

export const renewalQuestion = ({ context }: Moment): Omit<AriFetch, 'type'> => ({
  issuer: context.facts?.issuer?.name ?? '',
  fingerprint: context.certificate?.fingerprint ?? '',
  ariId: context.certificate?.ariId ?? '',
});

export const discarding = ({ context }: Moment): Omit<PendingDiscard, 'type'> => ({
  host: context.host,
  at: place(context),
});

/** What is known after a refusal. */
export function refused(context: DomainContext, event: AcquisitionFailed & Stamp): Partial<DomainContext> {
  const failures = context.failures + 1;
  return {
    failures,
    lastError: event.message,
    nextAttempt: event.at + backOffMs(failures, event.random),
    order: null,
  };
}
