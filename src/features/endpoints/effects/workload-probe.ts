/**
 * Effect `workload.probe`: calls each address of a workload once, all at the same time (reach.ts).
 *
 * Promise: only permitted addresses are called (docs/features/endpoints.md §8.7), because the author of a
 * workload must not be able to make Orrery call itself, its node, or a cloud's metadata service.
 */

import { isIP } from 'node:net';
import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { Clock } from '../../../base/clock.ts';
import { type Cidr, inNetworks } from '../../../base/config-values.ts';
import type { WorkloadProbeRun } from '../../../machines/workload/workload-effects.ts';
import { reach } from '../reach.ts';

/** What Kubernetes forbids in EndpointSlices, and addresses that belong to nobody. */
const neverByDefault: readonly Cidr[] = [
  { address: '0.0.0.0', prefix: 8 },
  { address: '127.0.0.0', prefix: 8 },
  { address: '169.254.0.0', prefix: 16 },
  { address: '224.0.0.0', prefix: 4 },
  { address: '::', prefix: 127 },
  { address: 'fe80::', prefix: 10 },
  { address: 'ff00::', prefix: 8 },
];

/** @param cidrs null: all but loopback, link-local, multicast and unspecified addresses */
export function mayBeProbed(cidrs: readonly Cidr[] | null): (address: string) => boolean {
  if (cidrs !== null) return inNetworks(cidrs);
  const isRefused = inNetworks(neverByDefault);
  return (address) => isIP(address) !== 0 && !isRefused(address);
}

/**
 * Outcome: workload.probed.
 * @param mayCall which addresses may be called
 */
export function probeWorkload(
  clock: Clock,
  mayCall: (address: string) => boolean,
): EffectRunner<WorkloadProbeRun> {
  return async ({ round, addresses, probe }, { signal }) => {
    const problems = await Promise.all(
      addresses.map(async (address) => {
        const problem = mayCall(address)
          ? await reach({ ...probe, address }, clock, signal)
          : 'this address may not be probed (--probe-cidrs)';
        return problem === null ? [] : [`${address} port ${probe.port}: ${problem}`.slice(0, 500)];
      }),
    );
    return { type: 'workload.probed', round, failures: problems.flat() };
  };
}
