/**
 * The domain chart's context: what a domain remembers.
 * Absent: what is computed from it (domain-schedule,
 * domain-requests, domain-report).
 */
import type { ActorInput } from '../actor-input.ts';
import type { Stamp } from '../stamp.ts';
import type { DomainEvent, OrderPlace, PermitDeferred } from './domain-events.ts';
import type { CertificateFacts, DomainFacts, Target } from './domain-facts.ts';
import type { Exhibit } from './exhibit.ts';

/**
 * The window in which the authority would like the certificate to be renewed, and the moment drawn from it.
 */
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

/** Why the Issuer keeps us waiting. */
export type Deferral = Pick<PermitDeferred, 'reason' | 'until'> & { readonly message: string | null };

export interface DomainContext {
  readonly host: string;
  /** null: nothing is known, or nothing asks for the host any more. */
  readonly facts: DomainFacts | null;
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
  /**
   * Fingerprint of a certificate that was issued and lies beside its key, not stored yet; null: there is
   * none.
   */
  readonly issued: string | null;
  /** What is stored next. */
  readonly storeFrom: 'pending' | 'stored' | 'ca';
  readonly window: Window | null;
  /** When the authority is asked for the window next, ms since the epoch. */
  readonly pollAt: number;
  /** When the Secrets are looked at next, ms since the epoch. */
  readonly lookAt: number;
  /** No copy is tried before: a target refused one. ms since the epoch */
  readonly copyAt: number;
  /** A new certificate is wanted whatever is stored. */
  readonly forced: boolean;
  /** Refusals in a row. */
  readonly failures: number;
  /** No attempt before this time, ms since the epoch; null: it is not known when. */
  readonly nextAttempt: number | null;
  /**
   * In which state it waits for the next attempt, whatever it looks at in between; null: nothing holds it
   * back.
   */
  readonly hold: 'backingOff' | 'failed' | null;
  readonly deferral: Deferral | null;
  /** Times that the permit was asked for since it is waited for. */
  readonly askings: number;
  /** What is shown for the challenge of the order; noted before it is made. */
  readonly showing: Exhibit | null;
  /** What was made for challenges that are over, and may still be there. */
  readonly leftovers: readonly Exhibit[];
  /** Times that they could not be removed, in a row. */
  readonly sweeps: number;
  readonly lastError: string | null;
  readonly ready: Held;
  readonly issuing: Held;
  /** Since when a Secret of somebody who asks lacks the certificate, ms since the epoch; 0: none does. */
  readonly lackingSince: number;
  /** What people were told last: the state, which certificate, and who was told. */
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
  attempt: 0,
  permit: null,
  startedAt: 0,
  order: null,
  pendingAt: null,
  certificate: null,
  missing: [],
  foreign: [],
  issued: null,
  storeFrom: 'pending',
  window: null,
  pollAt: 0,
  lookAt: 0,
  copyAt: 0,
  forced: false,
  failures: 0,
  nextAttempt: null,
  hold: null,
  deferral: null,
  askings: 0,
  showing: null,
  leftovers: [],
  sweeps: 0,
  lastError: null,
  ready: { is: false, since: 0 },
  issuing: { is: false, since: 0 },
  lackingSince: 0,
  told: '',
});

export const keyOf = ({ namespace, secretName }: Target) => `${namespace}/${secretName}`;

/**
 * Where a key waits for its certificate: beside a Secret of the owner's, if there is one, so that nobody with
 * whom the host is shared supplies it (docs/features/certificates.md §2.6).
 */
export function pendingPlace(context: DomainContext): Target | null {
  const { facts } = context;
  const isOwn = ({ namespace }: Target) => namespace === facts?.owner;
  return usable(context).find(isOwn) ?? facts?.targets.find(isOwn) ?? usable(context)[0] ?? null;
}

/** Targets that may be written. */
export function usable({ facts, foreign }: DomainContext): readonly Target[] {
  const others = new Set(foreign.map(keyOf));
  return (facts?.targets ?? []).filter((target) => !others.has(keyOf(target)));
}
