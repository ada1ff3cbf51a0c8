/** Effect `workload.probe`: asks each address of a workload once, all at the same time (probe/reach.ts). */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { Clock } from '../../../base/clock.ts';
import type { WorkloadProbeRun } from '../../../machines/workload/workload-effects.ts';
import { reach } from '../reach.ts';

/** Outcome workload.probed. */
export function workloadProbe(clock: Clock): EffectRunner<WorkloadProbeRun> {
  return async ({ round, addresses, probe }, { signal }) => {
    const problems = await Promise.all(
      addresses.map(async (address) => {
        const problem = await reach({ ...probe, address }, clock, signal);
        return problem === null ? [] : [`${address} port ${probe.port}: ${problem}`.slice(0, 500)];
      }),
    );
    return { type: 'workload.probed', round, failures: problems.flat() };
  };
}
