/** Effects of the workload chart. */
import { limits } from '../../base/limits.ts';
import { effect } from '../effect.ts';
import { kubeEventWrite } from '../effects.ts';
import type { WorkloadUnmarked, WorkloadUnprobed } from './workload-events.ts';

export interface WorkloadProbe {
  readonly scheme: 'http' | 'https' | 'tcp';
  /** The Host header (and with TLS the server name); null: the address. */
  readonly host: string | null;
  readonly port: number;
  readonly path: string;
  readonly timeoutMs: number;
}

/** Calls each address of a workload once. Outcome: workload.probed | workload.unprobed. */
export interface WorkloadProbeRun {
  readonly type: 'workload.probe';
  readonly round: number;
  readonly addresses: readonly string[];
  readonly probe: WorkloadProbe;
}

/** Sets the condition Ready in a workload's status. Outcome: workload.marked | workload.unmarked. */
export interface WorkloadConditionPatch {
  readonly type: 'workload-condition.patch';
  readonly namespace: string;
  readonly name: string;
  /** Precondition: the workload's uid. */
  readonly uid: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  /** ms since the epoch */
  readonly at: number;
}

export const workloadProbe = effect<WorkloadProbeRun>('workload.probe', {
  failure: ({ round }, message): WorkloadUnprobed => ({ type: 'workload.unprobed', round, message }),
  timeoutMs: ({ probe }) => limits.workloadProbeLineMs + probe.timeoutMs + 1_000,
  inFlight: limits.workloadProbes,
});
export const workloadConditionPatch = effect<WorkloadConditionPatch>('workload-condition.patch', {
  failure: (_, message): WorkloadUnmarked => ({ type: 'workload.unmarked', isGone: false, message }),
});

export const workloadEffects = [workloadProbe, workloadConditionPatch, kubeEventWrite] as const;
