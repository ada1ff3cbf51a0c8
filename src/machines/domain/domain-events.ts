/** Events of the domain chart, and those by which domains and Issuers speak with each other. */
import type { ActorId } from '../../base/ids.ts';
import type { EffectSettled } from '../stamp.ts';
import type { CertificateFacts, DomainFacts, Target } from './domain-facts.ts';
import type { Exhibit } from './exhibit.ts';

/**
 * The world has news: the domain's facts as they are now; null when nothing asks for the host any more. Where
 * several namespaces ask for it: as the one whose object is the oldest would have it, and beside it as each
 * of the others would.
 */
export type DomainObserved = {
  readonly type: 'domain.observed';
  readonly facts: DomainFacts | null;
  readonly rivals?: readonly DomainFacts[];
};

/** Somebody wants a new certificate now, whatever is stored. */
export type DomainRenew = { readonly type: 'domain.renew' };
/** Somebody wants a new look at what is stored and at what the authority suggests. */
export type DomainRecheck = { readonly type: 'domain.recheck' };

/** What stands in the Secrets. */
export type CertificateInspected = {
  readonly type: 'certificate.inspected';
  readonly attempt: number;
  /**
   * The stored certificate that is for this host, can be read, matches its key and was issued last; null:
   * there is none.
   */
  readonly good: CertificateFacts | null;
  /** Targets of ours, or not there, that do not hold that certificate. */
  readonly missing: readonly Target[];
  /** Targets whose Secret is somebody else's. */
  readonly foreign: readonly Target[];
  /** A certificate that was issued and is not stored in its place yet. */
  readonly pending: (CertificateFacts & { readonly at: Target }) | null;
};
export type InspectionFailed = {
  readonly type: 'inspection.failed';
  readonly attempt: number;
  readonly message: string;
};

export interface OrderPlace {
  readonly url: string;
  /** When the authority forgets it, ms since the epoch. */
  readonly expires: number;
}

export type OrderMade = {
  readonly type: 'order.made';
  readonly attempt: number;
  readonly order: OrderPlace;
};
/** What will be shown for the order's challenge; null: nothing has to be. */
export type ChallengePlanned = {
  readonly type: 'challenge.planned';
  readonly attempt: number;
  readonly exhibit: Exhibit | null;
};
export type OrderAuthorized = {
  readonly type: 'order.authorized';
  readonly attempt: number;
  /** What was shown for it is gone again; absent: it may not be. */
  readonly removed?: boolean;
};
/** Some of what was left of challenges is gone. */
export type ChallengeCleared = {
  readonly type: 'challenge.cleared';
  readonly removed: readonly Exhibit[];
  /** Why the others are not; empty: there are none. */
  readonly message: string;
};
/** The certificate was issued and lies beside its key in the Secret of pending things. */
export type CertificateReceived = {
  readonly type: 'certificate.received';
  readonly attempt: number;
  /** As in CertificateFacts: nothing else is stored from there. */
  readonly fingerprint: string;
};
export type CertificateStored = {
  readonly type: 'certificate.stored';
  readonly attempt: number;
  readonly certificate: CertificateFacts;
  readonly foreign: readonly Target[];
  /** Targets that Kubernetes did not let us write, and why. */
  readonly refused: readonly RefusedTarget[];
};

export interface RefusedTarget extends Target {
  readonly message: string;
}

/**
 * What a failure means for the next attempt.
 * refused: the authority said no, or the proof of control is not reachable; rateLimited: it asked to wait;
 * down: it did not answer, or not sensibly; hopeless: trying again changes nothing; cluster: Kubernetes or
 * NATS did not do their part; foreign: every Secret belongs to somebody else; unwritable: no Secret could be
 * written (a quota, a webhook); unusable: it is the Issuer that cannot be used (the CA's Secret is gone).
 */
export type FailureOutcome =
  | 'refused'
  | 'rateLimited'
  | 'down'
  | 'hopeless'
  | 'cluster'
  | 'foreign'
  | 'unwritable'
  | 'unusable';

/** Whom a limit of the authority holds back: docs/features/certificates.md §7.3. */
export type LimitScope = 'host' | 'domain' | 'account' | 'unknown';

export type AcquisitionFailed = {
  readonly type: 'acquisition.failed';
  readonly attempt: number;
  readonly outcome: FailureOutcome;
  readonly message: string;
  /** ms; null: the authority named no time. */
  readonly retryAfterMs: number | null;
  /** The order can be of no use any more. */
  readonly orderLost: boolean;
  /** Of a limit; absent: unknown. */
  readonly scope?: LimitScope;
  /** A certificate was issued in this step and is lost: it counts. */
  readonly issued?: boolean;
  /** As in OrderAuthorized. */
  readonly removed?: boolean;
};

export type AriFetched = {
  readonly type: 'ari.fetched';
  readonly fingerprint: string;
  /** The suggested window, ms since the epoch. */
  readonly start: number;
  readonly end: number;
  /** ms; null: the authority named no time. */
  readonly retryAfterMs: number | null;
};
/** The authority has no renewal information, or did not answer. */
export type AriUnavailable = {
  readonly type: 'ari.unavailable';
  readonly fingerprint: string;
  readonly retryAfterMs: number | null;
};

/** A domain asks its Issuer for the permit to order. */
export type PermitAsked = {
  readonly type: 'permit.asked';
  readonly domain: ActorId;
  readonly registered: string;
  /** A renewal that the authority suggested: no budget counts it. */
  readonly exempt: boolean;
  /** The owner of the host, by whom permits are shared out; absent: unknown. */
  readonly namespace?: string;
  /** A certificate is stored and due: it goes before those that never had one. */
  readonly due?: boolean;
};
/** What became of the permit; `again`: the domain goes on waiting in the Issuer's queue. */
export type PermitReturned = {
  readonly type: 'permit.returned';
  readonly domain: ActorId;
  readonly registered: string;
  readonly exempt: boolean;
  readonly outcome: PermitOutcome;
  /** With `rateLimited`: how long those in its scope wait, ms. */
  readonly waitMs: number;
  readonly again: boolean;
  readonly namespace?: string;
  readonly due?: boolean;
  /** With `rateLimited`; absent: unknown. */
  readonly scope?: LimitScope;
  /** With `rateLimited` and `down`, for people: what was answered. */
  readonly message?: string;
};
/** `unusable`: the Issuer itself cannot be used. */
export type PermitOutcome = 'issued' | 'refused' | 'rateLimited' | 'down' | 'unused' | 'unusable';
export type PermitGranted = { readonly type: 'permit.granted'; readonly issuer: string };
export type PermitDeferred = {
  readonly type: 'permit.deferred';
  readonly issuer: string;
  readonly reason: 'budget' | 'rateLimited' | 'down' | 'notReady' | 'full';
  /** ms since the epoch; null: it cannot be told. */
  readonly until: number | null;
  /** The Issuer's own reason, for people; absent: it has none. */
  readonly message?: string | null;
};

/** A status or an Event could not be written; it is time to try again. */
export type ReportDue = { readonly type: 'report.due' };
/** The end of the certificate is near, or there: people are told. */
export type ExpiryDue = { readonly type: 'expiry.due' };
/** What was left of challenges is to be removed. */
export type SweepDue = { readonly type: 'sweep.due' };

export type DomainEvent =
  | DomainObserved
  | DomainRenew
  | DomainRecheck
  | CertificateInspected
  | InspectionFailed
  | OrderMade
  | ChallengePlanned
  | ChallengeCleared
  | OrderAuthorized
  | CertificateReceived
  | CertificateStored
  | AcquisitionFailed
  | AriFetched
  | AriUnavailable
  | PermitGranted
  | PermitDeferred
  | ReportDue
  | ExpiryDue
  | SweepDue
  | EffectSettled;
