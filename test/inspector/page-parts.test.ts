/**
 * The page's pure parts: addresses, which arrows a step took, what a step changed in a context, where the
 * camera looks.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { indexOfStep } from '../../src/actors/step-order.ts';
import type { HistoryStep } from '../../src/base/views.ts';
import { senderOf } from '../../src/base/words.ts';
import type { ChartLayout } from '../../src/inspector/charts/chart-layout.ts';
import { compare } from '../../src/inspector/page/actor/difference.ts';
import { readJson } from '../../src/inspector/page/answer.ts';
import { followView, wholeView, zoomed } from '../../src/inspector/page/chart/camera.ts';
import { possibleFrom, takenBy } from '../../src/inspector/page/chart/taken.ts';
import { readWhen } from '../../src/inspector/page/events/when.ts';
import {
  actorHref,
  eventsHref,
  hrefOf,
  listHref,
  noFilter,
  readRoute,
} from '../../src/inspector/page/page-address.ts';
import { withPast, withStep } from '../../src/inspector/page/watched-steps.ts';

const charts = join(import.meta.dirname, '../../src/inspector/page/charts');
const layoutOf = (name: string): ChartLayout =>
  JSON.parse(readFileSync(join(charts, `${name}.json`), 'utf8'));

const noPlace = { at: null, when: null, open: [], isSending: false };

describe('addresses', () => {
  test.each([
    ['#/', { view: 'overview' }],
    ['', { view: 'overview' }],
    ['#/pod/shop/web-0', { view: 'actor', id: 'pod/shop/web-0', ...noPlace }],
    ['#/pod/shop/web-0?at=12', { view: 'actor', id: 'pod/shop/web-0', ...noPlace, at: 12 }],
    [
      '#/pod/shop/web-0?at=12&when=1795827600000',
      { view: 'actor', id: 'pod/shop/web-0', ...noPlace, at: 12, when: 1_795_827_600_000 },
    ],
    ['#/pod/shop/web-0?at=x', { view: 'actor', id: 'pod/shop/web-0', ...noPlace }],
    ['#/domain/_/*.example.com', { view: 'actor', id: 'domain/_/*.example.com', ...noPlace }],
    [
      '#/pod/shop/web-0?open=context,effects&do=send',
      { view: 'actor', id: 'pod/shop/web-0', ...noPlace, open: ['context', 'effects'], isSending: true },
    ],
    ['#/pod/shop', { view: 'list', kind: 'pod', filter: { ...noFilter, ns: 'shop' } }],
    [
      '#/pod?state=gated.proving.asking&q=web',
      { view: 'list', kind: 'pod', filter: { ...noFilter, state: 'gated.proving.asking', q: 'web' } },
    ],
    ['#/pod/%', { view: 'list', kind: 'pod', filter: { ...noFilter, ns: '%' } }],
  ])('%s', (hash, route) => expect(readRoute(hash)).toEqual(route));

  test('what is written is what is read', () => {
    for (const href of [
      actorHref('domain/_/a b%/c' as never, 3),
      listHref('pod', { ns: 'ö', sort: 'Last change', health: 'wrong' }),
      eventsHref({ from: '03:10', kind: 'pod', utc: true, step: 'pod/shop/a@3' }),
      eventsHref({ step: 'pod/shop/a@3', when: 1_795_827_600_000 }),
      hrefOf({ view: 'actor', id: 'pod/shop/a', at: 4, when: 7, open: ['context'], isSending: true }),
    ]) {
      expect(hrefOf(readRoute(href))).toBe(href);
    }
  });
});

describe('the steps of an actor that came back and counts anew', () => {
  const hour = 3_600_000;
  const step = (rev: number, at: number, fence = 5): HistoryStep => ({
    ...{ id: 'pod/shop/a', rev, at, fence, replica: 'r1', cause: null, from: 'a', to: 'b' },
    ...{ event: { type: 'it.happened' }, effects: [] },
  });
  const lives = [step(1, 10), step(2, 20), step(1, 2 * hour), step(2, 2 * hour + 10)];
  const found = (rev: number, by: number | null) => indexOfStep(lives, { id: 'pod/shop/a', rev, by });

  test('a step is found by its revision and its time; by the revision alone, the last one', () => {
    expect([found(1, 10), found(1, 2 * hour), found(1, null)]).toEqual([0, 2, 2]);
    expect([found(2, hour), found(2, -hour), found(3, null)]).toEqual([1, -1, -1]);
  });

  test('a live step is not taken for one of the former life', () => {
    const [first, second, third, fourth] = lives as [HistoryStep, HistoryStep, HistoryStep, HistoryStep];
    expect(withStep([first, second], third)).toEqual([first, second, third]);
    expect(withStep([first, second, third], third)).toEqual([first, second, third]);
    expect(withPast([first, second], [third, fourth])).toEqual(lives);
    expect(withPast([first, second, third], [third, fourth])).toEqual(lives);
    expect(withPast([second, third], [first])).toEqual([second, third]);
  });

  test('nor one of an actor whose record was lost', () => {
    const [before, after] = [step(9, 10), step(1, 20, 6)];
    expect(withPast([before], [after])).toEqual([before, after]);
  });
});

describe('a time that is typed', () => {
  const now = Date.parse('2026-11-22T02:00:00Z');
  test.each([
    ['15m', '2026-11-22T01:45:00.000Z'],
    ['01:30', '2026-11-22T01:30:00.000Z'],
    ['03:10', '2026-11-21T03:10:00.000Z'],
    ['2026-11-21T23:00', '2026-11-21T23:00:00.000Z'],
    ['2026-11-21T23:00:05+01:00', '2026-11-21T22:00:05.000Z'],
  ])('%s', (text, at) => expect(new Date(readWhen(text, now, true) ?? 0).toISOString()).toBe(at));

  test.each(['yesterday', '25:00', '', '2026-13-45', '12'])('%j is none', (text) => {
    expect(readWhen(text, now, true)).toBeNull();
  });
});

describe('the arrows that a step took', () => {
  const pod = layoutOf('pod');
  const labelled = (keys: Set<string>) =>
    [...keys].map((key) => {
      const [path = '', index = ''] = key.split('#');
      const state = path
        .split('.')
        .filter(Boolean)
        .reduce((at, name) => at.children.find((one) => one.name === name) ?? at, pod.chart);
      const { trigger, guard, targets } = state.transitions[Number(index)] ?? {
        trigger: '?',
        guard: null,
        targets: null,
      };
      return `${path}: ${trigger}${guard ? ` [${guard}]` : ''} → ${targets?.join() ?? 'stay'}`;
    });
  const step = (from: string | null, type: string, to: string) => ({ from, to, event: { type } });

  test('an outcome leads to the next state', () => {
    expect(
      labelled(takenBy(pod, step('gated.marking.patching', 'condition.patched', 'gated.ready.proven'))),
    ).toEqual(['gated.marking.patching: condition.patched [isSaidTrue] → gated.ready']);
  });

  test('an event that only acts, and what follows from it without an event', () => {
    const taken = labelled(
      takenBy(pod, step('gated.proving.asking', 'route.proven', 'gated.marking.patching')),
    );
    expect(taken).toContain('gated.proving.asking:  [isAllProven] → gated.marking');
    expect(taken.some((one) => one.startsWith(': route.proven'))).toBe(true);
  });

  test('a beginning goes the way from the first state', () => {
    expect(labelled(takenBy(pod, step(null, 'pod.observed', 'gated.proving.asking')))).toContain(
      'deciding:  [isKnown] → gated',
    );
  });

  test('a deadline is known by its name', () => {
    const taken = labelled(
      takenBy(
        pod,
        step(
          'gated.marking.retrying.backingOff',
          'xstate.after.backOff.pod.marking.backingOff',
          'gated.marking.patching',
        ),
      ),
    );
    expect(taken).toEqual(['gated.marking.retrying.backingOff: backOff → gated.marking.patching']);
  });

  test('only the region that moved has arrows', () => {
    const service = layoutOf('service');
    const taken = takenBy(
      service,
      step(
        'routes.sampling,endpoints.ignored',
        'sample.finished',
        'routes.waiting.pausing,endpoints.ignored',
      ),
    );
    expect([...taken].every((key) => key.startsWith('routes.'))).toBe(true);
    expect(taken.size).toBe(2);
  });

  test('a step that no chart explains takes none', () => {
    expect(takenBy(pod, step('gone', 'no.such', 'gated.ready.proven')).size).toBe(0);
  });

  test('next may come what the active states and those around them say', () => {
    const possible = possibleFrom(pod, 'gated.proving.asking');
    expect(possible).toContain('gated.proving.asking#0');
    expect(possible).toContain('gated.proving#0');
    expect(possible).toContain('#0');
    expect([...possible].some((key) => key.startsWith('gated.ready'))).toBe(false);
  });
});

describe('the difference of two contexts', () => {
  const changes = (before: unknown, after: unknown) =>
    Object.fromEntries((compare('', after, before).children ?? []).map(({ name, change }) => [name, change]));

  test('what is new, changed, gone, the same, or changed inside', () => {
    const before = { same: 1, changed: 'a', gone: true, inside: { x: 1, y: [1] }, kept: { z: null } };
    const after = { same: 1, changed: 'b', inside: { x: 1, y: [1, 2] }, kept: { z: null }, added: [] };
    expect(changes(before, after)).toEqual({
      same: 'same',
      changed: 'changed',
      gone: 'gone',
      inside: 'inside',
      kept: 'same',
      added: 'new',
    });
  });

  test('where nothing is known of before, nothing counts as changed', () => {
    expect(changes(undefined, { a: 1 })).toEqual({ a: 'same' });
  });
});

describe('the camera', () => {
  const pod = layoutOf('pod');
  const sees = (
    view: { x: number; y: number; scale: number },
    path: string,
    width: number,
    height: number,
    layout = pod,
  ) => {
    const box = layout.states.find((state) => state.path === path);
    if (!box) throw new Error(path);
    return (
      box.x >= view.x &&
      box.y >= view.y &&
      box.x + box.width <= view.x + width / view.scale &&
      box.y + box.height <= view.y + height / view.scale
    );
  };

  test.each(['gated.proving.asking', 'gated.marking.patching', 'gated.ready.proven', 'deciding', 'gone'])(
    'follows %s where it can be read',
    (path) => {
      for (const [width, height] of [
        [1_000, 480],
        [330, 400],
        [1_900, 900],
      ] as const) {
        const view = followView(pod, path, new Set(), width, height);
        expect(view.scale).toBeGreaterThanOrEqual(0.75);
        expect(sees(view, path, width, height)).toBe(true);
      }
    },
  );

  test.each([
    ['routes.resting.settled', ['routes.waiting#1']],
    ['endpoints.ignored', ['endpoints#0']],
    ['endpoints.ignored', []],
  ])(
    'follows %s if the arrows taken are %j: the region that moved, the largest if none did',
    (path, taken) => {
      const service = layoutOf('service');
      const state = 'routes.resting.settled,endpoints.ignored';
      const view = followView(service, state, new Set(taken), 1_000, 480);
      expect(sees(view, path, 1_000, 480, service)).toBe(true);
    },
  );

  test('sees the whole', () => {
    const view = wholeView(pod, 900, 500);
    expect(sees(view, '', 900, 500)).toBe(true);
  });

  test('zooms about the pointer', () => {
    const view = { x: 100, y: 50, scale: 1 };
    const near = zoomed(view, 2, 300, 200);
    expect([near.x + 300 / near.scale, near.y + 200 / near.scale]).toEqual([400, 250]);
  });
});

test.each([
  ['pod/shop/web-0/12/0', { id: 'pod/shop/web-0', rev: 12 }],
  ['node-drain2/_/a/3/0', { id: 'node-drain2/_/a', rev: 3 }],
  ['rpc.send', null],
  [null, null],
  ['01J8XYZ', null],
])('the sender in the cause %s', (cause, sender) => expect(senderOf(cause)).toEqual(sender));

test('a text that would turn its surroundings around is shown with that sign in words', () => {
  const sent = { holder: '\u202eevil\u2069', text: 'سلام "<b>" \\u202e' };
  expect(readJson(JSON.stringify(sent))).toEqual({ ...sent, holder: '\\u202eevil\\u2069' });
});
