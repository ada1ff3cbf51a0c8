/** What a chart's `assign` does is what xstate's own does: the same chart, stepped by both. */
import { expect, test } from 'vitest';
import { assign, setup, transition } from 'xstate';
import { createStepper, type Snapshot } from '../../../src/actors/host/step.ts';

interface Context {
  readonly count: number;
  readonly last: string;
  readonly seen: readonly number[];
}
type Event = { readonly type: 'add' | 'move' | 'reset'; readonly at: number; readonly random: number };

const chart = () =>
  setup({
    types: { context: {} as Context, events: {} as Event, tags: {} as 'settled' },
    actions: {
      count: assign(({ context, event }) => ({
        count: context.count + 1,
        seen: [...context.seen, event.at],
      })),
      name: assign((_, { name }: { readonly name: string }) => ({ last: name })),
      clear: assign({ count: 0, last: ({ context }) => `after ${context.count}` }),
      nothing: assign({}),
    },
  }).createMachine({
    context: { count: 0, last: '', seen: [] },
    type: 'parallel',
    states: {
      one: {
        initial: 'a',
        on: { add: { actions: ['count', 'count', 'nothing'] }, reset: { actions: 'clear' } },
        states: {
          a: { tags: 'settled', exit: 'count', on: { move: 'b' } },
          b: {
            entry: { type: 'name', params: ({ context }) => ({ name: `at ${context.count}` }) },
            on: { move: 'a' },
          },
        },
      },
      two: {
        on: { add: { actions: 'count' }, move: { actions: { type: 'name', params: { name: 'two' } } } },
      },
    },
  });

const events = ['add', 'move', 'add', 'reset', 'move', 'move', 'reset', 'add'] as const;

test('value, context and tags are those of xstate, after every step', () => {
  const own = chart();
  const stepper = createStepper({
    ...{ name: 'counter', version: 1, description: '', durable: true, createdBy: [], effects: [] },
    machine: chart(),
  });
  let mine: Snapshot | null = null;
  let theirs = own.resolveState({ value: { one: 'a', two: {} }, context: { count: 0, last: '', seen: [] } });
  for (const [index, type] of events.entries()) {
    const event = { type, at: index, random: 0.5 };
    mine = (mine === null ? stepper.begin({}, event) : stepper.step(mine, event)).snapshot;
    [theirs] = transition(own, theirs, event);
    expect([type, mine.value, mine.context]).toEqual([type, theirs.value, theirs.context]);
    expect([...mine.tags]).toEqual([...theirs.tags]);
    expect(mine.hasTag('settled')).toBe(theirs.hasTag('settled'));
    expect(mine.matches({ one: 'b' })).toBe(theirs.matches({ one: 'b' }));
  }
  expect(mine?.context).toMatchObject({ count: 3, last: 'after 1' });
});

test('an event that changes nothing gives the same snapshot', () => {
  const stepper = createStepper({
    ...{ name: 'counter', version: 1, description: '', durable: true, createdBy: [], effects: [] },
    machine: chart(),
  });
  const { snapshot } = stepper.begin({}, { type: 'add', at: 1, random: 0 });
  const again = stepper.step(snapshot, { type: 'unknown', at: 2, random: 0 });
  expect([again.changed, again.snapshot === snapshot]).toEqual([false, true]);
});
