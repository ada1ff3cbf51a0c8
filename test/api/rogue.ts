/**
 * Two features as files: one that breaks in every requested way, and a calm one whose actors say how long
 * their steps took.
 */

export const rogue = `
import * as o from 'orrery';
import { setup } from 'orrery';

const endless = o.effect('rogue.wait', { run: () => new Promise(() => {}), timeoutMs: 1_000, inFlight: 4 });
const effects = [endless, o.message];
const machine = setup({
  types: {},
  actions: {
    spin: o.assign(() => { for (;;); }),
    fail: o.assign(() => { throw new Error('no weather'); }),
    swell: o.assign({ text: () => 'x'.repeat(600 * 1024) }),
    fatten: o.assign({ text: () => 'x'.repeat(400 * 1024), n: ({ context }) => context.n + 1 }),
    ...o.actionsOf(...effects),
  },
}).createMachine({
  id: 'rogue',
  context: ({ input: { name } }) => ({ name, text: '', n: 0 }),
  initial: 'idle',
  on: {
    'rogue.begin': '.idle',
    'rogue.spin': { actions: 'spin' },
    'rogue.throw': { actions: 'fail' },
    'rogue.swell': { actions: 'swell' },
    'rogue.fatten': { actions: 'fatten' },
    'rogue.circle': '.round',
    'rogue.wait': '.waiting',
    'rogue.shout': { actions: {
      type: 'message.send',
      params: ({ context }) => ({ to: Array.from({ length: 10 }, () => 'rogue/shop/' + context.name), event: { type: 'rogue.shout' } }),
    } },
  },
  states: {
    idle: {},
    round: { always: 'andRound' },
    andRound: { always: 'round' },
    waiting: {
      entry: { type: 'rogue.wait', params: {} },
      on: { 'rogue.wait.failed': { target: 'waiting', reenter: true } },
    },
  },
});
const words = ['begin', 'spin', 'throw', 'swell', 'fatten', 'circle', 'wait', 'shout'];
const kind = o.defineKind({
  ...{ name: 'rogue', version: 1, description: 'Breaks.', machine, effects, createdBy: ['rogue.begin'] },
  messages: Object.fromEntries(words.map((word) => ['rogue.' + word, o.v.object({})])),
});
export const feature = o.defineFeature({ name: 'rogue', version: '1.0.0', kinds: [kind] });
`;

export const calm = `
import * as o from 'orrery';
import { setup } from 'orrery';

const machine = setup({
  types: {},
  actions: { count: o.assign({ n: ({ context }) => context.n + 1 }) },
}).createMachine({
  id: 'calm',
  context: { n: 0 },
  initial: 'idle',
  on: { 'calm.go': { actions: 'count' } },
  states: { idle: { tags: 'settled' } },
});
const kind = o.defineKind({
  ...{ name: 'calm', version: 1, description: 'Counts.', machine, createdBy: ['calm.go'] },
  messages: { 'calm.go': o.v.object({}) },
});
export const feature = o.defineFeature({ name: 'calm', version: '1.0.0', kinds: [kind] });
`;
