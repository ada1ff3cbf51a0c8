/** Effects of the issuer chart. */
import type { Notice, StatusCondition } from '../domain/domain-effects.ts';

/** Asks whether certificates can be had there now. Outcome: issuer.verified | issuer.failed. */
export interface IssuerVerify {
  readonly type: 'issuer.verify';
  readonly issuer: string;
  readonly check: number;
}

/** Times in ms since the epoch; null: there is none. */
export interface IssuerStatus {
  readonly rateLimitedUntil: number | null;
  readonly outageSince: number | null;
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

export type IssuerEffect = IssuerVerify | IssuerReport;

export const issuerEffectTypes = ['issuer.verify', 'issuer.report'] as const satisfies ReadonlyArray<
  IssuerEffect['type']
>;
