/** Seeds in several threads (`npm run sim -- --threads 2`): each thread runs one after another. */
import { expect, test } from 'vitest';
import { runInThreads } from '../../scripts/sim/seeds.ts';

test('a thread that has run a seed runs the next', { timeout: 60_000 }, async () => {
  const seen: number[] = [];
  await runInThreads(
    {
      from: 1,
      isEnough: (begun) => begun >= 4,
      optionsOf: (seed) => ({ seed, chaosMs: 1_000, without: [] }),
      onOutcome: ({ seed, breach }) => {
        expect(breach).toBeNull();
        seen.push(seed);
      },
    },
    2,
  );
  expect(seen.sort()).toEqual([1, 2, 3, 4]);
});
