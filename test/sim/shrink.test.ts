/** A seed that breaks a promise is reduced to the fewest kinds of fault and the least time that break it. */
import { expect, test } from 'vitest';
import { shrink } from '../../scripts/sim/shrink.ts';
import type { Outcome, SimulationOptions } from './simulation.ts';

const kinds = ['kill', 'pause', 'cut', 'twin', 'storeFull'];

/** Breaks at 12 s if these kinds are on and there is enough time. */
function breaking(needed: readonly string[], promise = 'I2') {
  return (options: SimulationOptions): Promise<Outcome> => {
    const on = kinds.filter((kind) => !options.without?.includes(kind));
    const isBroken = needed.every((kind) => on.includes(kind)) && options.chaosMs >= 12_000;
    const breach = isBroken ? { promise, text: 'broken', atMs: 12_000 } : null;
    const told = { steps: 1, transitions: [], fingerprint: '', profile: '', simulatedMs: 0, checks: 0 };
    return Promise.resolve({ ...told, seed: options.seed, kinds: on, breach });
  };
}

const options = { seed: 7, chaosMs: 1_800_000 };

test('only what is needed stays', async () => {
  const run = breaking(['pause', 'twin']);
  const small = await shrink(options, await run(options), run);
  expect(small.outcome.kinds).toEqual(['pause', 'twin']);
  expect(small.options.chaosMs).toBe(12_500);
  expect((await run(small.options)).breach).toEqual(small.outcome.breach);
});

test('another promise that breaks instead is no smaller form of this one', async () => {
  const first = await breaking(['pause'])(options);
  const small = await shrink(options, first, breaking([], 'I5'));
  expect(small.options).toEqual(options);
  expect(small.outcome).toBe(first);
});
