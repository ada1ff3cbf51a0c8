/** Drawing a chart: golden texts of a small machine that has one of everything. */
import { describe, expect, test } from 'vitest';
import { createMachine } from 'xstate';
import { chartMermaid } from '../../src/inspector/charts/chart-mermaid.ts';
import { chartText } from '../../src/inspector/charts/chart-text.ts';
import { readChart, statesOf } from '../../src/inspector/charts/chart-tree.ts';

const { config } = createMachine({
  id: 'door',
  initial: 'shut',
  on: { 'door.removed': '.gone' },
  states: {
    shut: {
      description: 'Nobody gets through.',
      tags: 'safe',
      entry: 'ring',
      on: {
        'door.opened': [{ guard: 'isUnlocked', target: 'open', actions: ['count'] }, { actions: 'creak' }],
      },
    },
    open: {
      type: 'parallel',
      states: {
        light: { initial: 'on', states: { on: { after: { 30000: 'off' } }, off: {} } },
        guard: { initial: 'awake', states: { awake: { on: { 'guard.ran': '#door.shut' } } } },
      },
      always: { guard: 'isWindy', target: 'shut' },
      after: { patience: { target: 'open', reenter: true } },
    },
    gone: { type: 'final' },
  },
});
const chart = readChart(config, { patience: 90_000 });

test('a chart as text shows states, descriptions, guards, delays, actions and targets', () => {
  expect(chartText(chart).join('\n')).toBe(`door
  door.removed → gone
  * shut  (safe)
      Nobody gets through.
      on entry: ring
      door.opened [isUnlocked] → open  / count
      door.opened → stay  / creak
  - open  (parallel)
      always [isWindy] → shut
      after patience (90 s) → open
      = light
          * on
              after 30 s → open.light.off
          - off
      = guard
          * awake
              guard.ran → shut
  - gone  (final)`);
});

test('a chart as Mermaid draws composite states, regions, and edges between neighbours alone', () => {
  expect(chartMermaid(chart).join('\n')).toBe(`stateDiagram-v2
  state "shut" as shut
  state "open" as open {
    state "light" as open_light {
      state "on" as open_light_on
      state "off" as open_light_off
      [*] --> open_light_on
      open_light_on --> open_light_off: after 30 s
    }
    --
    state "guard" as open_guard {
      state "awake" as open_guard_awake
      [*] --> open_guard_awake
    }
  }
  state "gone" as gone
  state "any state" as any_state
  [*] --> shut
  any_state --> gone: door.removed
  shut --> open: door.opened [isUnlocked]
  open --> shut: always [isWindy]
  open --> open: after patience (90 s)
  open --> shut: guard.ran in guard.awake
  gone --> [*]`);
});

test('regions of the whole chart are drawn inside a state, because Mermaid refuses them outside', () => {
  const { config: regions } = createMachine({
    id: 'both',
    type: 'parallel',
    states: { left: {}, right: {} },
  });
  expect(chartMermaid(readChart(regions)).join('\n')).toBe(`stateDiagram-v2
  state "both" as all_regions {
    state "left" as left
    --
    state "right" as right
  }`);
});

describe('reading a configuration', () => {
  test('a target is resolved as xstate does: from the parent, the root, the state itself, or an own id', () => {
    const tree = readChart({
      id: 'm',
      states: {
        a: {
          id: 'here',
          states: { b: { on: { up: '#m.c', own: '#here.b', side: 'd' } }, d: {} },
          on: { down: '.b' },
        },
        c: {},
      },
    });
    const targets = [...statesOf(tree)].flatMap(({ transitions }) =>
      transitions.map(({ trigger, targets }) => [trigger, targets]),
    );
    expect(targets).toEqual([
      ['down', ['a.b']],
      ['up', ['c']],
      ['own', ['a.b']],
      ['side', ['a.d']],
    ]);
  });

  test('what is written inline is shown as such, and nonsense as an empty chart', () => {
    const tree = readChart({ on: { go: { guard: () => true, actions: [() => {}, { type: 'named' }] } } });
    expect(tree.transitions).toEqual([
      { on: 'event', trigger: 'go', guard: 'inline', targets: null, actions: ['inline', 'named'] },
    ]);
    expect(readChart(undefined).children).toEqual([]);
  });
});
