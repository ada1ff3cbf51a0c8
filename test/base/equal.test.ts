/** Plain values that are equal in part are held once in that part. */
import { expect, test } from 'vitest';
import { equal, shareEqual } from '../../src/base/equal.ts';

const known = {
  uid: 'a',
  labels: { app: 'web', tier: 'db' },
  ports: [{ name: 'http', port: 80 }],
  endpoints: [
    { ip: '10.0.0.1', conditions: { ready: true } },
    { ip: '10.0.0.2', conditions: { ready: true } },
  ],
};

test('what is equal is taken from the known value, at any depth; what differs stays', () => {
  const next = structuredClone(known);
  next.uid = 'b';
  (next.endpoints[1] as { ip: string }).ip = '10.0.0.3';
  const before = structuredClone(next);
  const shared = shareEqual(next, known, 6);
  expect(shared).toEqual(before);
  expect(shared.labels).toBe(known.labels);
  expect(shared.ports).toBe(known.ports);
  expect(shared.endpoints[0]).toBe(known.endpoints[0]);
  expect(shared.endpoints[1]).not.toBe(known.endpoints[1]);
  expect(shared.endpoints[1]?.conditions).toBe(known.endpoints[1]?.conditions);
});

test('it goes no deeper than it is told to, and the known value never changes', () => {
  const next = { ...structuredClone(known), labels: { app: 'web', tier: 'cache' } };
  const inner = next.endpoints;
  (inner[0] as { ip: string }).ip = '10.0.0.9';
  const before = structuredClone(known);
  const shared = shareEqual(next, known, 1);
  expect(shared.ports).toBe(known.ports);
  expect(shared.endpoints).toBe(inner);
  expect(shared.endpoints[1]).not.toBe(known.endpoints[1]);
  expect(known).toEqual(before);
});

test('values of other forms share nothing and stay what they are', () => {
  for (const [next, other] of [
    [{ ports: [1] }, { ports: { 0: 1 } }],
    [[1, [2]], { 0: 1, 1: [2] }],
    [{ a: null }, { a: {} }],
    [{ a: { b: 1 } }, { a: null }],
  ] as const) {
    const before = structuredClone(next);
    expect(equal(shareEqual(structuredClone(next) as object, other, 6), before)).toBe(true);
  }
});
