/**
 * Features that somebody wrote for their own use, in the simulation that `orrery/testing` has for them: those
 * of the examples, as data beside each. They import the package by its name, as their users do.
 */
import '../../examples/own-package.mjs';
import { type FaultKind, faultKinds } from '../../../packages/testing/simulation/fault-kinds.ts';
import { type Simulation, simulateTold } from '../../../packages/testing/simulation/simulate.ts';
import type { Outcome, SimulationOptions } from '../simulation.ts';

/** Loaded when its turn comes: only then does the package's name lead to these sources. */
const own: Readonly<Record<string, () => Promise<Simulation>>> = {
  'node-drain': async () => (await import('../../../examples/node-drain/simulation.ts')).simulation,
};

export const ownFeatures: readonly string[] = Object.keys(own);

/** null: no feature has that name. */
export async function simulateOwn(name: string, options: SimulationOptions): Promise<Outcome | null> {
  const simulation = await own[name]?.();
  if (simulation === undefined) return null;
  const { seed, chaosMs, lullMs, onSighting } = options;
  const left = new Set<string>([...(options.without ?? []), ...(simulation.without ?? [])]);
  const without = faultKinds.filter((kind) => left.has(kind));
  const told = {
    ...{ seed, chaos: chaosMs },
    ...(lullMs === undefined ? {} : { lullMs }),
    ...(onSighting === undefined ? {} : { onSighting }),
  };
  const outcome = await simulateTold({ ...simulation, without }, told);
  const kinds: readonly FaultKind[] = faultKinds.filter((kind) => !left.has(kind));
  // The package does not count how often its checkers look.
  return { ...outcome, profile: name, kinds, checks: 0 };
}
