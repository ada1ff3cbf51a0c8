/** Events of the workload chart. */
import type { EffectSettled } from '../stamp.ts';
import type { WorkloadFacts } from './workload-facts.ts';

/** A round of calls is over: each address was called once. */
export type WorkloadProbed = {
  readonly type: 'workload.probed';
  readonly round: number;
  /** The failures, a sentence for each address that did not answer properly; empty: all did. */
  readonly failures: readonly string[];
};

/** The round has no result: it could not be made. That says nothing about the workload. */
export type WorkloadUnprobed = {
  readonly type: 'workload.unprobed';
  readonly round: number;
  /** Why, for people. */
  readonly message: string;
};

/** The condition Ready was not written; `isGone`: the workload does not exist, or is another one. */
export type WorkloadUnmarked = {
  readonly type: 'workload.unmarked';
  readonly isGone: boolean;
  readonly message: string;
};

export type OwnWorkloadEvent =
  /** An observation of a workload outside the cluster; null when it no longer needs an actor. */
  | { readonly type: 'workload.observed'; readonly facts: WorkloadFacts | null }
  | WorkloadProbed
  | WorkloadUnprobed
  /** The condition Ready was written. */
  | { readonly type: 'workload.marked'; readonly status: 'True' | 'False' }
  | WorkloadUnmarked
  /** A person asks for a probe now. */
  | { readonly type: 'workload.recheck' };

export type WorkloadEvent = OwnWorkloadEvent | EffectSettled;
