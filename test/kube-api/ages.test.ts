import { describe, expect, test } from 'vitest';
import { age, humanDuration } from '../../packages/kube-api/tables/ages.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

describe('how long ago', () => {
  test.each([
    [-5 * second, '<invalid>'],
    [-1 * second, '0s'],
    [0, '0s'],
    [119.9 * second, '119s'],
    [2 * minute, '2m'],
    [9 * minute + 59 * second, '9m59s'],
    [10 * minute + 30 * second, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [7 * hour + 59 * minute, '7h59m'],
    [8 * hour + 30 * minute, '8h'],
    [47 * hour, '47h'],
    [2 * day, '2d'],
    [2 * day + 5 * hour, '2d5h'],
    [8 * day + 5 * hour, '8d'],
    [729 * day, '729d'],
    [2 * year, '2y'],
    [2 * year + 30 * day, '2y30d'],
    [8 * year + 30 * day, '8y'],
  ])('%d ms is %s', (ms, text) => {
    expect(humanDuration(ms)).toBe(text);
  });

  test('what is no time is unknown', () => {
    expect(age('', 0)).toBe('<unknown>');
    expect(age('1970-01-01T00:00:00Z', 5 * second)).toBe('5s');
  });
});
