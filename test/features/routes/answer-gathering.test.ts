/** How a round tells its actor whom it met. */
import { expect, test } from 'vitest';
import { createGathering } from '../../../src/features/routes/effects/answer-gathering.ts';
import { VirtualClock } from '../../virtual-clock.ts';

function started(isBusy = false) {
  const clock = new VirtualClock();
  const told: string[][] = [];
  const gathering = createGathering(
    clock,
    ({ ip, also = [] }) => void told.push([ip, ...also]),
    () => isBusy,
  );
  return { clock, told, ...gathering };
}

test('addresses within 50 ms of the first are told together, the next ones later and later', async () => {
  const { clock, told, add } = started();
  add('a');
  await clock.advance(49);
  add('b');
  expect(told).toEqual([]);
  await clock.advance(1);
  expect(told).toEqual([['a', 'b']]);
  add('c');
  await clock.advance(99);
  expect(told).toHaveLength(1);
  await clock.advance(1);
  expect(told).toEqual([['a', 'b'], ['c']]);
});

test('where rounds wait for each other the first is told at once, the next ones each five seconds', async () => {
  const { clock, told, add } = started(true);
  add('a');
  add('b');
  await clock.advance(4_999);
  expect(told).toEqual([['a']]);
  await clock.advance(1);
  add('c');
  expect(told).toEqual([['a'], ['b']]);
  await clock.advance(10_000);
  add('d');
  expect(told).toEqual([['a'], ['b'], ['c'], ['d']]);
});

test('the end of the round takes along what was met and not told, and nothing is told after it', async () => {
  const { clock, told, add, end } = started();
  const heardAt = clock.now();
  add('a');
  add('b', 'uid');
  expect(end()).toEqual({ ip: 'a', also: ['b'], pods: { b: 'uid' }, heardAt });
  expect(end()).toBeNull();
  await clock.advance(1_000);
  expect(told).toEqual([]);
});

test('a word holds 24 addresses at most: so many messages fit into an outbox', () => {
  const { told, add, end } = started();
  for (let n = 0; n < 60; n++) add(`${n}`);
  const last = end();
  expect([...told.flat(), last?.ip, ...(last?.also ?? [])]).toHaveLength(60);
  expect(Math.max(...told.map(({ length }) => length))).toBe(24);
});
