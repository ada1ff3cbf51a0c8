/** Effects of the election chart. */
import { limits } from '../../base/limits.ts';
import { effect } from '../effect.ts';
import { kubeEventWrite } from '../effects.ts';
import type { ElectionEvent } from './election-events.ts';
import type { LeasePlace, LeaseRecord } from './lease-record.ts';

/** Reads the Lease. Outcome: lease.seen | lease.unseen. */
export interface LeaseLook {
  readonly type: 'lease.look';
  readonly attempt: number;
  readonly place: LeasePlace;
  readonly timeoutMs: number;
}

/** Creates the Lease, or writes it on condition of its version. Outcome: lease.written | lease.refused. */
export interface LeaseWrite {
  readonly type: 'lease.write';
  readonly attempt: number;
  readonly place: LeasePlace;
  /** null: the Lease does not exist yet. */
  readonly resourceVersion: string | null;
  readonly record: LeaseRecord;
  readonly term: number;
  /** The writer must have seen the holder silent for this long; absent: the Lease is ours or free. */
  readonly respectMs?: number;
  /** Nothing is written after this time, milliseconds since the epoch. */
  readonly notAfter: number;
  readonly timeoutMs: number;
}

/** Gives the Lease back, after reading that it is still the holder's. Outcome: lease.released. */
export interface LeaseRelease {
  readonly type: 'lease.release';
  readonly attempt: number;
  readonly place: LeasePlace;
  /** The expected holder and transitions. */
  readonly holder: string;
  readonly transitions: number;
  /** acquireTime and renewTime of the released Lease. */
  readonly time: string;
  readonly notAfter: number;
  readonly timeoutMs: number;
}

/** Sends `lease.seen` for the present Lease and at each change. Outcome after a while: lease.followed. */
export interface LeaseFollow {
  readonly type: 'lease.follow';
  readonly place: LeasePlace;
  readonly seconds: number;
  /** Absent: requested by an earlier release. */
  readonly round?: number;
}

export interface ElectionStatus {
  readonly holder: string | null;
  readonly term: number;
  readonly acquireTime: string | null;
  readonly renewTime: string | null;
  readonly transitions: number;
  readonly candidates: readonly string[];
  readonly observedGeneration: number;
  /** Why the election cannot be held; null: it can. */
  readonly invalid: string | null;
  /** The condition's reason; absent: Invalid. */
  readonly reason?: 'LeaseNotAllowed' | 'TermsUsedUp';
}

/** Writes the status of the Election resource. Outcome: election-status.patched | election-status.refused. */
export interface ElectionStatusPatch {
  readonly type: 'election-status.patch';
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly status: ElectionStatus;
  /**
   * lastTransitionTime of the condition, which follows its status, not its reason. Milliseconds since the
   * epoch.
   */
  readonly at: number;
}

export const leaseLook = effect<LeaseLook>('lease.look', {
  failure: ({ attempt }, message): ElectionEvent => ({ type: 'lease.unseen', attempt, message }),
});
export const leaseWrite = effect<LeaseWrite>('lease.write', {
  failure: ({ attempt }, message): ElectionEvent => ({
    type: 'lease.refused',
    attempt,
    reason: 'error',
    message,
  }),
});
export const leaseRelease = effect<LeaseRelease>('lease.release', {
  failure: ({ attempt }, error): ElectionEvent => ({
    type: 'lease.released',
    attempt,
    record: null,
    resourceVersion: null,
    error,
  }),
});
export const leaseFollow = effect<LeaseFollow>('lease.follow', {
  failure: ({ place, round }, error): ElectionEvent => ({
    type: 'lease.followed',
    place,
    error,
    ...(round === undefined ? {} : { round }),
  }),
  timeoutMs: ({ seconds }) => seconds * 1_000 + limits.effectTimeoutMs,
  // Following only waits: it uses neither a connection nor the processor.
  inFlight: limits.leasesFollowed,
});
export const electionStatusPatch = effect<ElectionStatusPatch>('election-status.patch', {
  failure: ({ uid }, message): ElectionEvent => ({ type: 'election-status.refused', message, uid }),
});

export const electionEffects = [
  leaseLook,
  leaseWrite,
  leaseRelease,
  leaseFollow,
  electionStatusPatch,
  kubeEventWrite,
] as const;
