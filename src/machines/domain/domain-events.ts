/** Events of the domain chart, and those by which domains and Issuers speak with each other. */
import type { ActorId } from '../../base/ids.ts';
import type { EffectSettled } from '../events.ts';
import type { CertificateFacts, DomainFacts, Target } from './domain-facts.ts';

/** The world has news: the domain's facts as they are now; null when nothing asks for the host any more. */
export type DomainObserved = { readonly type: 'domain.observed'; readonly facts: DomainFacts | null };

/** Somebody wants a new certificate now, whatever is stored. */
export type DomainRenew = { readonly type: 'domain.renew' };
/** Somebody wants a new look at what is stored and at what the authority suggests. */
export type DomainRecheck = { readonly type: 'domain.recheck' };

/** What stands in the Secrets. */
export type CertificateInspected = {
  readonly type: 'certificate.inspected';
  readonly attempt: number;
  /** The stored certificate that is for this host, can be read, matches its key and was issued last; null: there is none. */
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
export type OrderAuthorized = { readonly type: 'order.authorized'; readonly attempt: number };
/** The certificate was issued and lies beside its key in the Secret of pending things. */
export type CertificateReceived = { readonly type: 'certificate.received'; readonly attempt: number };
export type CertificateStored = {
  readonly type: 'certificate.stored';
  readonly attempt: number;
  readonly certificate: CertificateFacts;
  readonly foreign: readonly Target[];
};

/**
 * What a failure means for the next attempt.
 * refused: the authority said no, or the proof of control is not reachable; rateLimited: it asked to wait; down: it did not answer,
 * or not sensibly; hopeless: trying again changes nothing; cluster: Kubernetes or NATS did not do their part;
 * foreign: every Secret belongs to somebody else.
 */
export type FailureOutcome = 'refused' | 'rateLimited' | 'down' | 'hopeless' | 'cluster' | 'foreign';

export type AcquisitionFailed = {
  readonly type: 'acquisition.failed';
  readonly attempt: number;
  readonly outcome: FailureOutcome;
  readonly message: string;
  /** ms; null: the authority named no time. */
  readonly retryAfterMs: number | null;
  /** The order can be of no use any more. */
  readonly orderLost: boolean;
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
};
/** What became of the permit; `again`: the domain goes on waiting in the Issuer's queue. */
export type PermitReturned = {
  readonly type: 'permit.returned';
  readonly domain: ActorId;
  readonly registered: string;
  readonly exempt: boolean;
  readonly outcome: 'issued' | 'refused' | 'rateLimited' | 'down' | 'unused';
  /** With `rateLimited`: how long the whole Issuer waits, ms. */
  readonly waitMs: number;
  readonly again: boolean;
};
export type PermitGranted = { readonly type: 'permit.granted'; readonly issuer: string };
export type PermitDeferred = {
  readonly type: 'permit.deferred';
  readonly issuer: string;
  readonly reason: 'budget' | 'rateLimited' | 'down' | 'notReady' | 'full';
  /** ms since the epoch; null: it cannot be told. */
  readonly until: number | null;
};

/** A status or an Event could not be written; it is time to try again. */
export type ReportDue = { readonly type: 'report.due' };

export type DomainEvent =
  | DomainObserved
  | DomainRenew
  | DomainRecheck
  | CertificateInspected
  | InspectionFailed
  | OrderMade
  | OrderAuthorized
  | CertificateReceived
  | CertificateStored
  | AcquisitionFailed
  | AriFetched
  | AriUnavailable
  | PermitGranted
  | PermitDeferred
  | ReportDue
  | EffectSettled;
