/**
 * What the release chart asks for. Each names the fence of the leadership under which it was decided: one that is run after the
 * leadership moved must change nothing, whoever runs it.
 */
import type { ReleaseOwnEvent } from './release-events.ts';
import type { KindName, ReleaseStatus } from './release-table.ts';

/**
 * Writes the status on condition that the fence is still the last one, and, with `epoch`, that no node was added or changed since.
 * Outcome: status.written | status.refused | status.unknown.
 */
export interface ReleaseStatusWrite {
  readonly type: 'release-status.write';
  readonly bundle: string;
  readonly fence: number;
  /** null: whatever nodes there are. */
  readonly epoch: number | null;
  readonly status: ReleaseStatus;
}

/** One round over all objects of the leader's bundle. Outcome: round.finished | round.failed. */
export interface ReleaseRound {
  readonly type: 'release.round';
  readonly bundle: string;
  readonly release: string;
  readonly fence: number;
  readonly round: number;
  /** Kinds beside the bundle's own in which objects of older bundles may be left. */
  readonly kinds: readonly KindName[];
}

/** Writes the status of the Release resource and, where `note` is given, an Event about it. Outcome: effect.settled. */
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

export type ReleaseEffect = ReleaseStatusWrite | ReleaseRound | ReleaseResourceWrite | ReleaseReport;

export const releaseEffectTypes = [
  'release-status.write',
  'release.round',
  'release-resource.write',
  'release.report',
] as const satisfies readonly ReleaseEffect['type'][];

/** The outcome of one that threw or ran out of time; null: an ordinary `effect.settled`. */
export function releaseFailureOf(effect: ReleaseEffect, message: string): ReleaseOwnEvent | null {
  switch (effect.type) {
    case 'release-status.write':
      return { type: 'status.unknown', fence: effect.fence, message };
    case 'release.round':
      return { type: 'round.failed', fence: effect.fence, round: effect.round, message };
    default:
      return null;
  }
}
