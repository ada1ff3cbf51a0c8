/**
 * The issuer chart's context: what an Issuer remembers. Absent: whose turn it is (issuer-queue), limits
 * (issuer-limits), reports.
 */
import type { ActorId } from '../../base/ids.ts';
import type { ActorInput } from '../actor-input.ts';
import type { IssuerFacts } from '../domain/domain-facts.ts';
import type { Stamp } from '../stamp.ts';
import type { Reporting } from '../unwritten.ts';
import type { CaLife, IssuerEvent } from './issuer-events.ts';

export interface Waiting {
  readonly domain: ActorId;
  readonly registered: string;
  readonly exempt: boolean;
  /** The owner of the host; empty: unknown. */
  readonly namespace: string;
  /** A renewal that is due. */
  readonly due: boolean;
  /** When its certificate ends, ms since the epoch; absent: none is due, or asked by an earlier release. */
  readonly ends?: number;
  /** The number of its question; absent: asked by an earlier release. */
  readonly question?: number;
  /** Since when it has waited, ms since the epoch; absent: asked by an earlier release. */
  readonly since?: number;
}

/** A permit in use: its latest end, ms since the epoch, and its holder. */
export interface Permit {
  readonly until: number;
  /** No budget has counted it; absent: granted by an earlier release. */
  readonly exempt?: boolean;
  readonly namespace?: string;
  /** The question that it answers; absent: asked by an earlier release. */
  readonly question?: number;
}

export interface Buckets {
  readonly orders: number;
  /** By registered domain. */
  readonly certificates: Readonly<Record<string, number>>;
  /** By host. */
  readonly duplicates: Readonly<Record<string, number>>;
}

/** A limit of the authority on a host or a registered domain. */
export interface Limit {
  /** ms since the epoch */
  readonly until: number;
  /** How often it was hit in a row; the wait grows with it. */
  readonly times: number;
  /** The authority did not name the limit's scope. */
  readonly isVague: boolean;
  /**
   * No limit: the authority did not answer properly for this host. `own`: others got certificates since, so
   * it is no outage. Absent: a limit.
   */
  readonly outage?: { readonly is: 'shared' | 'own'; readonly message: string };
  /**
   * No limit: the host found the Issuer unusable, for this reason, and its own check did not. Absent: it did
   * not.
   */
  readonly unusable?: string;
  /**
   * With `unusable`: the authority refuses it with the order; `own`: and not the orders of others. Absent: it
   * does not.
   */
  readonly refused?: 'shared' | 'own';
}

export interface IssuerContext extends Reporting {
  readonly name: string;
  /** null: nothing is known yet. */
  readonly facts: IssuerFacts | null;
  /** Number of the verification; outcomes with another number are ignored. */
  readonly check: number;
  /** When it began, ms since the epoch; absent: there was none, or a record of an earlier release. */
  readonly checkedAt?: number;
  /** In the order in which they asked. */
  readonly queue: readonly Waiting[];
  readonly inWork: Readonly<Record<ActorId, Permit>>;
  /**
   * Namespaces that got permits, the one served last at the end; absent: none, or a record of an earlier
   * release.
   */
  readonly turns?: readonly string[];
  /** Permits for renewals since the last one for a new host; absent: none, or an earlier release's record. */
  readonly renewals?: number;
  /**
   * When the last of the domains without a place was told to ask again, by namespace, ms since the epoch;
   * absent: none was.
   */
  readonly calls?: Readonly<Record<string, number>>;
  readonly buckets: Buckets;
  /** By `h/<host>` and `d/<registered domain>`. */
  readonly limits: Readonly<Record<string, Limit>>;
  /** A limit on everybody, ms since the epoch. */
  readonly limitedUntil: number | null;
  /** Consecutive limits on everybody, without a success in between. */
  readonly limitTimes: number;
  readonly outageSince: number | null;
  /** Consecutive outages, without a success in between. */
  readonly probes: number;
  /**
   * How often in a row the authority has refused the specification with an order, without a certificate in
   * between; absent: never, or a record of an earlier release.
   */
  readonly refusals?: number;
  readonly lastError: string | null;
  readonly readySince: number;
  readonly isReady: boolean;
  /** Somebody wrote over its status, and it is reported again soon; absent: nobody did. */
  readonly mistold?: boolean;
  /** Of a private CA, when it was last verified; null or absent: an authority, or not verified yet. */
  readonly ca?: CaLife | null;
  /** The address of the account, when it was last verified; null or absent: a CA, or not verified yet. */
  readonly account?: string | null;
}

export type IssuerInput = IssuerEvent & Stamp;

export interface Moment {
  readonly context: IssuerContext;
  readonly event: IssuerInput;
}

export const fullBuckets: Buckets = { orders: 0, certificates: {}, duplicates: {} };

export const newborn = ({ name }: ActorInput): IssuerContext => ({
  name,
  facts: null,
  check: 0,
  queue: [],
  inWork: {},
  buckets: fullBuckets,
  limits: {},
  limitedUntil: null,
  limitTimes: 0,
  outageSince: null,
  probes: 0,
  lastError: null,
  readySince: 0,
  isReady: false,
});

export const hostOf = (domain: ActorId) => domain.slice('domain/_/'.length);
