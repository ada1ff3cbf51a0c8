/** The files of a new feature. Pure. */
import { groupOf, pluralOf } from '../../api/kind-name.ts';

export interface NewFeature {
  readonly name: string;
  readonly kind: string;
  readonly watch: { readonly apiVersion: string; readonly kind: string };
}

export interface NewFile {
  readonly name: string;
  readonly text: string;
}

export function filesOf(feature: NewFeature): readonly NewFile[] {
  return [
    { name: 'feature.ts', text: filled(featureTemplate, feature) },
    { name: 'feature.test.ts', text: filled(testTemplate, feature) },
    { name: 'access.yaml', text: accessText(feature) },
    { name: 'README.md', text: readmeText(feature) },
    { name: 'package.json', text: packageText(feature) },
  ];
}

function filled(text: string, { name, kind, watch }: NewFeature): string {
  const words: Readonly<Record<string, string>> = {
    name,
    kind,
    object: watch.kind,
    apiVersion: watch.apiVersion,
  };
  return text.replaceAll(/__([a-zA-Z]+)__/g, (whole, word: string) => words[word] ?? whole);
}

const featureTemplate = `/** The feature \`__name__\`: does once what the annotation of a __object__ asks for. */
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
} from 'orrery';

/** Whoever sets it on a __object__ calls an actor into being. */
export const annotation = 'example.com/__name__';

/** What is kept of each __object__: nothing secret, and no more than is needed. */
const objects = watch('__apiVersion__/__object__', {
  digest: v.object({ wanted: v.nullable(v.string()) }),
  read: ({ metadata }) => ({ wanted: metadata.annotations?.[annotation] ?? null }),
  wants: ({ wanted }) => wanted !== null,
});

/** What the world says to the actor of each; null: nothing calls for it (any more). */
const asked = join(objects, {
  facts: ({ uid, deleting, wanted }) => (deleting || wanted === null ? null : { uid, wanted }),
});

/** Runs after the step that asks for it was saved, and perhaps twice: then it must change nothing. */
const work = effect('__name__.work', {
  run: async ({ object, wanted }: { readonly object: string; readonly wanted: string }, { log }) => {
    log.info({ object, wanted }, 'the work is done');
    return { wanted };
  },
});

const effects = [work] as const;

interface Context {
  readonly namespace: string;
  readonly name: string;
  readonly facts: { readonly uid: string; readonly wanted: string } | null;
  /** The text whose work is done; null: none yet. */
  readonly done: string | null;
  readonly failures: number;
  readonly lastError: string | null;
}

type Event = Observed<'__kind__', typeof asked> | EventsOf<typeof effects> | { readonly type: '__kind__.again' };

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
    isDue: ({ context: { facts, done } }) => facts !== null && facts.wanted !== done,
  },
  delays: {
    /** A little more than the effect may take: then its outcome is lost. */
    patience: 35_000,
    backOff: ({ context }) => backOffMs(context.failures - 1, 1_000, 300_000),
  },
  actions: {
    remember: on('__kind__.observed', ({ event }) => ({ facts: event.facts })),
    noteDone: on('__name__.work.done', ({ event }) => ({ done: event.wanted, failures: 0, lastError: null })),
    noteFailure: assign(({ context, event }) => ({
      failures: context.failures + 1,
      lastError: event.type === '__name__.work.failed' ? event.message : 'no outcome in time',
    })),
    forget: assign({ done: null }),
    ...actionsOf(...effects),
  },
}).createMachine({
  id: '__kind__',
  context: ({ input: { namespace, name } }) => ({
    namespace,
    name,
    facts: null,
    done: null,
    failures: 0,
    lastError: null,
  }),
  initial: 'resting',
  on: {
    '__kind__.observed': [
      { guard: 'isGone', target: '.gone' },
      { guard: 'isNews', actions: 'remember' },
    ],
    '__kind__.again': { actions: 'forget', target: '.resting' },
  },
  states: {
    resting: {
      description: 'Everything that is asked for is done.',
      tags: 'settled',
      always: { guard: 'isDue', target: 'working' },
    },
    working: {
      description: 'The work is under way.',
      entry: {
        type: '__name__.work',
        params: ({ context: { namespace, name, facts } }) => ({
          object: \`\${namespace}/\${name}\`,
          wanted: facts?.wanted ?? '',
        }),
      },
      on: {
        '__name__.work.done': { actions: 'noteDone', target: 'resting' },
        '__name__.work.failed': { actions: 'noteFailure', target: 'backingOff' },
      },
      after: { patience: { actions: 'noteFailure', target: 'backingOff' } },
    },
    backingOff: {
      description: 'The work failed; it is tried again after a pause that grows with each failure.',
      tags: 'wrong',
      after: { backOff: 'resting' },
    },
    gone: { description: 'Nothing calls for the actor any more.', type: 'final' },
  },
});

const kind = defineKind({
  name: '__kind__',
  version: 1,
  description: 'Does once what the annotation of a __object__ asks for.',
  machine,
  effects,
  join: asked,
  /** What people and programs may send: \`orrery send __kind__/NAMESPACE/NAME __kind__.again\`. */
  messages: { '__kind__.again': v.object({}) },
  tell: tell<Context>(({ context: { facts, done, lastError, failures } }) => ({
    text:
      lastError !== null
        ? \`the work failed \${failures} times: \${lastError}\`
        : done === facts?.wanted
          ? \`\${done} is done\`
          : \`\${facts?.wanted} is being done\`,
  })),
});

export const feature = defineFeature({ name: '__name__', version: '0.1.0', kinds: [kind] });
`;

const testTemplate = `/** The chart of \`__name__\`, step by step: \`node --test\`. Charts are pure: no cluster is needed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { initialTransition, transition } from 'orrery';
import { machine } from './feature.ts';

const stamp = { at: 0, random: 0 };
const observed = (wanted: string | null) => ({
  ...stamp,
  type: '__kind__.observed' as const,
  facts: wanted === null ? null : { uid: 'uid-1', wanted },
});

function begun() {
  const input = { id: '__kind__/shop/a', namespace: 'shop', name: 'a' } as const;
  const [initial] = initialTransition(machine, input);
  return transition(machine, initial, observed('one'));
}

test('what the annotation asks for is asked of the effect, once', () => {
  const [state, actions] = begun();
  assert.equal(state.value, 'working');
  const asked = actions.find(({ type }) => type === '__name__.work');
  assert.deepEqual(asked?.params, { object: 'shop/a', wanted: 'one' });
  const [done] = transition(machine, state, { ...stamp, type: '__name__.work.done', wanted: 'one' });
  assert.equal(done.value, 'resting');
  const [same, again] = transition(machine, done, observed('one'));
  assert.equal(same.value, 'resting');
  assert.deepEqual(again, []);
});

test('a failure is tried again later, and looks wrong until then', () => {
  const [state] = begun();
  const failed = { code: 'FAILED', status: null, retryAfterMs: null, message: 'no weather' };
  const [next] = transition(machine, state, { ...stamp, type: '__name__.work.failed', ...failed });
  assert.equal(next.value, 'backingOff');
  assert.equal(next.hasTag('wrong'), true);
  assert.equal(next.context.lastError, 'no weather');
});

test('an object that is gone ends its actor', () => {
  const [state] = begun();
  const [gone] = transition(machine, state, observed(null));
  assert.equal(gone.status, 'done');
});
`;

function accessText({ name, watch }: NewFeature): string {
  return `# What ${name} needs beside the program's own rights. The whole set: orrery access --feature ./${name}/feature.ts
# NATS: replicas have all that they need; whoever sends to its actors publishes orrery.<cluster>.send.<kind>.>
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: orrery-${name}
rules:
  - apiGroups: ["${groupOf(watch)}"]
    resources: ["${pluralOf(watch)}"]
    verbs: ["get", "list", "watch"]
`;
}

function packageText({ name }: NewFeature): string {
  return `${JSON.stringify({ name, private: true, type: 'module' }, null, 2)}\n`;
}

function readmeText({ name, kind, watch }: NewFeature): string {
  return `# ${name}

One actor, \`${kind}/NAMESPACE/NAME\`, for each ${watch.kind} with the annotation \`example.com/${name}\`: it does once what the text asks for.

    node --test                   # the chart, step by step; Node finds the tests below the folder
    orrery chart ${kind} --feature ./${name}              # the chart, drawn
    orrery run --feature ./${name}                        # a replica with it; all replicas must have it
    orrery get ${kind} --feature ./${name}
    orrery access --feature ./${name} | kubectl apply -f -

Raise \`version\` in \`feature.ts\` with each release: of the versions that replicas have, the highest owns the actors.
Raise the kind's \`version\`, and add a migration, with each changed name of a state or field of the context.
`;
}
