/** Effects of the issuer chart. */
import { limits } from '../../base/limits.ts';
import type { Notice, StatusCondition } from '../domain/domain-effects.ts';
import { effect } from '../effect.ts';
import { messageSend } from '../effects.ts';
import type { IssuerFailed, IssuerSecretsUnchanged } from './issuer-events.ts';

/**
 * Checks whether the authority or CA can issue certificates now. Outcome: issuer.verified | issuer.failed.
 */
export interface IssuerVerify {
  readonly type: 'issuer.verify';
  readonly issuer: string;
  readonly check: number;
}

/**
 * Waits some minutes for a change of the Secrets that the specification names. Outcome:
 * issuer-secrets.changed | issuer-secrets.unchanged.
 */
export interface IssuerSecretsWatch {
  readonly type: 'issuer-secrets.watch';
  readonly issuer: string;
  readonly check: number;
}

/** Times in ms since the epoch; null: none. */
export interface IssuerStatus {
  readonly rateLimitedUntil: number | null;
  readonly outageSince: number | null;
  /** The address of the account; absent: none, or a record of an earlier release. */
  readonly accountUrl?: string;
  readonly conditions: readonly StatusCondition[];
}

/** Writes the Issuer's status and an Event about it. Outcome: effect.settled. */
export interface IssuerReport {
  readonly type: 'issuer.report';
  readonly issuer: string;
  readonly uid: string;
  readonly generation: number;
  readonly status: IssuerStatus;
  readonly notice: Notice | null;
  /** ms since the epoch */
  readonly at: number;
}

export const issuerVerify = effect<IssuerVerify>('issuer.verify', {
  failure: ({ check }, message): IssuerFailed => ({
    type: 'issuer.failed',
    check,
    outcome: 'down',
    message,
    retryAfterMs: null,
  }),
  timeoutMs: limits.issuerVerifyMs,
});
export const issuerSecretsWatch = effect<IssuerSecretsWatch>('issuer-secrets.watch', {
  failure: ({ check }): IssuerSecretsUnchanged => ({ type: 'issuer-secrets.unchanged', check }),
  timeoutMs: limits.issuerWatchMs,
});
export const issuerReport = effect<IssuerReport>('issuer.report');

export const issuerEffects = [messageSend, issuerVerify, issuerSecretsWatch, issuerReport] as const;
