/** Effects of the domain chart. Each carries the attempt's number, which its outcome repeats. */
import { limits } from '../../base/limits.ts';
import { effect } from '../effect.ts';
import { messageSend } from '../effects.ts';
import type {
  AcquisitionFailed,
  AriUnavailable,
  ChallengeCleared,
  InspectionFailed,
  OrderPlace,
} from './domain-events.ts';
import type { DomainSource, Target } from './domain-facts.ts';
import type { Exhibit } from './exhibit.ts';

interface Step {
  readonly host: string;
  /** Name of the Issuer; the runner looks up its specification. */
  readonly issuer: string;
  readonly attempt: number;
}

/** Reads the Secrets. Outcome: certificate.inspected | inspection.failed. */
export interface CertificateInspect {
  readonly type: 'certificate.inspect';
  readonly host: string;
  readonly attempt: number;
  readonly targets: readonly Target[];
  /** Where a pending key or certificate would be kept; null: nowhere (a CA signs at once). */
  readonly at: Target | null;
  /**
   * Fingerprints in the record: a certificate with another one is never copied. Absent in records of earlier
   * releases, as is `owner`.
   */
  readonly known?: readonly string[];
  /** The only namespace whose Secrets may count as good without a known fingerprint. */
  readonly owner?: string;
}

/** Creates an order at the authority. Outcome: order.made | acquisition.failed. */
export interface AcmeOrder extends Step {
  readonly type: 'acme.order';
  /** The certificate that this one replaces (RFC 9773); null: none. */
  readonly replaces: string | null;
}

/**
 * Finds out what has to be shown for the order's challenge, and creates nothing. Outcome: challenge.planned |
 * acquisition.failed.
 */
export interface ChallengePlan extends Step {
  readonly type: 'challenge.plan';
  readonly order: OrderPlace;
}

/** Removes the objects of finished challenges. Outcome: challenge.cleared. */
export interface ChallengeClear {
  readonly type: 'challenge.clear';
  readonly host: string;
  readonly exhibits: readonly Exhibit[];
}

/** Proves control of the host, unless already proven. Outcome: order.authorized | acquisition.failed. */
export interface AcmeAuthorize extends Step {
  readonly type: 'acme.authorize';
  readonly order: OrderPlace;
  /** What is shown and then removed; null: nothing was planned. Absent in records of earlier releases. */
  readonly exhibit?: Exhibit | null;
}

/**
 * Creates the key, keeps it in the Secret for pending certificates, has the certificate issued and stores it
 * beside the key. Outcome: certificate.received | acquisition.failed.
 */
export interface AcmeFinalize extends Step {
  readonly type: 'acme.finalize';
  readonly order: OrderPlace;
  readonly at: Target;
  /** The object that owns the pending Secret; absent: unknown. */
  readonly source?: DomainSource | null;
}

/**
 * Writes the certificate to every target. `pending`: the one just issued; `stored`: the good one that some
 * targets lack; `ca`: one that the CA signs now. Outcome: certificate.stored | acquisition.failed.
 */
export interface CertificateStore extends Step {
  readonly type: 'certificate.store';
  readonly from: 'pending' | 'stored' | 'ca';
  readonly targets: readonly Target[];
  /** The Secret with the pending key and certificate. */
  readonly at: Target;
  /**
   * Only a certificate with this fingerprint is stored; null: the CA makes it. Absent in records of earlier
   * releases.
   */
  readonly fingerprint?: string | null;
  readonly owner?: string;
}

/** Asks the authority for the suggested renewal window. Outcome: ari.fetched | ari.unavailable. */
export interface AriFetch {
  readonly type: 'ari.fetch';
  readonly issuer: string;
  readonly fingerprint: string;
  readonly ariId: string;
}

/** Removes a key that will never have a certificate. Outcome: effect.settled. */
export interface PendingDiscard {
  readonly type: 'pending.discard';
  readonly host: string;
  readonly at: Target;
}

export interface StatusCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  /** ms since the epoch */
  readonly since: number;
}

/** Status of a Domain. Times in ms since the epoch; null: none. */
export interface DomainStatus {
  readonly state: string;
  readonly notBefore: number | null;
  readonly notAfter: number | null;
  readonly renewAt: number | null;
  readonly failures: number;
  readonly lastError: string | null;
  readonly nextAttempt: number | null;
  readonly conditions: readonly StatusCondition[];
}

/** An Event for people (`kubectl describe`). */
export interface Notice {
  readonly eventType: 'Normal' | 'Warning';
  readonly reason: string;
  readonly note: string;
}

/**
 * Writes the status of the sources that are Domains, and an Event about every source. Outcome:
 * effect.settled.
 */
export interface DomainReport {
  readonly type: 'domain.report';
  readonly host: string;
  readonly sources: readonly DomainSource[];
  /** Sources that may not have the host, and are told so; absent in records of earlier releases. */
  readonly refused?: readonly DomainSource[];
  readonly status: DomainStatus;
  /**
   * The condition `Ready` for sources whose own Secret lacks the certificate, by uid; absent: there are none.
   */
  readonly lacking?: Readonly<Record<string, StatusCondition>>;
  readonly notice: Notice | null;
  /** ms since the epoch */
  readonly at: number;
}

export const certificateInspect = effect<CertificateInspect>('certificate.inspect', {
  failure: ({ attempt }, message): InspectionFailed => ({ type: 'inspection.failed', attempt, message }),
});
export const acmeOrder = effect<AcmeOrder>('acme.order', {
  failure: stepFailure,
  timeoutMs: limits.acmeOrderMs,
});
export const challengePlan = effect<ChallengePlan>('challenge.plan', {
  failure: stepFailure,
  timeoutMs: limits.challengePlanMs,
});
export const challengeClear = effect<ChallengeClear>('challenge.clear', {
  failure: (_, message): ChallengeCleared => ({ type: 'challenge.cleared', removed: [], message }),
  timeoutMs: limits.challengeClearMs,
});
export const acmeAuthorize = effect<AcmeAuthorize>('acme.authorize', {
  failure: stepFailure,
  timeoutMs: limits.acmeAuthorizeMs,
});
export const acmeFinalize = effect<AcmeFinalize>('acme.finalize', {
  failure: stepFailure,
  timeoutMs: limits.acmeFinalizeMs,
});
export const certificateStore = effect<CertificateStore>('certificate.store', { failure: stepFailure });
export const ariFetch = effect<AriFetch>('ari.fetch', {
  failure: ({ fingerprint }): AriUnavailable => ({
    type: 'ari.unavailable',
    fingerprint,
    retryAfterMs: null,
  }),
});
export const pendingDiscard = effect<PendingDiscard>('pending.discard');
export const domainReport = effect<DomainReport>('domain.report');

export const domainEffects = [
  messageSend,
  certificateInspect,
  acmeOrder,
  challengePlan,
  challengeClear,
  acmeAuthorize,
  acmeFinalize,
  certificateStore,
  ariFetch,
  pendingDiscard,
  domainReport,
] as const;

/**
 * What a step without an answer means: nothing is known about the authority; what Kubernetes did not do is
 * retried.
 */
function stepFailure(
  effect: AcmeOrder | ChallengePlan | AcmeAuthorize | AcmeFinalize | CertificateStore,
  message: string,
): AcquisitionFailed {
  return {
    type: 'acquisition.failed',
    attempt: effect.attempt,
    outcome: effect.type === 'certificate.store' ? 'cluster' : 'down',
    message,
    retryAfterMs: null,
    orderLost: false,
  };
}
