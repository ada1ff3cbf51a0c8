/** Runs seeds one after another or in several threads, until enough has been simulated. */
import { Worker } from 'node:worker_threads';
import type { SimulationOptions } from '../../test/sim/simulation.ts';
import type { Tallied } from './tally.ts';

export interface SeedRun {
  readonly from: number;
  /** Whether enough seeds have begun. */
  readonly isEnough: (begun: number, done: readonly Tallied[]) => boolean;
  readonly optionsOf: (seed: number) => SimulationOptions;
  readonly onOutcome: (outcome: Tallied) => void;
}

type Runner = (options: SimulationOptions) => Promise<Tallied>;

async function take(run: SeedRun, runners: readonly Runner[]): Promise<void> {
  const done: Tallied[] = [];
  let begun = 0;
  const work = async (runner: Runner) => {
    while (!run.isEnough(begun, done)) {
      const outcome = await runner(run.optionsOf(run.from + begun++));
      done.push(outcome);
      run.onOutcome(outcome);
    }
  };
  await Promise.all(runners.map(work));
}

export const runHere = (run: SeedRun, runner: Runner): Promise<void> => take(run, [runner]);

/** @param feature absent: each seed's own, in turns */
export async function runInThreads(run: SeedRun, threads: number, feature?: string): Promise<void> {
  // Not with the conditions of a test runner, which choose packages' builds for development.
  const create = () => new Worker(new URL('./worker.ts', import.meta.url), { execArgv: [] });
  const workers = Array.from({ length: threads }, create);
  try {
    await take(
      run,
      workers.map((worker) => (options) => askWorker(worker, options, feature)),
    );
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

async function askWorker(worker: Worker, options: SimulationOptions, feature?: string): Promise<Tallied> {
  const { promise, resolve, reject } = Promise.withResolvers<Tallied>();
  worker.once('message', resolve).once('error', reject);
  worker.postMessage({ options, ...(feature === undefined ? {} : { feature }) });
  // Not all listeners: those of the worker itself pass its messages on.
  return promise.finally(() => worker.off('message', resolve).off('error', reject));
}
