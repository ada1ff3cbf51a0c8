/**
 * The effects of the release chart. Each names the fence of the leadership that requested it: run after the
 * leadership has moved, it must change nothing.
 */
import { limits } from '../../base/limits.ts';
import { effect } from '../effect.ts';
import type { RoundFailed, StatusUnknown } from './release-events.ts';
import type { KindName, ReleaseStatus } from './release-table.ts';

/**
 * Writes the status on condition that the fence is still the last one and, with `epoch`, that no node was
 * added or changed since. Outcome: status.written | status.refused | status.unknown.
 */
export interface ReleaseStatusWrite {
  readonly type: 'release-status.write';
  readonly bundle: string;
  readonly fence: number;
  /** null: regardless of the nodes. */
  readonly epoch: number | null;
  readonly status: ReleaseStatus;
}

/**
 * One round over all objects of the leader's bundle, or a part of it: the next one goes on. Outcome:
 * round.finished | round.progressed | round.failed.
 */
export interface ReleaseRound {
  readonly type: 'release.round';
  readonly bundle: string;
  readonly release: string;
  readonly fence: number;
  readonly round: number;
  /** Kinds beside the bundle's own that may have objects of older bundles. */
  readonly kinds: readonly KindName[];
}

/**
 * Writes the status of the Release resource and, with `note`, an Event about it. Outcome: effect.settled.
 */
export interface ReleaseResourceWrite {
  readonly type: 'release-resource.write';
  readonly bundle: string;
  readonly status: {
    readonly state: string | null;
    readonly release: string | null;
    readonly minimumCompatibleRelease: string | null;
    readonly leader: string;
    readonly waitingFor: string | null;
    /** milliseconds since the epoch */
    readonly lastApplied: number | null;
    readonly lastError: string | null;
    /**
     * The last rounds that changed something, with names; the latest first. Absent: requested by an earlier
     * release.
     */
    readonly changes?: readonly ReleaseChange[];
  };
  readonly conditions: readonly ReleaseCondition[];
  readonly note: {
    readonly eventType: 'Normal' | 'Warning';
    readonly reason: string;
    readonly text: string;
  } | null;
  /** milliseconds since the epoch */
  readonly at: number;
}

export interface ReleaseChange {
  /** milliseconds since the epoch */
  readonly at: number;
  readonly release: string;
  readonly applied: readonly string[];
  readonly changed: readonly string[];
  readonly pruned: readonly string[];
  /** Number of objects not named. */
  readonly more: number;
}

export interface ReleaseCondition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/** Writes a line to the leader's log. Outcome: effect.settled. */
export interface ReleaseReport {
  readonly type: 'release.report';
  readonly bundle: string;
  readonly level: 'warn' | 'error';
  readonly message: string;
  readonly error: string;
}

export const releaseStatusWrite = effect<ReleaseStatusWrite>('release-status.write', {
  failure: ({ fence }, message): StatusUnknown => ({ type: 'status.unknown', fence, message }),
});
export const releaseRound = effect<ReleaseRound>('release.round', {
  failure: ({ fence, round }, message): RoundFailed => ({ type: 'round.failed', fence, round, message }),
  timeoutMs: limits.releaseRoundMs,
});
/** Of the condition `Applied`: nobody carries the bundle any more, and nothing follows. */
export const retiredReason = 'Retired';

export const releaseResourceWrite = effect<ReleaseResourceWrite>('release-resource.write');
export const releaseReport = effect<ReleaseReport>('release.report');

export const releaseEffects = [
  releaseStatusWrite,
  releaseRound,
  releaseResourceWrite,
  releaseReport,
] as const;
