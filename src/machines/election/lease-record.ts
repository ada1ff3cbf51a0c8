/**
 * What an election's Lease says, and the times that an election is held with: plain data that charts, effects
 * and commands share.
 *
 * Source of the names: `coordination.k8s.io/v1` Lease. Times of a record are the text that stands in the
 * object (MicroTime): they are written for people and compared for equality, never with a clock, for they
 * come from another machine's.
 */

/** Where the Lease is. */
export interface LeasePlace {
  readonly namespace: string;
  readonly name: string;
}

/** The part of a Lease that an election is about. A field that the object does not have is empty or 0. */
export interface LeaseRecord {
  /** Empty: nobody. */
  readonly holder: string;
  readonly durationSeconds: number;
  readonly acquireTime: string;
  readonly renewTime: string;
  /** Grows by one with each change of holder. */
  readonly transitions: number;
  /** Set by coordinated elections. */
  readonly strategy: string;
  readonly preferredHolder: string;
}

/** All in milliseconds. */
export interface ElectionTiming {
  /** Others respect a holder that says nothing for so long. */
  readonly leaseMs: number;
  /** A leader that could not renew for so long stops leading. */
  readonly renewDeadlineMs: number;
  /** From one renewal to the next, and from a failed attempt to the next. */
  readonly retryMs: number;
}

/** How an election is to be held; where it cannot be, `invalid` says why. */
export interface ElectionSpec {
  readonly place: LeasePlace;
  readonly timing: ElectionTiming;
  readonly releaseOnCancel: boolean;
  readonly invalid: string | null;
}

/** Those of client-go's own users: 15, 10 and 2 s. */
export const defaultTiming: ElectionTiming = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

/** Renewals may be late by so much; the jitter factor of client-go. */
const retrySlack = 1.2;

/**
 * Why an election cannot be held with these times; null if it can. The rule is client-go's, and no time is
 * under a second.
 */
export function timingError({ leaseMs, renewDeadlineMs, retryMs }: ElectionTiming): string | null {
  const short = Object.entries({
    leaseDuration: leaseMs,
    renewDeadline: renewDeadlineMs,
    retryPeriod: retryMs,
  })
    .filter(([, ms]) => !(ms >= 1_000 && Number.isFinite(ms)))
    .map(([name]) => name);
  if (short.length > 0) return `${short.join(', ')} must be at least 1 s`;
  if (leaseMs <= renewDeadlineMs) return 'leaseDuration must be greater than renewDeadline';
  if (renewDeadlineMs <= retryMs * retrySlack)
    return `renewDeadline must be greater than retryPeriod × ${retrySlack}`;
  return null;
}
