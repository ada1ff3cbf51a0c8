/** A worker thread that runs the seeds it is given. */
import { parentPort } from 'node:worker_threads';
import type { SimulationOptions } from '../../test/sim/simulation.ts';
import { runSeed } from './one-seed.ts';

// Stacks of errors are a tenth of the work; a seed is repeated with its trace in one thread.
Error.stackTraceLimit = 0;

parentPort?.on('message', ({ options, feature }: { options: SimulationOptions; feature?: string }) => {
  void runSeed(options, feature).then((outcome) => parentPort?.postMessage(outcome));
});
