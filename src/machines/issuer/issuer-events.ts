/** Events of the issuer chart; messages from domains are in domain-events.ts. */

import type { PermitAsked, PermitReturned, ReportDue } from '../domain/domain-events.ts';
import type { IssuerFacts } from '../domain/domain-facts.ts';
import type { StatusSaid } from '../said.ts';
import type { EffectSettled } from '../stamp.ts';

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

/** The life of a CA's own certificate, ms since the epoch. */
export interface CaLife {
  readonly notBefore: number;
  readonly notAfter: number;
}

/** None of the Secrets that the specification names changed in that time. */
export type IssuerSecretsUnchanged = { readonly type: 'issuer-secrets.unchanged'; readonly check: number };

export type IssuerEvent =
  /** An observation: the Issuer's current facts; null when it no longer exists. */
  | { readonly type: 'issuer.observed'; readonly facts: IssuerFacts | null }
  /** What its status says at present (saidIn). */
  | { readonly type: 'issuer.status.observed'; readonly facts: StatusSaid }
  /** A person asks for another verification. */
  | { readonly type: 'issuer.recheck' }
  /** The authority answered and knows our account; or the CA's certificate and key are usable. */
  | {
      readonly type: 'issuer.verified';
      readonly check: number;
      readonly ca?: CaLife;
      /** The address by which the authority knows our account; absent: a CA. */
      readonly account?: string;
    }
  | IssuerFailed
  /** A Secret that the specification names was created, deleted or changed. */
  | { readonly type: 'issuer-secrets.changed'; readonly check: number }
  | IssuerSecretsUnchanged
  | PermitAsked
  | PermitReturned
  | ReportDue
  | EffectSettled;
