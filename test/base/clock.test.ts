/** Looks that are due once a period share their wake-up. */
import { expect, test } from 'vitest';
import { untilNextBeat } from '../../src/base/clock.ts';
import { VirtualClock } from '../virtual-clock.ts';

const at = (monotonic: number) => untilNextBeat({ monotonic: () => monotonic }, 1_000);

test('whoever asks at whatever moment waits until the same one', () => {
  expect([7_200, 7_200.3, 7_500, 7_899].map((now) => Math.round(now + at(now)))).toEqual([
    ...[8_000, 8_000, 8_000, 8_000],
  ]);
});

test('a timer that fires a little early is not followed by another at once', () => {
  expect([7_999.4, 7_950].map((now) => Math.round(now + at(now)))).toEqual([9_000, 9_000]);
});

test('looks that began apart soon come together, once a second each', async () => {
  const clock = new VirtualClock();
  const looks: number[][] = [[], []];
  const look = (mine: number[] | undefined) => {
    mine?.push(clock.monotonic());
    clock.after(untilNextBeat(clock, 1_000), () => look(mine));
  };
  for (const mine of looks) {
    look(mine);
    await clock.advance(370);
  }
  await clock.advance(10_000);
  const [first = [], second = []] = looks.map((times) => times.slice(1));
  expect(second).toEqual(first);
  expect(first).toHaveLength(10);
});
