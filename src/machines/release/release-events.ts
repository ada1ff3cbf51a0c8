/** The events of the release chart. */
import type { EffectSettled } from '../stamp.ts';
import type { BundleFacts, NodeFacts, ReleaseStatus, SeenStatus } from './release-table.ts';

/** What is known of the other replicas and of the written state. */
export type ReleaseRoster = {
  readonly seen: SeenStatus;
  readonly nodes: readonly NodeFacts[];
  /** Sequence of the nodes' epoch under which they were seen. */
  readonly epoch: number;
};

/** A replica became the leader: everything starts again, with its bundle. `fence` proves its leadership. */
export type ReleaseLed = ReleaseRoster & {
  readonly type: 'release.led';
  readonly fence: number;
  readonly replica: string;
  readonly bundle: BundleFacts;
};
/** Nodes changed, or the status was written. */
export type ReleaseObserved = ReleaseRoster & {
  readonly type: 'release.observed';
  readonly fence: number;
};
export type StatusRefused = {
  readonly type: 'status.refused';
  readonly fence: number;
  /** leadership: another replica leads; nodes: one was added or changed since they were read. */
  readonly by: 'leadership' | 'nodes';
};
/** It is unknown whether the status was written. */
export type StatusUnknown = {
  readonly type: 'status.unknown';
  readonly fence: number;
  readonly message: string;
};

/** A field of an object, before and after; null: absent. */
export interface FieldChange {
  readonly path: string;
  readonly from: string | null;
  readonly to: string | null;
}
export interface ChangedObject {
  /** `Kind namespace/name`. */
  readonly object: string;
  readonly fields: readonly FieldChange[];
}
/** Objects by name. */
export interface RoundChanges {
  readonly made: readonly string[];
  readonly changed: readonly ChangedObject[];
  readonly pruned: readonly string[];
  /** Number of objects not named. */
  readonly more: number;
}

/** The result of a round of reconciliation. */
export interface RoundSummary {
  /** Objects that now match the bundle. */
  readonly applied: number;
  /** Objects deleted because no bundle has them any more. */
  readonly pruned: number;
  /** Objects deleted and recreated because of an immutable field. */
  readonly replaced: number;
  /** `Kind namespace/name: what went wrong`, cut to a few. */
  readonly errors: readonly string[];
  /** How many errors there were. */
  readonly failed: number;
  /** Absent: it changed nothing. */
  readonly changes?: RoundChanges;
  /** Objects with the bundle's label that Orrery did not apply, some by name; absent: there are none. */
  readonly left?: readonly string[];
  /** Its time was over before it was: so many objects are still to be applied. Absent: it is over. */
  readonly toGo?: number;
}
/** A round took as long as one effect may: the next effect goes on where it stopped. */
export type RoundProgressed = {
  readonly type: 'round.progressed';
  readonly fence: number;
  readonly round: number;
  /** Objects that are still to be applied; 0: some that the bundle no longer has are still to be deleted. */
  readonly toGo: number;
};
export type RoundFailed = {
  readonly type: 'round.failed';
  readonly fence: number;
  readonly round: number;
  readonly message: string;
};

export type ReleaseOwnEvent =
  | ReleaseLed
  | ReleaseObserved
  /** The leader has a bundle of another name: nobody works on this one any more. */
  | { readonly type: 'release.retired' }
  /** A person asks for a round of reconciliation now. */
  | { readonly type: 'release.reconcile' }
  /** The watch saw an object that differs from the bundle. */
  | { readonly type: 'drift.seen'; readonly fence: number; readonly object: string }
  | {
      readonly type: 'status.written';
      readonly fence: number;
      readonly status: ReleaseStatus;
      readonly sequence: number;
    }
  | StatusRefused
  | StatusUnknown
  | {
      readonly type: 'round.finished';
      readonly fence: number;
      readonly round: number;
      readonly summary: RoundSummary;
    }
  | RoundProgressed
  | RoundFailed;

export type ReleaseEvent = ReleaseOwnEvent | EffectSettled;
