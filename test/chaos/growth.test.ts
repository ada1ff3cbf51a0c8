/** When a measured thing counts as grown. */
import { expect, test } from 'vitest';
import { growthLine } from './growth.ts';

const rising = (from: number, step: number) => Array.from({ length: 30 }, (_, n) => from + n * step);

test.each([
  ['a heap that swings', 'MB', rising(0, 1).map((n) => 60 + (n % 6) * 15), 'flat'],
  ['a heap that grows by a third', 'MB', rising(60, 1), 'grown'],
  ['a small heap that grows by little', 'MB', rising(10, 0.2), 'flat'],
  ['sockets that leak', '', rising(20, 1), 'grown'],
  ['sockets that stay', '', rising(20, 0), 'flat'],
] as const)('%s', (what, unit, values, how) => {
  expect(growthLine(what, { values: [...values], unit })).toMatch(new RegExp(`: ${how}$`));
});

test('a few values say nothing', () => {
  expect(growthLine('heap', { values: rising(1, 1).slice(0, 11), unit: 'MB' })).toBeNull();
});
