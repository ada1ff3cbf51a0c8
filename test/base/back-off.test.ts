/** A trouble that lasts is told at once, then less and less often. */
import { expect, test } from 'vitest';
import { createRepeats } from '../../src/base/back-off.ts';

test('a trouble of a week is some thousand lines, however often it is met', () => {
  let now = 0;
  const repeats = createRepeats({ monotonic: () => now });
  const told: number[] = [];
  for (; now < 7 * 86_400_000; now += 1_000) if (repeats.isDue()) told.push(now / 1_000);
  expect(told.slice(0, 5)).toEqual([0, 10, 30, 70, 150]);
  expect(told.length).toBeLessThan(1_100);
  expect([repeats.over(), repeats.over()]).toEqual([true, false]);
});

test('after a minute without it, it is told at once again', () => {
  let now = 0;
  const repeats = createRepeats({ monotonic: () => now });
  for (; now < 100_000; now += 1_000) repeats.isDue();
  expect(repeats.isDue()).toBe(false);
  now += 61_000;
  expect(repeats.isDue()).toBe(true);
});
