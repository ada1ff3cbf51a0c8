/** The time since the machine started is kept for a moment, but not across a sleep of the machine. */
import { expect, test } from 'vitest';
import { remembered } from '../../../src/actors/time/machine-clock.ts';

test('a sleep in which monotonic time stood still is seen at once; in between one reading serves', () => {
  let [wall, monotonic, boot, readings] = [1_000_000, 0, 50_000, 0];
  const read = () => {
    readings++;
    return boot;
  };
  const sinceBoot = remembered(read, { now: () => wall, monotonic: () => monotonic });
  expect(sinceBoot()).toBe(50_000);
  [wall, monotonic, boot] = [1_000_005, 5, 50_005];
  expect(sinceBoot()).toBe(50_005);
  expect(readings).toBe(1);
  [wall, monotonic, boot] = [1_018_006, 6, 68_006];
  expect(sinceBoot()).toBe(68_006);
  expect(readings).toBe(2);
});
