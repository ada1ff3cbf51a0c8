/** Simulated time: what only repeats itself does not hold it up, and nothing else comes late. */
import { expect, test } from 'vitest';
import { SimClock } from '../../packages/testing/time/sim-clock.ts';

function beating(isIdle: () => boolean) {
  const clock = new SimClock();
  let beats = 0;
  const beat = () => {
    beats++;
    clock.rhythm(500, beat);
  };
  beat();
  clock.skipWhile(isIdle);
  return { clock, beats: () => beats };
}

test('an hour in which nothing but heartbeats happens costs a few of them', async () => {
  const { clock, beats } = beating(() => true);
  await clock.run(3_600_000);
  expect(clock.monotonic()).toBe(3_600_000);
  expect(clock.passedMs()).toBe(3_600_000);
  expect(beats()).toBeLessThan(10);
});

test('what somebody waits for comes at its time, with heartbeats just before it', async () => {
  const { clock, beats } = beating(() => true);
  const heard: Array<readonly [at: number, beats: number]> = [];
  for (const at of [60_000, 60_300, 1_800_000])
    clock.after(at, () => heard.push([clock.monotonic(), beats()]));
  clock.after(900_000, () => {}).cancel();
  await clock.run(3_600_000);
  expect(heard.map(([at]) => at)).toEqual([60_000, 60_300, 1_800_000]);
  const [first = 0, , third = 0] = heard.map(([, count]) => count);
  expect(first).toBeGreaterThan(2);
  expect(third).toBeGreaterThan(first);
});

test('while something goes on every heartbeat is heard', async () => {
  const { clock, beats } = beating(() => false);
  await clock.run(10_000);
  expect(beats()).toBe(21);
});
