/** The effects of the workload chart. */

/** How a workload is asked. */
export interface WorkloadProbe {
  readonly scheme: 'http' | 'https' | 'tcp';
  /** The Host that is asked for (and of TLS, the server's name); null: the address. */
  readonly host: string | null;
  readonly port: number;
  readonly path: string;
  readonly timeoutMs: number;
}

/** Asks each address of a workload once. Outcome: workload.probed. */
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
  /** Precondition: the workload must be this one. */
  readonly uid: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  /** ms since the epoch */
  readonly at: number;
}
