/** Simulated time: what only repeats itself goes slowly in peace, and nothing else comes late. */
import { expect, test } from 'vitest';
import { createLane } from '../../packages/testing/time/lane.ts';
import { SimClock } from '../../packages/testing/time/sim-clock.ts';

function beating(isSteady: () => boolean) {
  const clock = new SimClock();
  let beats = 0;
  const beat = () => {
    beats++;
    clock.rhythms.after(200, beat);
  };
  beat();
  clock.slowWhile(isSteady);
  return { clock, beats: () => beats };
}

test('an hour in which nothing but heartbeats happens costs a fortieth of them', async () => {
  const { clock, beats } = beating(() => true);
  await clock.run(3_600_000);
  expect(clock.monotonic()).toBe(3_600_000);
  expect(clock.passedMs()).toBe(3_600_000);
  expect(beats()).toBe(451);
});

test('what somebody waits for comes at its time, however slow the heartbeats are', async () => {
  const { clock } = beating(() => true);
  const heard: number[] = [];
  for (const at of [60_000, 60_300, 1_800_000]) clock.after(at, () => heard.push(clock.monotonic()));
  clock.after(900_000, () => {}).cancel();
  await clock.run(3_600_000);
  expect(heard).toEqual([60_000, 60_300, 1_800_000]);
});

test('while something goes on every heartbeat is heard', async () => {
  const { clock, beats } = beating(() => false);
  await clock.run(10_000);
  expect(beats()).toBe(51);
});

test('by their own time heartbeats are never late, whenever peace begins and ends', async () => {
  let isSteady = false;
  const { clock } = beating(() => isSteady);
  const pauses: number[] = [];
  let before = clock.rhythms.monotonic();
  const look = () => {
    pauses.push(clock.rhythms.monotonic() - before);
    before = clock.rhythms.monotonic();
    clock.rhythms.after(1_000, look);
  };
  clock.rhythms.after(1_000, look);
  for (const ms of [700, 31_000, 3_300, 90_000]) {
    await clock.run(ms);
    isSteady = !isSteady;
  }
  expect(pauses).toHaveLength(7);
  for (const pause of pauses) expect(pause).toBeCloseTo(1_000, 6);
});

test('on a lane nothing overtakes, and what a slow one kept back arrives with it', async () => {
  const clock = new SimClock();
  const arrived: string[] = [];
  const lane = createLane(clock, (fn) => fn());
  const send = (delayMs: number, name: string) =>
    lane(delayMs, () => arrived.push(`${name} ${clock.monotonic()}`));
  send(5, 'quick');
  send(900, 'slow');
  send(1, 'behind');
  lane(0, () => send(50, 'answer'));
  await clock.run(899);
  expect(arrived).toEqual(['quick 5']);
  await clock.run(1_000);
  expect(arrived).toEqual(['quick 5', 'slow 900', 'behind 900', 'answer 950']);
});
