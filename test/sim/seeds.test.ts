/**
 * The simulation on 200 seeds, which the features share: replicas that die, pause and are cut off, a broker
 * that goes away, messages that are lost, repeated and late, saves of unknown outcome; the checkers look at
 * every step. Any number of seeds: `npm run sim -- --seeds 10000`.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { simulateTurn } from './turns.ts';

const seedsEach = 25;
const firsts = Array.from({ length: 8 }, (_, n) => 1 + n * seedsEach);

// Stacks of errors are a tenth of the work; a seed is repeated with its trace by scripts/sim.ts.
const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 0;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

// Each takes 8 s of a processor, so only what hangs takes that long, also on a busy machine.
test.each(firsts)('25 seeds from %i on break no promise', { timeout: 600_000 }, async (first) => {
  for (let seed = first; seed < first + seedsEach; seed++) {
    const { breach } = await simulateTurn({ seed, chaosMs: 30_000 });
    expect(
      breach,
      `seed ${seed}; repeat it with: npm run sim -- --from ${seed} --seeds 1 --trace`,
    ).toBeNull();
  }
});
