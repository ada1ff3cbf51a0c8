/** How a round tells its actor whom it met. */
import { expect, test } from 'vitest';
import { createGathering } from '../../../src/features/routes/effects/answer-gathering.ts';
import { VirtualClock } from '../../virtual-clock.ts';

function started() {
  const clock = new VirtualClock();
  const told: string[][] = [];
  const gathering = createGathering(clock, (first, also) => void told.push([first, ...also]));
  return { clock, told, ...gathering };
}

test('the first address is told at once, those within 50 ms of it together', async () => {
  const { clock, told, add } = started();
  add('a');
  expect(told).toEqual([['a']]);
  add('b');
  await clock.advance(49);
  add('c');
  expect(told).toEqual([['a']]);
  await clock.advance(1);
  expect(told).toEqual([['a'], ['b', 'c']]);
});

test('one that comes after a quiet moment is told at once again', async () => {
  const { clock, told, add } = started();
  add('a');
  await clock.advance(50);
  add('b');
  expect(told).toEqual([['a'], ['b']]);
});

test('what was met and not told is told at the end, and nothing after it', async () => {
  const { clock, told, add, end } = started();
  add('a');
  add('b');
  end();
  expect(told).toEqual([['a'], ['b']]);
  await clock.advance(1_000);
  expect(told).toHaveLength(2);
});

test('a word holds 24 addresses at most: so many messages fit into an outbox', () => {
  const { told, add, end } = started();
  for (let n = 0; n < 60; n++) add(`${n}`);
  end();
  expect(told.flat()).toHaveLength(60);
  expect(Math.max(...told.map(({ length }) => length))).toBe(24);
});
