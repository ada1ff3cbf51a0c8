/** Times as people type them at night, and as they are printed. */
import { describe, expect, test } from 'vitest';
import { shownTime } from '../../../src/base/words.ts';
import { readEnd, readTime } from '../../../src/cli/events/event-times.ts';

const now = Date.parse('2026-11-22T02:00:00Z');
const iso = (text: string) => new Date(readTime('--from', text, now, true)).toISOString();

describe('a time that is typed', () => {
  test.each([
    ['01:10', '2026-11-22T01:10:00.000Z'],
    ['02:00', '2026-11-22T02:00:00.000Z'],
    ['3:12', '2026-11-21T03:12:00.000Z'],
    ['23:59:58', '2026-11-21T23:59:58.000Z'],
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['2026-11-20T03:12', '2026-11-20T03:12:00.000Z'],
    ['2026-11-20 03:12:05', '2026-11-20T03:12:05.000Z'],
    ['2026-11-20T03:12+01:00', '2026-11-20T02:12:00.000Z'],
    ['15m', '2026-11-22T01:45:00.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(iso(text)).toBe(expected);
  });

  test.each(['24:00', '12:60', 'noon', '', '2026-13-01', '12'])(
    '%j is refused, with what is right',
    (text) => {
      expect(() => iso(text)).toThrow(/--from: .* is not allowed; allowed: a time such as 03:12/);
    },
  );
});

test('a time is printed with its zone', () => {
  expect(shownTime(now + 5_123, true)).toBe('2026-11-22 02:00:05.123 UTC');
  expect(shownTime(now, false)).toMatch(/^2026-11-2\d \d\d:00:00\.000 [+-]\d\d:\d\d$/);
});

test('a time of day that ends what began before it is the next one, though it is to come', () => {
  const from = Date.parse('2026-11-22T01:59:00Z');
  const end = (text: string) => new Date(readEnd(text, { now, from, isUtc: true })).toISOString();
  expect(end('02:01')).toBe('2026-11-22T02:01:00.000Z');
  expect(end('01:59:30')).toBe('2026-11-22T01:59:30.000Z');
});
