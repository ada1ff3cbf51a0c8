/** Effects of the domain chart. Each carries the number of the attempt that its outcome has to name. */
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
  /** Name of the Issuer, whose specification the runner looks up. */
  readonly issuer: string;
  readonly attempt: number;
}

/** Reads the Secrets. Outcome: certificate.inspected | inspection.failed. */
export interface CertificateInspect {
  readonly type: 'certificate.inspect';
  readonly host: string;
  readonly attempt: number;
  readonly targets: readonly Target[];
  /** Where pending things would lie; null: nowhere (a CA signs at once). */
  readonly at: Target | null;
  /**
   * Fingerprints that the record names: what has another one is copied nowhere. Absent in records of earlier
   * releases, as `owner`.
   */
  readonly known?: readonly string[];
  /** The namespace whose Secrets alone may be taken for good without being named. */
  readonly owner?: string;
}

/** Makes an order at the authority. Outcome: order.made | acquisition.failed. */
export interface AcmeOrder extends Step {
  readonly type: 'acme.order';
  /** The certificate that this one takes the place of (RFC 9773); null: none. */
  readonly replaces: string | null;
}

/**
 * Finds out what has to be shown for the order's challenge, and makes nothing. Outcome: challenge.planned |
 * acquisition.failed.
 */
export interface ChallengePlan extends Step {
  readonly type: 'challenge.plan';
  readonly order: OrderPlace;
}

/** Removes what was made for challenges that are over. Outcome: challenge.cleared. */
export interface ChallengeClear {
  readonly type: 'challenge.clear';
  readonly host: string;
  readonly exhibits: readonly Exhibit[];
}

/**
 * Proves control of the host, as far as that is not done yet. Outcome: order.authorized | acquisition.failed.
 */
export interface AcmeAuthorize extends Step {
  readonly type: 'acme.authorize';
  readonly order: OrderPlace;
  /**
   * What is shown and removed again; null: nothing was planned. Absent in records of earlier releases,
   * which
   * noted nothing.
   */
  readonly exhibit?: Exhibit | null;
}

/**
 * Makes the key, keeps it in the Secret of pending things, has the certificate issued and puts it beside the
 * key. Outcome: certificate.received | acquisition.failed.
 */
export interface AcmeFinalize extends Step {
  readonly type: 'acme.finalize';
  readonly order: OrderPlace;
  readonly at: Target;
  /** The object with which the pending things go; absent: none is known. */
  readonly source?: DomainSource | null;
}

/**
 * Writes the certificate into every target. `pending`: the one that was issued; `stored`: the good one that
 * some targets lack; `ca`: one that the CA signs now. Outcome: certificate.stored | acquisition.failed.
 */
export interface CertificateStore extends Step {
  readonly type: 'certificate.store';
  readonly from: 'pending' | 'stored' | 'ca';
  readonly targets: readonly Target[];
  /** Where pending things lie. */
  readonly at: Target;
  /**
   * What is stored from where it stands has this fingerprint; null: the CA makes it. Absent in records of
   * earlier releases.
   */
  readonly fingerprint?: string | null;
  readonly owner?: string;
}

/** Asks for the suggested window of renewal. Outcome: ari.fetched | ari.unavailable. */
export interface AriFetch {
  readonly type: 'ari.fetch';
  readonly issuer: string;
  readonly fingerprint: string;
  readonly ariId: string;
}

/** Removes a key that nobody will have certified. Outcome: effect.settled. */
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

/** Status of a Domain. Times in ms since the epoch; null: there is none. */
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

/** What people are told by `kubectl describe`. */
export interface Notice {
  readonly eventType: 'Normal' | 'Warning';
  readonly reason: string;
  readonly note: string;
}

/**
 * Writes the status into the sources that are Domains, and an Event about every source. Outcome:
 * effect.settled.
 */
export interface DomainReport {
  readonly type: 'domain.report';
  readonly host: string;
  readonly sources: readonly DomainSource[];
  /** Those that may not have it, and are told so; absent in records of earlier releases. */
  readonly refused?: readonly DomainSource[];
  readonly status: DomainStatus;
  /**
   * The condition `Ready` of those whose own Secret lacks the certificate, by their uid; absent: nobody's
   * does.
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
 * What a step that ended without a word means: of the authority nothing is known, what Kubernetes did not do
 * will be tried again.
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
