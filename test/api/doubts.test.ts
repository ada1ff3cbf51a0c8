/** What `orrery chart` and a replica's log say of a kind that runs, but probably not as its author means. */
import { expect, test } from 'vitest';
import { createMachine } from 'xstate';
import { doubtsOf } from '../../src/api/doubts.ts';
import { defineKind, v } from '../../src/api/index.ts';
import { greeting, kindOptions, machine } from './greetings.ts';

const { states } = machine.config as unknown as { states: Readonly<Record<string, object>> };

/** The sample's kind with other states, and a chart changed otherwise. */
function doubtsAbout(other: Readonly<Record<string, object>>, chart: object = {}, options: object = {}) {
  const config = { ...machine.config, states: { ...states, ...other }, ...chart };
  const changed = createMachine(config as never, machine.implementations as never);
  return doubtsOf(defineKind({ ...kindOptions, ...options, machine: changed }));
}

test('a kind without a mistake is in no doubt', () => {
  expect(doubtsOf(greeting)).toEqual([]);
});

test('a deadline of a state around it, a delayed event, or a way on at once is an end', () => {
  const around = {
    after: { 1000: 'resting' },
    description: 'x',
    initial: 'a',
    states: { a: { description: 'x' } },
  };
  expect(doubtsAbout({ writing: { ...states.writing, ...around } })).toEqual([]);
  const { after: _, ...endless } = states.writing as { after: object };
  expect(doubtsAbout({ writing: { ...endless, always: 'resting' } })).toEqual([]);
});

const { after: _, ...endless } = states.writing as { after: object };
const { description: _d, ...silent } = states.gone as { description: string };
const doubtful: ReadonlyArray<readonly [what: string, found: readonly string[], told: RegExp]> = [
  [
    'no deadline',
    doubtsAbout({ writing: endless }),
    /^the state writing may wait for ever: .*`after`.*'settled'/,
  ],
  [
    'an unheard failure',
    doubtsAbout({ writing: { ...states.writing, on: { 'greeting.write.done': 'resting' } } }),
    /^the state writing asks for greeting.write and takes greeting.write.done, but not greeting.write.failed/,
  ],
  [
    'an outcome that no effect has',
    doubtsAbout({ writing: { ...states.writing, on: { 'greeting.write.fail': 'resting' } } }),
    /^nobody sends greeting.write.fail, .*its outcomes are greeting.write.done and greeting.write.failed$/,
  ],
  [
    'another id',
    doubtsAbout({}, { id: 'greet' }),
    /^the machine's id is "greet", not .*: write id: 'greeting'/,
  ],
  ['a lost state', doubtsAbout({ lost: states.resting ?? {} }), /^no transition leads to the state lost/],
  ['no end', doubtsAbout({ gone: { ...states.resting } }), /^no state has type: 'final'/],
  ['no words', doubtsAbout({ gone: silent }), /^the state gone has no description/],
  [
    'any event',
    doubtsAbout({ gone: states.gone ?? {} }, { on: { '*': '.gone' } }),
    /^the chart itself takes every event/,
  ],
  [
    'an object of which it does not hear',
    doubtsAbout({}, { on: { 'greeting.again': '.gone' } }),
    /^no state takes greeting.observed/,
  ],
  [
    'a message that nobody takes',
    doubtsAbout({}, {}, { messages: { ...kindOptions.messages, 'greeting.stop': v.object({}) } }),
    /^no state takes the message greeting.stop/,
  ],
];

test.each(doubtful)('%s is doubted, with what to change', (_, found, told) => {
  expect(found).toEqual([expect.stringMatching(told)]);
});
