/**
 * The domain chart's context: what a domain remembers. Absent: values computed from it (domain-schedule,
 * domain-requests, domain-report).
 */
import type { ActorInput } from '../actor-input.ts';
import type { Stamp } from '../stamp.ts';
import type { Reporting } from '../unwritten.ts';
import type { DomainEvent, OrderPlace, PermitDeferred } from './domain-events.ts';
import type { CertificateFacts, DomainFacts, DomainSource, Target } from './domain-facts.ts';
import type { Exhibit } from './exhibit.ts';

/** The renewal window that the authority suggests, and the moment drawn from it. */
export interface Window {
  readonly start: number;
  readonly end: number;
  readonly at: number;
  /** The address where the authority explains it; absent: nowhere. */
  readonly why?: string;
}

/** A condition with the time of its last change. */
export interface Held {
  readonly is: boolean;
  readonly since: number;
}

/** Why the Issuer makes the domain wait. */
export type Deferral = Pick<PermitDeferred, 'reason' | 'until'> & { readonly message: string | null };

/** Who earned a wait: an owner, and the Issuer that it asked. */
export interface Asker {
  readonly owner: string;
  readonly issuer: string;
  /** As in DomainIssuer. */
  readonly version: string;
}

/** A wait that an authority has earned and that does not count at present, as domain-waits.ts says. */
export interface Aside extends Pick<DomainContext, 'failures' | 'hold' | 'startedAt' | 'lastError'> {
  readonly by: Asker;
  readonly nextAttempt: number;
}

export interface DomainContext extends Reporting {
  readonly host: string;
  /** null: nothing is known, or no object asks for the host any more. */
  readonly facts: DomainFacts | null;
  /** Number of the attempt; outcomes with another number are ignored. */
  readonly attempt: number;
  /**
   * Number of the question for a permit that is asked now, or will be next: when it began, ms since the
   * epoch, or more. It is the same until the Issuer is told how the question ended. 0: none was asked yet.
   */
  readonly question: number;
  /** The Issuer whose permit is held; null: none. */
  readonly permit: string | null;
  /** When the permit was first used, ms since the epoch; it bounds the total time of all steps. */
  readonly startedAt: number;
  readonly order: OrderPlace | null;
  /** The Secret with the order's key. */
  readonly pendingAt: Target | null;
  /** The stored certificate; null: there is no usable one. */
  readonly certificate: CertificateFacts | null;
  /**
   * Fingerprint of the certificate that was issued and stored last; null: none was; absent: a record of an
   * earlier release.
   */
  readonly storedLast?: string | null;
  readonly missing: readonly Target[];
  readonly foreign: readonly Target[];
  /**
   * Fingerprint of a certificate that was issued and is kept beside its key, but not stored yet; null: none.
   */
  readonly issued: string | null;
  /** The source of the next store. */
  readonly storeFrom: 'pending' | 'stored' | 'ca';
  readonly window: Window | null;
  /** When the authority is next asked for the window, ms since the epoch. */
  readonly pollAt: number;
  /** When the Secrets are next inspected, ms since the epoch. */
  readonly lookAt: number;
  /** No copy is attempted before this time, because a target refused one; ms since the epoch. */
  readonly copyAt: number;
  /** A new certificate is requested regardless of the stored one. */
  readonly forced: boolean;
  /** Consecutive refusals. */
  readonly failures: number;
  /** No attempt before this time, ms since the epoch; null: unknown. */
  readonly nextAttempt: number | null;
  /**
   * The state in which it waits for the next attempt, whatever it inspects in between; null: it does not
   * wait.
   */
  readonly hold: 'backingOff' | 'failed' | null;
  /**
   * While nobody asks, or no Issuer: who earned the wait that is remembered (docs/features/certificates.md
   * §7.8). null or absent: none is.
   */
  readonly formerly?: Asker | null;
  /** null or absent: none. */
  readonly aside?: Aside | null;
  readonly deferral: Deferral | null;
  /** How often the permit has been requested during this wait. */
  readonly askings: number;
  /** When it was requested first, ms since the epoch; 0: it was not. */
  readonly waitsSince: number;
  /** The same of the last time; absent: by an earlier release. */
  readonly askedAt?: number;
  /** What is shown for the order's challenge; noted before it is created. */
  readonly showing: Exhibit | null;
  /** Objects of finished challenges that may still exist. */
  readonly leftovers: readonly Exhibit[];
  /** Consecutive failures to remove them. */
  readonly sweeps: number;
  /** While nobody asks and something is left: who asked last, and hears of it. null or absent: nobody. */
  readonly lastAsker?: DomainSource | null;
  readonly lastError: string | null;
  readonly ready: Held;
  readonly issuing: Held;
  /** Since when a requested Secret lacks the certificate, ms since the epoch; 0: none does. */
  readonly lackingSince: number;
  /** The last report to people: the state, the certificate, and the sources. */
  readonly told: string;
  /** Somebody wrote something else over it, and it is reported again soon. */
  readonly mistold: boolean;
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
  question: 0,
  permit: null,
  startedAt: 0,
  order: null,
  pendingAt: null,
  certificate: null,
  storedLast: null,
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
  formerly: null,
  aside: null,
  deferral: null,
  askings: 0,
  waitsSince: 0,
  askedAt: 0,
  showing: null,
  leftovers: [],
  sweeps: 0,
  lastAsker: null,
  lastError: null,
  ready: { is: false, since: 0 },
  issuing: { is: false, since: 0 },
  lackingSince: 0,
  told: '',
  mistold: false,
  unwritten: null,
});

export const keyOf = ({ namespace, secretName }: Target) => `${namespace}/${secretName}`;

/**
 * Where a key waits for its certificate: beside one of the owner's Secrets if possible, so that no namespace
 * that merely shares the host supplies the key (docs/features/certificates.md §2.6).
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
