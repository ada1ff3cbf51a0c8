/**
 * Runs one seed and reports what happened in it. An unhandled rejection counts as a broken promise.
 */
import { asError } from '../../src/base/errors.ts';
import type { Outcome, SimulationOptions } from '../../test/sim/simulation.ts';
import { simulateTurn, turnOf } from '../../test/sim/turns.ts';
import { createTally, type Tallied } from './tally.ts';

let stray: Error | null = null;
process.on('unhandledRejection', (reason) => {
  stray ??= asError(reason);
});

/** @param feature absent: the seed's own, in turns */
export async function runSeed(options: SimulationOptions, feature = turnOf(options.seed)): Promise<Tallied> {
  const tally = createTally();
  const onSighting: SimulationOptions['onSighting'] = (atMs, sighting) => {
    tally.see(sighting);
    options.onSighting?.(atMs, sighting);
  };
  const outcome = await simulateTurn({ ...options, onSighting }, feature).catch((thrown) =>
    fallen(options.seed, asError(thrown)),
  );
  // The transitions stay here: nobody outside reads them, and many hours have many.
  const tallied: Tallied = { ...outcome, transitions: [], feature, done: tally.done };
  if (stray === null || outcome.breach !== null) return tallied;
  const text = `a rejection that nobody handled: ${stray.stack}`;
  stray = null;
  return { ...tallied, breach: { promise: 'I8', text, atMs: Math.round(outcome.simulatedMs) } };
}

/** A failure of the simulation itself is a finding too, and no reason to skip the other seeds. */
function fallen(seed: number, error: Error): Outcome {
  const breach = { promise: 'I8', text: `an error ended the simulation: ${error.stack}`, atMs: 0 };
  const nothing = { simulatedMs: 0, checks: 0, steps: 0, transitions: [], kinds: [], fingerprint: '' };
  return { seed, profile: '', breach, ...nothing };
}
