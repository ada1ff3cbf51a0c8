/** Which rows a list of the page shows, and in which order. */
import { describe, expect, test } from 'vitest';
import type { Fact, Health, LiveRow } from '../../src/base/views.ts';
import { factLabels } from '../../src/base/words.ts';
import { orderedRows } from '../../src/inspector/page/overview/list-order.ts';
import { summaryOf } from '../../src/inspector/page/overview/summary.ts';
import { noFilter } from '../../src/inspector/page/page-address.ts';

const dayMs = 86_400_000;
const now = Date.UTC(2026, 10, 22);
const row = (name: string, health: Health, facts: readonly Fact[] = [], since = now): LiveRow =>
  ({
    id: `domain/_/${name}`,
    state: 'valid',
    shard: 1,
    owner: 'r1',
    parked: false,
    lastError: null,
    reason: { text: '', health, since, next: null },
    facts,
  }) as unknown as LiveRow;
const expires = (days: number): Fact => ({
  ...{ label: 'Expires', value: now + days * dayMs, unit: 'time' },
  ends: true,
});
const waiting = (count: number): Fact => ({ label: 'Pods that wait', value: count });
const names = (rows: readonly LiveRow[], filter: Partial<typeof noFilter> = {}) =>
  orderedRows(rows, { filter: { ...noFilter, ...filter }, owners: new Map(), now }).ids.map((id) =>
    id.slice('domain/_/'.length),
  );

describe('order', () => {
  test('what is wrong, longest first; then what waits; then what ends soonest; then names', () => {
    const rows = [
      row('z', 'ok', [expires(9)]),
      row('no-end', 'ok'),
      row('a', 'ok', [expires(10)]),
      row('asked', 'waiting'),
      row('broken', 'wrong'),
      row('long-broken', 'wrong', [], now - dayMs),
    ];
    expect(names(rows)).toEqual(['long-broken', 'broken', 'asked', 'z', 'a', 'no-end']);
  });

  test('by a fact, both ways; what has none comes last in both', () => {
    const rows = [row('two', 'ok', [waiting(2)]), row('none', 'ok'), row('nine', 'ok', [waiting(9)])];
    expect(names(rows, { sort: 'Pods that wait' })).toEqual(['two', 'nine', 'none']);
    expect(names(rows, { sort: '-Pods that wait' })).toEqual(['nine', 'two', 'none']);
    expect(names(rows, { sort: '-name' })).toEqual(['two', 'none', 'nine']);
  });

  test('which facts count and whether there are ends is known', () => {
    const facts = [expires(1), waiting(0), { label: 'Issuer', value: 'le' }];
    const { labels, counts, hasEnds } = orderedRows([row('a', 'ok', facts)], {
      filter: noFilter,
      owners: new Map(),
      now,
    });
    expect([labels, [...counts], hasEnds]).toEqual([
      ['Expires', 'Pods that wait', 'Issuer'],
      ['Pods that wait'],
      true,
    ]);
  });
});

test('a fact that only some tell has its column where those tell it, whoever comes first', () => {
  const [a, b, c] = ['Issuer', 'Expires', 'Refusals'].map((label): Fact => ({ label, value: '' }));
  if (!a || !b || !c) throw new Error('three facts');
  expect(
    factLabels([
      [a, c],
      [a, b, c],
    ]),
  ).toEqual(['Issuer', 'Expires', 'Refusals']);
  expect(factLabels([[a, b], [c]])).toEqual(['Issuer', 'Expires', 'Refusals']);
  expect(factLabels([[c], [b, c]])).toEqual(['Expires', 'Refusals']);
  expect(factLabels([[a, b, c], [c]])).toEqual(['Issuer', 'Expires', 'Refusals']);
});

describe('what ends within a time', () => {
  const rows = [
    row('soon', 'ok', [expires(29)]),
    row('later', 'ok', [expires(31)]),
    row('over', 'wrong', [expires(-1)]),
    row('fails', 'wrong', [expires(60)]),
    row('without', 'waiting'),
  ];

  test('comes with what is not ok', () => {
    expect(names(rows, { ending: '30d' }).toSorted()).toEqual(['fails', 'over', 'soon', 'without']);
    expect(names(rows, { ending: '48h' }).toSorted()).toEqual(['fails', 'over', 'without']);
  });

  test('a time that is none hides nothing', () => {
    expect(names(rows, { ending: 'soon' })).toHaveLength(rows.length);
  });
});

test('the overview shows who waits longest apart from who is in trouble, however many are', () => {
  const many = Array.from({ length: 20 }, (_, n) => row(`broken-${n}`, 'wrong', [], now - dayMs - n));
  const held = [row('late', 'waiting', [], now - 5), row('early', 'waiting', [], now - 9), row('fine', 'ok')];
  const { wrong, wrongCount, waits, total } = summaryOf(
    new Map([...many, ...held].map((one) => [one.id, one])),
  );
  expect([wrong.length, wrong[0]?.id, wrongCount, total]).toEqual([8, 'domain/_/broken-19', 20, 23]);
  expect(waits.map(({ id }) => id)).toEqual(['domain/_/early', 'domain/_/late']);
});
