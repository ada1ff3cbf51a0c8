/** Tables in a terminal: what stands under what, and that a long one costs what its text does. */
import { styleText } from 'node:util';
import { expect, test } from 'vitest';
import { table } from '../../src/cli/text-table.ts';

test('columns are as wide as their widest cell, and no line ends with a space', () => {
  const rows = [
    ['pod/shop/web-0', 'ok', ''],
    ['node/a', 'wrong', 'held back'],
  ];
  expect(table(['ACTOR', 'HEALTH', 'REASON'], rows)).toBe(
    'ACTOR            HEALTH   REASON\npod/shop/web-0   ok\nnode/a           wrong    held back\n',
  );
});

test('colours take no place', () => {
  const red = styleText('red', 'wrong', { validateStream: false });
  expect(table(['HEALTH', 'X'], [[red, 'y']])).toBe(`HEALTH   X\n${red}    y\n`);
});

test.each([
  ['日本', 'two cells each'],
  ['👍👍', 'pictures too'],
  ['e\u0301te\u0301', 'an accent stands on its letter'],
  ['… →', 'other signs are one'],
])('%s: %s', (cell) => {
  const width = { 日本: 4, '👍👍': 4, 'e\u0301te\u0301': 3, '… →': 3 }[cell] ?? 0;
  expect(table(['HEAD', 'X'], [[cell, 'y']])).toBe(`HEAD   X\n${cell}${' '.repeat(4 - width + 3)}y\n`);
});

test('a cell with line feeds stays in its row', () => {
  expect(table(['A', 'B'], [['one\r\ntwo', 'x']])).toBe('A         B\none two   x\n');
});

test('a row may be shorter or longer than the heading; without rows the heading stands alone', () => {
  expect(table(['A', 'B'], [['a'], ['a', 'b', 'c']])).toBe('A   B\na\na   b   c\n');
  expect(table(['A'], [])).toBe('A\n');
});
