/** A simulation that is over keeps nothing alive: hundreds of them follow each other in one process. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { simulatedFeatures, simulateTurn } from './turns.ts';

setFlagsFromString('--expose-gc');
const gc: () => void = runInNewContext('gc');

/** @returns what was saved in it */
async function recordsOf(
  feature: string,
  seed: number,
  chaosMs: number,
): Promise<readonly WeakRef<object>[]> {
  const saved: WeakRef<object>[] = [];
  await simulateTurn(
    {
      seed,
      chaosMs,
      onSighting: (_atMs, sighting) => {
        if (sighting.kind === 'saved') saved.push(new WeakRef(sighting.record));
      },
    },
    feature,
  );
  return saved;
}

test.each(simulatedFeatures)('%s', async (feature) => {
  const saved = await recordsOf(feature, 3, 60_000);
  expect(saved.length).toBeGreaterThan(10);
  // Of the last one something may be on the stack.
  await recordsOf(feature, 1, 1_000);
  for (let n = 0; n < 3; n++) {
    gc();
    await sleep(systemClock, 10);
  }
  expect(saved.filter((one) => one.deref() !== undefined).length).toBe(0);
});
