/**
 * Effect `workload.probe`: calls each address of a workload once, all at the same time (reach.ts).
 *
 * Promises: only permitted addresses are called (docs/features/endpoints.md §8.7), because the author of a
 * workload must not be able to make Orrery call itself or a cloud's metadata service. One namespace has a
 * limited number of rounds in progress, and a round that has no turn in time has no result (§8.8).
 */

import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { Clock } from '../../../base/clock.ts';
import { type Cidr, inNetworks } from '../../../base/config-values.ts';
import type { WorkloadProbeRun } from '../../../machines/workload/workload-effects.ts';
import { reach } from '../reach.ts';
import { createProbeTurns, noTurnText } from './probe-turns.ts';

/**
 * What Kubernetes forbids in EndpointSlices, addresses that belong to nobody, and those at which clouds tell
 * a machine its credentials, though they look like any other: AWS and Google over IPv6, Azure, Alibaba,
 * Oracle.
 */
const neverByDefault: readonly Cidr[] = [
  { address: '0.0.0.0', prefix: 8 },
  { address: '127.0.0.0', prefix: 8 },
  { address: '169.254.0.0', prefix: 16 },
  { address: '224.0.0.0', prefix: 4 },
  // Nobody's, loopback, and IPv4 addresses in a form that nobody uses any more.
  { address: '::', prefix: 96 },
  { address: 'fe80::', prefix: 10 },
  { address: 'ff00::', prefix: 8 },
  { address: '255.255.255.255', prefix: 32 },
  { address: 'fd00:ec2::254', prefix: 128 },
  { address: 'fd20:ce::254', prefix: 128 },
  { address: '168.63.129.16', prefix: 32 },
  { address: '100.100.100.200', prefix: 32 },
  { address: '192.0.0.192', prefix: 32 },
];
const nat64 = inNetworks([{ address: '64:ff9b::', prefix: 96 }]);

/** @param cidrs null: all addresses but those above */
export function mayBeProbed(cidrs: readonly Cidr[] | null): (address: string) => boolean {
  if (cidrs !== null) return inNetworks(cidrs);
  const isRefused = inNetworks(neverByDefault);
  return (address) => isIP(address) !== 0 && !isRefused(address) && !isRefused(behindNat64(address));
}

/** The IPv4 address that a NAT64 gateway calls for this one; or this one. */
function behindNat64(address: string): string {
  if (!nat64(address)) return address;
  return new ipaddr.IPv4(ipaddr.IPv6.parse(address).toByteArray().slice(-4)).toString();
}

/**
 * Outcome: workload.probed, or workload.unprobed if the round had no turn.
 * @param mayCall which addresses may be called
 */
export function probeWorkload(
  clock: Clock,
  mayCall: (address: string) => boolean,
): EffectRunner<WorkloadProbeRun> {
  const turns = createProbeTurns(clock);
  return async ({ round, addresses, probe }, { actor, signal }) => {
    const namespace = actor.split('/', 2)[1] ?? '';
    const turn = await turns.take(namespace, signal);
    if (turn === null) return { type: 'workload.unprobed', round, message: noTurnText(namespace) };
    try {
      return { type: 'workload.probed', round, failures: await failuresOf(addresses, probe, signal) };
    } finally {
      turn.end();
    }
  };

  async function failuresOf(
    addresses: readonly string[],
    probe: WorkloadProbeRun['probe'],
    signal: AbortSignal,
  ): Promise<string[]> {
    const problems = await Promise.all(
      addresses.map(async (address) => {
        const problem = mayCall(address)
          ? await reach({ ...probe, address }, clock, signal)
          : 'this address may not be probed (--probe-cidrs)';
        return problem === null ? [] : [`${address} port ${probe.port}: ${problem}`.slice(0, 500)];
      }),
    );
    return problems.flat();
  }
}
