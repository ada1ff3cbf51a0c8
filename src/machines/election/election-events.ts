/** The events that an election takes: of the world, of its candidates, and the outcomes of its effects. */
import type { ClockLeapt } from '../stamp.ts';
import type { ElectionSpec, LeasePlace, LeaseRecord } from './lease-record.ts';

/** What the election is told to be: from an Election resource, or from the command line. */
export interface ElectionFacts extends ElectionSpec {
  /**
   * Of the Election resource; null: there is none (a campaign of one process), and nobody is told of a
   * status.
   */
  readonly uid: string | null;
  readonly generation: number;
  /** Of the condition that says why it is `invalid`; absent: it is of a wrong form. */
  readonly reason?: 'LeaseNotAllowed';
}

/** How the election is to be held; null: it is not wanted any more. */
export type ElectionObserved = { readonly type: 'election.observed'; readonly facts: ElectionFacts | null };

/** Set by whoever took the request, never by whoever sent it. */
type OnOwnSubject = {
  /** The candidate was part of the subject, so that the rights of NATS vouch for it. */
  readonly isBound?: boolean;
};

/** Somebody wants to lead. */
export type ElectionCampaign = {
  readonly type: 'election.campaign';
  readonly candidate: string;
  /**
   * The candidate is heard of again within this time; null: within the lease, or, for a process that
   * campaigns for itself, never.
   */
  readonly ttlMs: number | null;
} & OnOwnSubject;
/** The leader of this term is still there. */
export type ElectionRenew = {
  readonly type: 'election.renew';
  readonly candidate: string;
  readonly term: number;
} & OnOwnSubject;
/** The candidate leads no more, or does not want to. */
export type ElectionResign = {
  readonly type: 'election.resign';
  readonly candidate: string;
  /** 0: of whatever term. */
  readonly term: number;
} & OnOwnSubject;

/** The Lease as it was seen; null: there is none. Outcome of lease.look, and said by lease.follow. */
export type LeaseSeen = {
  readonly type: 'lease.seen';
  readonly place: LeasePlace;
  readonly record: LeaseRecord | null;
  /** null: of a Lease that does not exist and whose deletion was not seen. */
  readonly resourceVersion: string | null;
  /** Of the lease.look that asked; null: it was followed, and may be older than what was read meanwhile. */
  readonly attempt: number | null;
};
export type LeaseUnseen = {
  readonly type: 'lease.unseen';
  readonly attempt: number;
  readonly message: string;
};
/** The Lease says what was asked for. Holder and term are for those who follow the election's transitions. */
export type LeaseWritten = {
  readonly type: 'lease.written';
  readonly attempt: number;
  readonly resourceVersion: string;
  readonly holder: string;
  readonly term: number;
};
export type LeaseRefused = {
  readonly type: 'lease.refused';
  readonly attempt: number;
  /**
   * conflict: the Lease is another than was thought; late: it was too late to write; held: its holder has
   * still to be respected; error: anything else, also an unknown outcome.
   */
  readonly reason: 'conflict' | 'late' | 'held' | 'error';
  readonly message: string;
  /** Of `held`: for how long, ms. */
  readonly leftMs?: number;
};
/** An attempt to give the Lease back is over; `record` is what it says now, null if that is not known. */
export type LeaseReleased = {
  readonly type: 'lease.released';
  readonly attempt: number;
  readonly record: LeaseRecord | null;
  readonly resourceVersion: string | null;
  /** Why it was not given back; null: it was. */
  readonly error: string | null;
};
/** The time for which the Lease was to be followed is over. */
export type LeaseFollowed = {
  readonly type: 'lease.followed';
  readonly place: LeasePlace;
  readonly error: string | null;
  readonly round?: number;
};

/** `uid`: of the Election that was told; absent: an earlier release told it. */
export type StatusPatched = { readonly type: 'election-status.patched'; readonly uid?: string };
export type StatusRefused = {
  readonly type: 'election-status.refused';
  readonly message: string;
  readonly uid?: string;
};

/** Deadlines that events move; set and cancelled by the chart itself. */
export type ElectionDue = {
  readonly type:
    | 'election.deadline.due'
    | 'election.holder.due'
    | 'election.follow.due'
    | 'election.telling.due';
};

export type ElectionEvent =
  | ElectionObserved
  | ElectionCampaign
  | ElectionRenew
  | ElectionResign
  | LeaseSeen
  | LeaseUnseen
  | LeaseWritten
  | LeaseRefused
  | LeaseReleased
  | LeaseFollowed
  | StatusPatched
  | StatusRefused
  | ClockLeapt
  | ElectionDue;
