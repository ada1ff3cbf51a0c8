/**
 * The content of an election's Lease, and the times of an election: plain data that charts, effects and
 * commands share.
 *
 * The names are those of the Lease in `coordination.k8s.io/v1`. A record's times are the object's text
 * (MicroTime): they are for people and compared for equality only, never with a clock, because another
 * machine wrote them.
 */

/** Where the Lease is. */
export interface LeasePlace {
  readonly namespace: string;
  readonly name: string;
}

/** The fields of a Lease that an election uses. A missing field is empty or 0. */
export interface LeaseRecord {
  /** Empty: nobody. */
  readonly holder: string;
  readonly durationSeconds: number;
  readonly acquireTime: string;
  readonly renewTime: string;
  /** Increases by one with each change of holder. */
  readonly transitions: number;
  /** Set by coordinated elections. */
  readonly strategy: string;
  readonly preferredHolder: string;
}

/** The API keeps the count of transitions in 32 bits, and refuses what is beyond. */
export const transitionsMax = 2 ** 31 - 1;

/** All in milliseconds. */
export interface ElectionTiming {
  /** Others respect a silent holder for this long. */
  readonly leaseMs: number;
  /** A leader that could not renew for this long stops leading. */
  readonly renewDeadlineMs: number;
  /** Between renewals, and between failed attempts. */
  readonly retryMs: number;
}

/** How an election is to be held; `invalid` says why it cannot be. */
export interface ElectionSpec {
  readonly place: LeasePlace;
  readonly timing: ElectionTiming;
  readonly releaseOnCancel: boolean;
  readonly invalid: string | null;
}

/** Those of client-go's users: 15, 10 and 2 s. */
export const defaultTiming: ElectionTiming = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

/** How late renewals may be: the jitter factor of client-go. */
export const retrySlack = 1.2;

/**
 * Why an election cannot be held with these times; null if it can. The rule is client-go's, and no time is
 * below a second.
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
