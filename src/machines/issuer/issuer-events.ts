/** Events of the issuer chart; messages from domains are in domain-events.ts. */
import type { PermitAsked, PermitReturned, ReportDue } from '../domain/domain-events.ts';
import type { IssuerFacts } from '../domain/domain-facts.ts';
import type { EffectSettled } from '../stamp.ts';

/** An observation: the Issuer's current facts; null when it no longer exists. */
export type IssuerObserved = { readonly type: 'issuer.observed'; readonly facts: IssuerFacts | null };
/** A person asks for another verification. */
export type IssuerRecheck = { readonly type: 'issuer.recheck' };

/** The authority answered and knows our account; or the CA's certificate and key are usable. */
export type IssuerVerified = { readonly type: 'issuer.verified'; readonly check: number };
export type IssuerFailed = {
  readonly type: 'issuer.failed';
  readonly check: number;
  /**
   * down: no sensible answer; refused: an answer that retrying does not change; rateLimited: it asked to
   * wait.
   */
  readonly outcome: 'down' | 'refused' | 'rateLimited';
  readonly message: string;
  readonly retryAfterMs: number | null;
};

/** A Secret that the specification names was created, deleted or changed. */
export type IssuerSecretsChanged = { readonly type: 'issuer-secrets.changed'; readonly check: number };
/** None of them changed in that time. */
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
