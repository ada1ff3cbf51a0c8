/** What `orrery get` is asked for: kinds by each of their names, ids, filters, and what is refused. */
import { describe, expect, test } from 'vitest';
import type { ActorSummary } from '../../../src/base/views.ts';
import { readSelection } from '../../../src/cli/get/selection.ts';

const kinds = [{ name: 'pod', shortName: 'po' }, { name: 'domain', shortName: 'dom' }, { name: 'bus' }];
const read = (words: string[], filters = {}) => readSelection(words, filters, kinds, now);
const now = Date.UTC(2026, 10, 22);
const dayMs = 86_400_000;
const actor = (id: string, owner = 'r1') => ({ id, owner }) as unknown as ActorSummary;

describe('kinds', () => {
  test.each(['pod', 'pods', 'po', 'PODS'])('%s is the kind pod', (word) => {
    expect(read([word])).toMatchObject({ requests: [{ kind: 'pod' }], ids: [], kind: 'pod' });
  });

  test('several with commas, each asked for; then no kind’s facts are columns', () => {
    expect(read(['po,buses'])).toMatchObject({ requests: [{ kind: 'pod' }, { kind: 'bus' }], kind: null });
  });

  test('none: all', () => {
    expect(read([])).toMatchObject({ requests: [{}], kind: null });
  });

  test('an unknown one names those that there are, with their short names', () => {
    expect(() => read(['pdo'])).toThrow(
      /allowed: pod \(po\), domain \(dom\), bus, and the kinds of features that --feature loads \(is pod meant\?\)$/,
    );
  });
});

test('names after a kind choose among its actors, in any namespace', () => {
  const { includes, requests } = read(['domain', 'a.example', 'b.example']);
  expect(requests).toEqual([{ kind: 'domain' }]);
  expect(
    ['domain/_/a.example', 'domain/x/b.example', 'domain/_/c.example'].map((id) => includes(actor(id))),
  ).toEqual([true, true, false]);
});

test('ids are asked for by themselves, with short kinds and without a namespace where there is none', () => {
  expect(read(['po/shop/web-0', 'dom/app.example.com'])).toMatchObject({
    requests: [],
    ids: ['pod/shop/web-0', 'domain/_/app.example.com'],
    kind: null,
  });
});

describe('filters', () => {
  test('each flag has its word in the selector', () => {
    const { requests, includes } = read(['pod'], {
      selector: 'state=proving,health==wrong,owner=r2,namespace=shop',
    });
    expect(requests).toEqual([{ kind: 'pod', state: 'proving', health: 'wrong', namespace: 'shop' }]);
    expect([includes(actor('pod/shop/a', 'r2')), includes(actor('pod/shop/a', 'r1'))]).toEqual([true, false]);
  });

  test('a health or a word that there is none of is refused, with those that there are', () => {
    expect(() => read([], { health: 'bad' })).toThrow(
      '--health: "bad" is not allowed; allowed: ok, waiting, wrong',
    );
    expect(() => read([], { selector: 'color=red' })).toThrow(
      '--selector: "color=red" is not allowed; allowed',
    );
  });
});

describe('--ending', () => {
  const domain = (name: string, health: string, days: number | null): ActorSummary =>
    ({
      id: `domain/_/${name}`,
      reason: { health },
      facts: days === null ? [] : [{ label: 'Expires', value: now + days * dayMs, unit: 'time', ends: true }],
    }) as unknown as ActorSummary;

  test('keeps what ends within that time, what has ended, and what is not ok', () => {
    const { includes, hasFacts } = read(['domains'], { ending: '30d' });
    expect(hasFacts).toBe(true);
    const kept = [
      domain('soon', 'ok', 29),
      domain('later', 'ok', 31),
      domain('over', 'wrong', -1),
      domain('refused', 'wrong', 60),
      domain('asked', 'waiting', null),
      domain('unknown', 'ok', null),
    ].filter(includes);
    expect(kept.map(({ id }) => id.slice('domain/_/'.length))).toEqual(['soon', 'over', 'refused', 'asked']);
  });

  test('asks for facts of every kind where none is named, and of none without the flag', () => {
    expect([read([], { ending: '1d' }).hasFacts, read([]).hasFacts]).toEqual([true, false]);
  });

  test('a time that is none is refused', () => {
    expect(() => read([], { ending: 'soon' })).toThrow(
      '--ending: "soon" is not allowed; allowed: a time such as 90s, 15m, 1h or 2d',
    );
  });
});
