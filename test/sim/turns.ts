/** The feature whose turn a seed is: routes and the other features share the seeds. */
import { featureSimulations } from './features/all.ts';
import { simulateFeature } from './features/feature-simulation.ts';
import { ownFeatures, simulateOwn } from './own/own-features.ts';
import { type Outcome, type SimulationOptions, simulate } from './simulation.ts';

/** Routes have the first simulation, with a mirror of its own. */
const routes = 'routes';

export const simulatedFeatures: readonly string[] = [
  routes,
  ...featureSimulations.map(({ name }) => name),
  ...ownFeatures,
];

/** The turns, again and again: routes have every fifth, because most of the engine shows there. */
const turns: readonly string[] = [
  ...[routes, 'elections', 'certificates', 'endpoints', 'releases'],
  ...[routes, 'elections', 'certificates', 'endpoints', 'releases'],
  ...[routes, 'routegates', 'proxiers', ...ownFeatures, 'releases'],
];

/**
 * @param name of a feature; absent: the one whose turn it is
 * @throws Error for one without a simulation
 */
export async function simulateTurn(
  options: SimulationOptions,
  name = turnOf(options.seed),
): Promise<Outcome> {
  if (name === routes) return simulate(options);
  const simulation = featureSimulations.find((one) => one.name === name);
  if (simulation !== undefined) return simulateFeature(simulation, options);
  const outcome = await simulateOwn(name, options);
  if (outcome === null)
    throw new Error(`no simulation is called ${name}; there are ${simulatedFeatures.join(', ')}`);
  return outcome;
}

export function turnOf(seed: number): string {
  return turns[seed % turns.length] ?? routes;
}
