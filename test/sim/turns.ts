/** Whose turn a seed is: routes and the other features share the seeds. */
import { featureSimulations } from './features/all.ts';
import { simulateFeature } from './features/feature-simulation.ts';
import { type Outcome, type SimulationOptions, simulate } from './simulation.ts';

/** The feature of routes has the first simulation, with a mirror of its own. */
const routes = 'routes';

export const simulatedFeatures: readonly string[] = [routes, ...featureSimulations.map(({ name }) => name)];

/**
 * @param name of a feature; absent: the one whose turn it is. @throws Error for one that has no simulation
 */
export function simulateTurn(options: SimulationOptions, name = turnOf(options.seed)): Promise<Outcome> {
  if (name === routes) return simulate(options);
  const simulation = featureSimulations.find((one) => one.name === name);
  if (!simulation)
    throw new Error(`no simulation is called ${name}; there are ${simulatedFeatures.join(', ')}`);
  return simulateFeature(simulation, options);
}

export function turnOf(seed: number): string {
  return simulatedFeatures[seed % simulatedFeatures.length] ?? routes;
}
