/**
 * The simulation on 200 seeds, which the features share: replicas that die, pause and are cut off, a broker
 * that goes away, messages that are lost, repeated and late, saves of unknown outcome; the checkers look at
 * every step. Any number of seeds: `npm run sim -- --seeds 10000`.
 *
 * In one thread, beside the other files of the run: each further thread compiles the program for itself.
 */
import { expect, test } from 'vitest';
import { runInThreads } from '../../scripts/sim/seeds.ts';

const seeds = 200;

// They take 90 s of a processor, so only what hangs takes that long, also on a busy machine.
test('200 seeds break no promise', { timeout: 600_000 }, async () => {
  const seen = new Set<number>();
  await runInThreads(
    {
      from: 1,
      isEnough: (begun) => begun >= seeds,
      optionsOf: (seed) => ({ seed, chaosMs: 30_000 }),
      onOutcome: ({ seed, breach }) => {
        seen.add(seed);
        expect(
          breach,
          `seed ${seed}; repeat it with: npm run sim -- --from ${seed} --seeds 1 --trace`,
        ).toBeNull();
      },
    },
    1,
  );
  expect(seen.size).toBe(seeds);
});
