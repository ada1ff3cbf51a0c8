/**
 * What follows from a chart's tags and descriptions: how an actor stands and why, where the chart has no
 * words of its own.
 */
import { describe, expect, test } from 'vitest';
import { setup } from 'xstate';
import type { Chart } from '../../src/machines/chart.ts';
import { healthIn, isIn, stateWords } from '../../src/machines/tell.ts';
import { charts } from '../../src/replica/charts.ts';

const machine = setup({ types: { tags: {} as 'settled' | 'wrong' } }).createMachine({
  type: 'parallel',
  states: {
    work: {
      initial: 'trying',
      states: {
        trying: { description: 'It is tried.' },
        failed: {
          description: 'It failed.',
          tags: 'wrong',
          initial: 'resting',
          states: { resting: { description: 'It rests.', tags: 'settled' }, again: {} },
        },
        done: { description: 'It is done.', tags: 'settled' },
      },
    },
    side: {
      initial: 'off',
      states: { off: { description: 'The side is off.', tags: 'settled' }, on: {} },
    },
  },
});
const chart: Chart = {
  name: 'thing',
  version: 1,
  description: 'A thing.',
  machine,
  durable: true,
  createdBy: [],
  effects: [],
};

describe('health and words of a state', () => {
  test.each([
    ['work.trying,side.off', 'waiting', 'It is tried.'],
    ['work.done,side.off', 'ok', 'It is done.'],
    ['work.done,side.on', 'waiting', ''],
    ['work.failed.resting,side.off', 'wrong', 'It rests.'],
    ['work.failed.again,side.off', 'wrong', 'It failed.'],
    ['no.such.state', 'waiting', ''],
  ])('%s is %s', (state, health, text) => {
    expect(stateWords(chart, state)).toEqual({ health, text });
  });
});

test('what cannot say whether it needs a look stands by its state', () => {
  const broken = () => {
    throw new Error('not this context');
  };
  const unfit = (async () => false) as unknown as () => boolean;
  const stands = (needsLook: () => boolean) =>
    healthIn({ ...chart, needsLook }, 'work.done,side.off', { any: 'context' });
  expect([() => true, () => false, broken, unfit].map(stands)).toEqual(['wrong', 'ok', 'ok', 'ok']);
});

test('a state is in itself and in what is around it, not in a name that begins alike', () => {
  const standing = { states: ['routes.lost.asking', 'endpoints.ignored'] };
  expect(
    ['routes', 'routes.lost', 'endpoints.ignored', 'routes.lo', 'ignored'].map((state) =>
      isIn(standing, state),
    ),
  ).toEqual([true, true, true, false, false]);
});

test('every chart of the program has words for each of its states', () => {
  const wordless = charts.flatMap((one) =>
    leavesOf(one.machine.root).flatMap((path) =>
      stateWords(one, path).text === '' ? [`${one.name}: ${path}`] : [],
    ),
  );
  expect(wordless).toEqual([]);
});

function leavesOf(node: Chart['machine']['root']): string[] {
  const children = Object.values(node.states);
  return children.length === 0 ? [node.path.join('.')] : children.flatMap(leavesOf);
}
