/** Events of the issuer chart; those that domains send stand in domain-events.ts. */
import type { PermitAsked, PermitReturned, ReportDue } from '../domain/domain-events.ts';
import type { IssuerFacts } from '../domain/domain-facts.ts';
import type { EffectSettled } from '../stamp.ts';

/** The world has news: the Issuer's facts as they are now; null when there is no such Issuer any more. */
export type IssuerObserved = { readonly type: 'issuer.observed'; readonly facts: IssuerFacts | null };
/** A person asks to verify it again. */
export type IssuerRecheck = { readonly type: 'issuer.recheck' };

/** The authority answered and knows our account; or the CA's certificate and key can be used. */
export type IssuerVerified = { readonly type: 'issuer.verified'; readonly check: number };
export type IssuerFailed = {
  readonly type: 'issuer.failed';
  readonly check: number;
  /**
   * down: no sensible answer; refused: an answer that trying again does not change; rateLimited: it asked to
   * wait.
   */
  readonly outcome: 'down' | 'refused' | 'rateLimited';
  readonly message: string;
  readonly retryAfterMs: number | null;
};

/** A Secret that the specification names came, went or changed. */
export type IssuerSecretsChanged = { readonly type: 'issuer-secrets.changed'; readonly check: number };
/** None did for as long as it was looked. */
export type IssuerSecretsUnchanged = { readonly type: 'issuer-secrets.unchanged'; readonly check: number };

export type IssuerEvent =
  | IssuerObserved
  | IssuerRecheck
  | IssuerVerified
  | IssuerFailed
  | IssuerSecretsChanged
  | IssuerSecretsUnchanged
  | PermitAsked
  | PermitReturned
  | ReportDue
  | EffectSettled;
