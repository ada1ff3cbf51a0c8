/** Conditions: the time of the last transition, and the conditions of others. */
import { expect, test } from 'vitest';
import { dated, withCondition } from '../../../src/kube/api/conditions.ts';

const at = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const now = '2026-01-02T03:04:05Z';
const before = '2025-01-01T00:00:00Z';
const ready = { type: 'Ready', status: 'True', reason: 'Proven', message: 'all is well' };
const holding = (conditions: unknown) => ({ metadata: { name: 'a' }, status: { conditions } });

test.each([
  ['none stands there', [], now],
  ['the same status', [{ type: 'Ready', status: 'True', lastTransitionTime: before }], before],
  ['another status', [{ type: 'Ready', status: 'False', lastTransitionTime: before }], now],
  [
    'the same status of another condition',
    [{ type: 'Other', status: 'True', lastTransitionTime: before }],
    now,
  ],
  ['the same status without a time', [{ type: 'Ready', status: 'True', lastTransitionTime: null }], now],
  ['a list that is none', 'broken', now],
  ['an entry that is none', [null, 7], now],
])('where %s', (_, conditions, lastTransitionTime) => {
  expect(dated(holding(conditions), ready, at)).toEqual({ ...ready, lastTransitionTime });
});

test('an object without a status', () => {
  expect(dated({ metadata: { name: 'a' } }, ready, at).lastTransitionTime).toBe(now);
});

test('one condition takes its own place, and those of others stay', () => {
  const other = { type: 'Other', status: 'Unknown', extra: 1 };
  const object = holding([{ type: 'Ready', status: 'False' }, other]);
  expect(withCondition(object, ready, at)).toEqual([other, { ...ready, lastTransitionTime: now }]);
});
