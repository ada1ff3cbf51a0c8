/** One seed, with a rejection that nobody handled as a broken promise like any other. */
import { asError } from '../../src/base/errors.ts';
import type { Outcome, SimulationOptions } from '../../test/sim/simulation.ts';
import { simulateTurn } from '../../test/sim/turns.ts';

let stray: Error | null = null;
process.on('unhandledRejection', (reason) => {
  stray ??= asError(reason);
});

/** @param feature absent: the one whose turn it is */
export async function runSeed(options: SimulationOptions, feature?: string): Promise<Outcome> {
  const outcome = await simulateTurn(options, feature);
  if (stray === null || outcome.breach !== null) return outcome;
  const text = `a rejection that nobody handled: ${stray.stack}`;
  stray = null;
  return { ...outcome, breach: { promise: 'I8', text, atMs: Math.round(outcome.simulatedMs) } };
}
