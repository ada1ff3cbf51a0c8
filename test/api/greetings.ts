/** A small feature, written as a user writes one: what the tests of the API run. */
import {
  type ActorInput,
  actionsOf,
  assign,
  backOffMs,
  defineFeature,
  defineKind,
  type EventsOf,
  effect,
  isGone,
  isNews,
  join,
  type Observed,
  on,
  type Stamp,
  setup,
  tell,
  v,
  watch,
} from '../../src/api/index.ts';

export const configMaps = watch('v1/ConfigMap', {
  labelSelector: 'example.com/greet',
  digest: v.object({ who: v.string() }),
  read: ({ data }) => data,
});

export const greeted = join(configMaps, {
  facts: ({ uid, deleting, who }) => (deleting ? null : { uid, who }),
});

/** The written texts, in order. */
export const written: string[] = [];

export const write = effect('greeting.write', {
  run: async ({ text }: { readonly text: string }) => {
    written.push(text);
    return { length: text.length };
  },
});
export const effects = [write] as const;

export interface Context {
  readonly namespace: string;
  readonly name: string;
  readonly facts: { readonly uid: string; readonly who: string } | null;
  readonly written: string | null;
  readonly failures: number;
  readonly lastError: string | null;
}

type Event = Observed<'greeting', typeof greeted> | EventsOf<typeof effects> | { type: 'greeting.again' };

export const machine = setup({
  types: {
    context: {} as Context,
    events: {} as Event & Stamp,
    input: {} as ActorInput,
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    isGone,
    isNews,
    isDue: ({ context }) => context.facts !== null && context.facts.who !== context.written,
  },
  delays: { patience: 35_000, backOff: ({ context }) => backOffMs(context.failures - 1, 1_000, 300_000) },
  actions: {
    remember: on('greeting.observed', ({ event }) => ({ facts: event.facts })),
    noteDone: assign(({ context }) => ({
      written: context.facts?.who ?? null,
      failures: 0,
      lastError: null,
    })),
    noteFailure: assign(({ context, event }) => ({
      failures: context.failures + 1,
      lastError: event.type === 'greeting.write.failed' ? event.message : 'no outcome in time',
    })),
    forget: assign({ written: null }),
    ...actionsOf(...effects),
  },
}).createMachine({
  id: 'greeting',
  context: ({ input: { namespace, name } }) => ({
    namespace,
    name,
    facts: null,
    written: null,
    failures: 0,
    lastError: null,
  }),
  initial: 'resting',
  on: {
    'greeting.observed': [
      { guard: 'isGone', target: '.gone' },
      { guard: 'isNews', actions: 'remember' },
    ],
    'greeting.again': { actions: 'forget', target: '.resting' },
  },
  states: {
    resting: {
      description: 'The greeting is written.',
      tags: 'settled',
      always: { guard: 'isDue', target: 'writing' },
    },
    writing: {
      description: 'The greeting is being written.',
      entry: {
        type: 'greeting.write',
        params: ({ context }) => ({ text: `hello ${context.facts?.who ?? ''}` }),
      },
      on: {
        'greeting.write.done': { actions: 'noteDone', target: 'resting' },
        'greeting.write.failed': { actions: 'noteFailure', target: 'backingOff' },
      },
      after: { patience: { actions: 'noteFailure', target: 'backingOff' } },
    },
    backingOff: {
      description: 'The greeting could not be written; that is tried again after a growing pause.',
      tags: 'wrong',
      after: { backOff: 'resting' },
    },
    gone: { description: 'The ConfigMap is gone.', type: 'final' },
  },
});

export const kindOptions = {
  name: 'greeting',
  version: 1,
  description: 'Greets whom a ConfigMap names.',
  machine,
  effects,
  join: greeted,
  messages: { 'greeting.again': v.object({}) },
  tell: tell<Context>(({ context }) => ({ text: context.lastError ?? `greets ${context.facts?.who}` })),
} as const;

export const greeting = defineKind(kindOptions);
export const greetings = defineFeature({ name: 'greetings', version: '1.0.0', kinds: [greeting] });
