/** The events of an election: observations, requests of its candidates, and the outcomes of its effects. */
import type { StatusSaid } from '../said.ts';
import type { ClockLeapt } from '../stamp.ts';
import type { ElectionSpec, LeasePlace, LeaseRecord } from './lease-record.ts';

/** The election's specification, from an Election resource or from the command line. */
export interface ElectionFacts extends ElectionSpec {
  /** Of the Election resource; null: there is none (a campaign of one process), and no status is written. */
  readonly uid: string | null;
  readonly generation: number;
  /** The condition's reason for `invalid`; absent: malformed. */
  readonly reason?: 'LeaseNotAllowed';
}

/** How the election is to be held; null: it is no longer wanted. */
export type ElectionObserved = { readonly type: 'election.observed'; readonly facts: ElectionFacts | null };

/** What the resource's status says at present; null: it says nothing. */
export type ElectionStatusObserved = {
  readonly type: 'election.status.observed';
  readonly facts:
    | (NonNullable<StatusSaid> & {
        /** Absent: it names none, or it was mirrored by an earlier release. */
        readonly term?: number;
      })
    | null;
};

/** Set by the replica that received the request, never by the sender. */
type OnOwnSubject = {
  /** The subject contained the candidate, so NATS permissions vouch for it. */
  readonly isBound?: boolean;
};

/** A candidate wants to lead. */
export type ElectionCampaign = {
  readonly type: 'election.campaign';
  readonly candidate: string;
  /**
   * The candidate renews within this time; null: within the lease, or never, if a process campaigns for
   * itself.
   */
  readonly ttlMs: number | null;
} & OnOwnSubject;
/** The leader of this term is still alive. */
export type ElectionRenew = {
  readonly type: 'election.renew';
  readonly candidate: string;
  readonly term: number;
} & OnOwnSubject;
/** The candidate stops leading, or withdraws. */
export type ElectionResign = {
  readonly type: 'election.resign';
  readonly candidate: string;
  /** 0: of any term. */
  readonly term: number;
} & OnOwnSubject;

/** The Lease as seen; null: it does not exist. Outcome of lease.look, and sent by lease.follow. */
export type LeaseSeen = {
  readonly type: 'lease.seen';
  readonly place: LeasePlace;
  readonly record: LeaseRecord | null;
  /** null: the Lease does not exist and its deletion was not seen. */
  readonly resourceVersion: string | null;
  /** The lease.look that read it; null: it was followed, and may be older than what was read meanwhile. */
  readonly attempt: number | null;
};
export type LeaseUnseen = {
  readonly type: 'lease.unseen';
  readonly attempt: number;
  readonly message: string;
};
/** The Lease says what was requested. Holder and term are for readers of the election's transitions. */
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
   * conflict: the Lease has changed; late: it was too late to write; held: its holder must still be
   * respected; error: anything else, including an unknown outcome.
   */
  readonly reason: 'conflict' | 'late' | 'held' | 'error';
  readonly message: string;
  /** With `held`: for how long, ms. */
  readonly leftMs?: number;
};
/** An attempt to give the Lease back is over; `record` is its content now, null if unknown. */
export type LeaseReleased = {
  readonly type: 'lease.released';
  readonly attempt: number;
  readonly record: LeaseRecord | null;
  readonly resourceVersion: string | null;
  /** Why it was not given back; null: it was. */
  readonly error: string | null;
};
/** The time limit of following is over. */
export type LeaseFollowed = {
  readonly type: 'lease.followed';
  readonly place: LeasePlace;
  readonly error: string | null;
  readonly round?: number;
};

/** `uid`: of the Election whose status was written; absent: written by an earlier release. */
export type StatusPatched = { readonly type: 'election-status.patched'; readonly uid?: string };
export type StatusRefused = {
  readonly type: 'election-status.refused';
  readonly message: string;
  readonly uid?: string;
};

/** Deadlines that events move; the chart sets and cancels them itself. */
export type ElectionDue = {
  readonly type:
    | 'election.deadline.due'
    | 'election.holder.due'
    | 'election.follow.due'
    | 'election.telling.due';
};

export type ElectionEvent =
  | ElectionObserved
  | ElectionStatusObserved
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
