/** The features with a simulation of their own; routes have the first one (simulation.ts). */
import { certificateSimulation } from '../certificates/certificate-world.ts';
import { electionSimulation } from '../elections/election-world.ts';
import { endpointSimulation } from '../endpoints/endpoint-world.ts';
import { proxierSimulation } from '../proxiers/proxier-world.ts';
import { releaseSimulation } from '../releases/release-world.ts';
import { gateSimulation } from '../routegates/gate-world.ts';
import type { FeatureSimulation } from './feature-world.ts';

export const featureSimulations: readonly FeatureSimulation[] = [
  electionSimulation,
  certificateSimulation,
  endpointSimulation,
  releaseSimulation,
  gateSimulation,
  proxierSimulation,
];
