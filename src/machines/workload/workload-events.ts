/** Events of the workload chart. */
import type { WorkloadFacts } from '../facts.ts';

/** News of a workload outside the cluster; null when nothing of it calls for an actor any more. */
export type WorkloadObserved = { readonly type: 'workload.observed'; readonly facts: WorkloadFacts | null };

/** A round of calls is over: each address was asked once. */
export type WorkloadProbed = {
  readonly type: 'workload.probed';
  readonly round: number;
  /** What went wrong, a sentence for each address that did not answer as it must; empty: all did. */
  readonly failures: readonly string[];
};

/** The condition Ready was written. */
export type WorkloadMarked = { readonly type: 'workload.marked'; readonly status: 'True' | 'False' };
/** It was not; `isGone`: the workload is not there, or is another one. */
export type WorkloadUnmarked = {
  readonly type: 'workload.unmarked';
  readonly isGone: boolean;
  readonly message: string;
};

/** A person asks for a probe now. */
export type WorkloadRecheck = { readonly type: 'workload.recheck' };

export type OwnWorkloadEvent =
  | WorkloadObserved
  | WorkloadProbed
  | WorkloadMarked
  | WorkloadUnmarked
  | WorkloadRecheck;
