/** Events of the domain chart, and the messages between domains and Issuers. */
import type { ActorId } from '../../base/ids.ts';
import type { StatusSaid } from '../said.ts';
import type { EffectSettled } from '../stamp.ts';
import type { CertificateFacts, DomainFacts, RivalFacts, Target } from './domain-facts.ts';
import type { Exhibit } from './exhibit.ts';

/** The contents of the Secrets. */
export type CertificateInspected = {
  readonly type: 'certificate.inspected';
  readonly attempt: number;
  /**
   * The stored certificate that is for this host, readable, matches its key and was issued last; null: none.
   */
  readonly good: CertificateFacts | null;
  /** Targets that are ours, or do not exist, and lack that certificate. */
  readonly missing: readonly Target[];
  /** Targets whose Secret belongs to somebody else. */
  readonly foreign: readonly Target[];
  /** A certificate that was issued and is not stored in its targets yet. */
  readonly pending: (CertificateFacts & { readonly at: Target }) | null;
};
export type InspectionFailed = {
  readonly type: 'inspection.failed';
  readonly attempt: number;
  readonly message: string;
};

export interface OrderPlace {
  readonly url: string;
  /** When the authority deletes the order, ms since the epoch. */
  readonly expires: number;
  /** How often in a row a step of it got no proper answer; absent: not yet. */
  readonly troubles?: number;
  /** What of it the Issuer's budgets have counted in earlier attempts; absent: nothing. */
  readonly counted?: 'order' | 'certificate';
  /** Since when its certificate is waited for (`unfinished`), ms since the epoch; absent: it is not. */
  readonly awaited?: number;
  /** The authority answered the new order with one that it was asked to issue before; absent: it did not. */
  readonly wasIssued?: true;
}

export type OrderAuthorized = {
  readonly type: 'order.authorized';
  readonly attempt: number;
  /** Whether what was shown was removed; absent: possibly not. */
  readonly removed?: boolean;
};
/** Some objects of finished challenges were removed. */
export type ChallengeCleared = {
  readonly type: 'challenge.cleared';
  readonly removed: readonly Exhibit[];
  /** Why the others were not; empty: all were. */
  readonly message: string;
};
/** The certificate was issued and is kept beside its key in the Secret for pending certificates. */
export type CertificateReceived = {
  readonly type: 'certificate.received';
  readonly attempt: number;
  /** As in CertificateFacts: only this certificate is stored from there. */
  readonly fingerprint: string;
};
export interface RefusedTarget extends Target {
  readonly message: string;
}

/**
 * What a failure means for the next attempt. refused: the authority refused, or the proof of control is
 * unreachable; rateLimited: it asked to wait; down: it gave no sensible answer; hopeless: retrying changes
 * nothing; cluster: Kubernetes or NATS failed; foreign: every Secret belongs to somebody else; unwritable: no
 * Secret could be written (a quota, a webhook); unusable: the Issuer itself cannot be used (the CA's Secret
 * is gone); unfinished: the authority was asked to issue and has not handed the certificate over.
 */
export type FailureOutcome =
  | 'refused'
  | 'rateLimited'
  | 'down'
  | 'hopeless'
  | 'cluster'
  | 'foreign'
  | 'unwritable'
  | 'unusable'
  | 'unfinished';

/** The scope of an authority's limit: docs/features/certificates.md §7.3. */
export type LimitScope = 'host' | 'domain' | 'account' | 'unknown';

export type AcquisitionFailed = {
  readonly type: 'acquisition.failed';
  readonly attempt: number;
  readonly outcome: FailureOutcome;
  readonly message: string;
  /** ms; null: the authority gave no time. */
  readonly retryAfterMs: number | null;
  /** The order is no longer usable. */
  readonly orderLost: boolean;
  /** The scope of a limit; absent: unknown. */
  readonly scope?: LimitScope;
  /** A certificate was issued, and is lost or not here yet; it counts against the limits. */
  readonly issued?: boolean;
  /** As in OrderAuthorized. */
  readonly removed?: boolean;
  /**
   * With `unusable`: the version of the Issuer's specification that the authority refuses with each order,
   * which no check finds; absent: it refuses none.
   */
  readonly refusedSpec?: string;
};

export type AriFetched = {
  readonly type: 'ari.fetched';
  readonly fingerprint: string;
  /** The suggested window, ms since the epoch. */
  readonly start: number;
  readonly end: number;
  /** ms; null: the authority gave no time. */
  readonly retryAfterMs: number | null;
  /** The address where the authority explains it; absent: nowhere. */
  readonly why?: string;
};
/** The authority offers no renewal information, or did not answer. */
export type AriUnavailable = {
  readonly type: 'ari.unavailable';
  readonly fingerprint: string;
  readonly retryAfterMs: number | null;
};

/** A domain asks its Issuer for a permit to order. */
export type PermitAsked = {
  readonly type: 'permit.asked';
  readonly domain: ActorId;
  readonly registered: string;
  /** A renewal that the authority suggested; it counts against no budget. */
  readonly exempt: boolean;
  /** The owner of the host; permits are shared out by namespace. Absent: unknown. */
  readonly namespace?: string;
  /** A stored certificate is due for renewal, or has expired: it comes before hosts that never had one. */
  readonly due?: boolean;
  /** With `due`: when that certificate ends, ms since the epoch; absent: an earlier release. */
  readonly ends?: number;
  /** Its number, the same however often it is asked; absent: an earlier release. */
  readonly question?: number;
  /** When it was asked first, ms since the epoch; absent: an earlier release. */
  readonly since?: number;
  /** How often it was asked; absent: an earlier release, which knows no `busy`. */
  readonly times?: number;
};
/**
 * How the permit was used; `again`: the domain stays in the Issuer's queue. It ends the question, and is sent
 * once for each.
 */
export type PermitReturned = {
  readonly type: 'permit.returned';
  readonly domain: ActorId;
  readonly registered: string;
  readonly exempt: boolean;
  readonly outcome: PermitOutcome;
  /** With `unused` and `unusable`: an order was made all the same, or may have been; absent: none was. */
  readonly ordered?: true;
  /** With `rateLimited`: how long the limit's scope has to wait, ms. */
  readonly waitMs: number;
  readonly again: boolean;
  readonly namespace?: string;
  readonly due?: boolean;
  readonly ends?: number;
  /** The question that was answered, or that is not asked any more; absent: an earlier release. */
  readonly question?: number;
  /** With `again`: since when the domain has waited, as in `PermitAsked`. */
  readonly since?: number;
  /** With `again`: the number of the next question. */
  readonly next?: number;
  /** The question had ended before this answer to it: whether its permit was used was told then. */
  readonly late?: true;
  /** With `rateLimited`: its scope; absent: unknown. */
  readonly scope?: LimitScope;
  /** With `rateLimited`, `down` and `unusable`: the answer, for people. */
  readonly message?: string;
  /** As in AcquisitionFailed. */
  readonly refusedSpec?: string;
};
/** `unusable`: the Issuer itself cannot be used. */
export type PermitOutcome = 'issued' | 'refused' | 'rateLimited' | 'down' | 'unused' | 'unusable';
export type PermitGranted = {
  readonly type: 'permit.granted';
  readonly issuer: string;
  /** The question that it answers; absent: asked, or answered, by an earlier release. */
  readonly question?: number;
};
export type PermitDeferred = {
  readonly type: 'permit.deferred';
  readonly issuer: string;
  /** `busy`: as many orders are in progress as may be; told to whoever asks again. */
  readonly reason: 'budget' | 'rateLimited' | 'down' | 'notReady' | 'full' | 'busy';
  /**
   * When the domain may expect its turn, or, if it has no place in the queue, when it asks again; ms since
   * the epoch; null: unknown.
   */
  readonly until: number | null;
  /** The Issuer's own reason, for people; absent: none. */
  readonly message?: string | null;
};

/** A status or an Event could not be written and is due for another try. */
export type ReportDue = { readonly type: 'report.due' };
export type DomainEvent =
  /**
   * An observation: the domain's current facts; null when no object asks for the host. If several namespaces
   * ask, the facts are those of the oldest object, with the others' wishes beside them.
   */
  | {
      readonly type: 'domain.observed';
      readonly facts: DomainFacts | null;
      readonly rivals?: readonly RivalFacts[];
    }
  /** What the statuses of the objects that ask say at present (saidIn); null: nothing. */
  | {
      readonly type: 'domain.status.observed';
      readonly facts: ReadonlyArray<NonNullable<StatusSaid>> | null;
    }
  /** A person wants a new certificate now, regardless of the stored one. */
  | { readonly type: 'domain.renew' }
  /** A person wants the Secrets and the authority's suggestion checked now. */
  | { readonly type: 'domain.recheck' }
  | CertificateInspected
  | InspectionFailed
  | {
      readonly type: 'order.made';
      readonly attempt: number;
      readonly order: OrderPlace;
    }
  /** What will be shown for the order's challenge; null: nothing. */
  | {
      readonly type: 'challenge.planned';
      readonly attempt: number;
      readonly exhibit: Exhibit | null;
    }
  | ChallengeCleared
  | OrderAuthorized
  | CertificateReceived
  | {
      readonly type: 'certificate.stored';
      readonly attempt: number;
      readonly certificate: CertificateFacts;
      readonly foreign: readonly Target[];
      /** Targets that Kubernetes refused to let us write, and why. */
      readonly refused: readonly RefusedTarget[];
    }
  | AcquisitionFailed
  | AriFetched
  | AriUnavailable
  | PermitGranted
  | PermitDeferred
  | ReportDue
  /** The certificate is about to expire, or has expired, and people are told. */
  | { readonly type: 'expiry.due' }
  /** Objects of finished challenges are due for removal. */
  | { readonly type: 'sweep.due' }
  | EffectSettled;
