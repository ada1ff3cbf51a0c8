import { expect, test } from 'vitest';
import { leaseClock } from '../../../src/actors/time/lease-clock.ts';

function scene() {
  const at = { wall: 1_700_000_000_000, steady: 5 };
  const after = () => ({ cancel() {} });
  return { at, clock: leaseClock({ now: () => at.wall, monotonic: () => at.steady, after }) };
}

test('it goes with monotonic time, whatever wall time does meanwhile', () => {
  const { at, clock } = scene();
  const start = clock.now();
  at.steady += 10_000;
  at.wall -= 3_600_000;
  expect(clock.now() - start).toBe(10_000);
  at.steady += 1_000;
  at.wall += 1_000;
  expect(clock.now() - start).toBe(11_000);
});

test('a suspension, in which monotonic time stands still, counts', () => {
  const { at, clock } = scene();
  const start = clock.now();
  at.wall += 60_000;
  expect(clock.now() - start).toBe(60_000);
  at.wall += 1_000;
  at.steady += 1_000;
  expect(clock.now() - start).toBe(61_000);
});

test('readings that differ by little do not add up', () => {
  const { at, clock } = scene();
  const start = clock.now();
  for (let n = 0; n < 1_000; n++) {
    at.steady += 0.6;
    at.wall += n % 2;
    clock.now();
  }
  expect(clock.now() - start).toBe(600);
});
