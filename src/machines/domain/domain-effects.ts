/** Effects of the domain chart. Each carries the number of the attempt that its outcome has to name. */
import type { AcquisitionFailed, OrderPlace } from './domain-events.ts';
import type { DomainSource, Target } from './domain-facts.ts';

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
}

/** Makes an order at the authority. Outcome: order.made | acquisition.failed. */
export interface AcmeOrder extends Step {
  readonly type: 'acme.order';
  /** The certificate that this one takes the place of (RFC 9773); null: none. */
  readonly replaces: string | null;
}

/** Proves control of the host, as far as that is not done yet. Outcome: order.authorized | acquisition.failed. */
export interface AcmeAuthorize extends Step {
  readonly type: 'acme.authorize';
  readonly order: OrderPlace;
}

/**
 * Makes the key, keeps it in the Secret of pending things, has the certificate issued and puts it beside the key.
 * Outcome: certificate.received | acquisition.failed.
 */
export interface AcmeFinalize extends Step {
  readonly type: 'acme.finalize';
  readonly order: OrderPlace;
  readonly at: Target;
}

/**
 * Writes the certificate into every target. `pending`: the one that was issued; `stored`: the good one that some targets lack; `ca`: one
 * that the CA signs now. Outcome: certificate.stored | acquisition.failed.
 */
export interface CertificateStore extends Step {
  readonly type: 'certificate.store';
  readonly from: 'pending' | 'stored' | 'ca';
  readonly targets: readonly Target[];
  /** Where pending things lie. */
  readonly at: Target;
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

/** Writes the status into the sources that are Domains, and an Event about every source. Outcome: effect.settled. */
export interface DomainReport {
  readonly type: 'domain.report';
  readonly host: string;
  readonly sources: readonly DomainSource[];
  readonly status: DomainStatus;
  readonly notice: Notice | null;
  /** ms since the epoch */
  readonly at: number;
}

export type DomainEffect =
  | CertificateInspect
  | AcmeOrder
  | AcmeAuthorize
  | AcmeFinalize
  | CertificateStore
  | AriFetch
  | PendingDiscard
  | DomainReport;

export const domainEffectTypes = [
  'certificate.inspect',
  'acme.order',
  'acme.authorize',
  'acme.finalize',
  'certificate.store',
  'ari.fetch',
  'pending.discard',
  'domain.report',
] as const satisfies ReadonlyArray<DomainEffect['type']>;

/** What a step that ended without a word means: of the authority nothing is known, what Kubernetes did not do will be tried again. */
export function stepFailure(
  effect: AcmeOrder | AcmeAuthorize | AcmeFinalize | CertificateStore,
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
