/**
 * A namespace with a time to live: it is warned before its end, kept from going unseen by a finalizer, then
 * deleted with everything in it. Whoever sets a later time extends it.
 */
import * as o from 'orrery';
import { setup } from 'orrery';

const domain = 'examples.orrery.dev';
const finalizer = `${domain}/janitor`;
const units = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `90m`, `12h`, `7d`; null: it is none of these. */
function timeToLive(text: string): number | null {
  const [, number, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  return unit === undefined ? null : Number(number) * units[unit as keyof typeof units];
}

const namespaces = o.watch('v1/Namespace', {
  digest: o.v.object({ text: o.v.string(), isHeld: o.v.boolean() }),
  read: ({ metadata: { annotations, finalizers = [] } }) => ({
    text: annotations?.[`${domain}/ttl`] ?? '',
    isHeld: finalizers.includes(finalizer),
  }),
  // One whose annotation was taken away is let go before it is forgotten.
  wants: ({ text, isHeld }) => text !== '' || isHeld,
});

const mortal = o.join(namespaces, {
  facts: ({ uid, deleting, createdAt, text }) => {
    const ttl = timeToLive(text);
    return { uid, deleting, text, endsAt: ttl === null ? null : createdAt + ttl };
  },
});

const hold = o.kubernetes.addFinalizer('namespace.hold', { resource: 'v1/Namespace', finalizer });
const release = o.kubernetes.removeFinalizer('namespace.release', { resource: 'v1/Namespace', finalizer });
const remove = o.kubernetes.delete('namespace.delete', { resource: 'v1/Namespace' });
const warn = o.kubernetes.event('namespace.warn');
const effects = [hold, release, remove, warn] as const;

type Event = o.Observed<'tenancy', typeof mortal> | o.EventsOf<typeof effects>;
interface Context {
  readonly name: string;
  readonly facts: o.Observed<'tenancy', typeof mortal>['facts'];
  /** The end of which people were warned; another one is warned of anew. */
  readonly warnedOf: number | null;
  /** Of the last event, ms since the epoch: charts read no clock. */
  readonly now: number;
  readonly failures: number;
  readonly lastError: string;
}
type Args = { readonly context: Context };

const warnMs = 3_600_000;
const endOf = ({ facts }: Context) => facts?.endsAt ?? Number.POSITIVE_INFINITY;
const day = (at: number) => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
const self = ({ context: { name, facts } }: Args) => ({ name, uid: facts?.uid ?? '' });
const warning = ({ context }: Args) => ({
  regarding: { apiVersion: 'v1', kind: 'Namespace', name: context.name, uid: context.facts?.uid ?? '' },
  eventType: 'Warning' as const,
  reason: 'NamespaceExpires',
  note: `Everything in ${context.name} is deleted at ${day(endOf(context))}; a longer ${domain}/ttl extends it.`,
});

const machine = setup({
  types: {
    context: {} as Context,
    events: {} as Event & o.Stamp,
    input: {} as o.ActorInput,
    tags: {} as 'settled' | 'wrong',
  },
  guards: {
    isGone: o.isGone,
    isNews: o.isNews,
    isLeaving: ({ context: { facts } }) => facts?.deleting === true,
    isUnwanted: ({ context: { facts } }) => facts?.text === '',
    isUnreadable: ({ context: { facts } }) => facts !== null && facts.text !== '' && facts.endsAt === null,
    isOver: ({ context }) => endOf(context) <= context.now,
    isWarned: ({ context }) => context.warnedOf === endOf(context),
    isNear: ({ context }) => endOf(context) - warnMs <= context.now,
  },
  delays: {
    backOff: ({ context: { failures } }) => o.backOffMs(failures, 1_000, 60_000),
    // A day at most: a clock that was set is noticed by then.
    untilWarning: ({ context }) => Math.min(Math.max(0, endOf(context) - warnMs - context.now), 86_400_000),
    untilEnd: ({ context }) => Math.min(Math.max(0, endOf(context) - context.now), 86_400_000),
  },
  actions: {
    remember: o.on('tenancy.observed', ({ event: { facts } }) => ({ facts })),
    look: o.assign({ now: ({ event }) => event.at }),
    noteWarned: o.assign({ warnedOf: ({ context }) => endOf(context) }),
    noteFailure: o.assign({
      failures: ({ context }) => context.failures + 1,
      lastError: ({ event }) => ('message' in event ? event.message : 'not done in time'),
    }),
    noteDone: o.assign({ failures: 0 }),
    ...o.actionsOf(...effects),
  },
}).createMachine({
  id: 'tenancy',
  context: ({ input: { name } }) => ({
    ...{ name, facts: null, warnedOf: null, now: 0, failures: 0, lastError: '' },
  }),
  initial: 'unseen',
  on: {
    'tenancy.observed': [
      { guard: 'isGone', target: '.gone' },
      { guard: 'isNews', actions: 'remember', target: '.looking' },
    ],
  },
  states: {
    unseen: { description: 'Nothing is known of it yet.', tags: 'settled' },
    looking: {
      description: 'What is due is found out.',
      entry: 'look',
      always: [
        { guard: o.or(['isLeaving', 'isUnwanted']), target: 'releasing' },
        { guard: 'isUnreadable', target: 'unreadable' },
        { target: 'holding' },
      ],
    },
    holding: {
      description: 'The namespace gets a finalizer: it does not go without being seen.',
      entry: { type: 'namespace.hold', params: self },
      on: {
        'namespace.hold.done': { actions: ['noteDone', 'look'], target: 'living' },
        'namespace.hold.failed': 'failing',
      },
      after: { 35000: 'failing' },
    },
    living: {
      description: 'Its time is not over.',
      initial: 'choosing',
      states: {
        choosing: {
          description: 'How far the end is away.',
          entry: 'look',
          always: [
            { guard: 'isOver', target: '#tenancy.ending' },
            { guard: o.and(['isNear', o.not('isWarned')]), target: 'warning' },
            { guard: 'isNear', target: 'warned' },
            { target: 'young' },
          ],
        },
        young: {
          description: 'Nobody has to think of its end yet.',
          tags: 'settled',
          after: { untilWarning: 'choosing' },
        },
        warning: {
          description: 'People are told that it ends within the hour.',
          entry: { type: 'namespace.warn', params: warning },
          on: {
            'namespace.warn.done': { actions: ['noteWarned', 'noteDone'], target: 'choosing' },
            'namespace.warn.failed': '#tenancy.failing',
          },
          after: { 35000: '#tenancy.failing' },
        },
        warned: {
          description: 'It ends within the hour, unless it is extended.',
          after: { untilEnd: 'choosing' },
        },
      },
    },
    ending: {
      description: 'Its time is over: it is being deleted.',
      entry: { type: 'namespace.delete', params: self },
      on: { 'namespace.delete.failed': 'failing' },
      after: { 35000: 'failing' },
    },
    releasing: {
      description: 'The namespace is let go, or left to itself.',
      entry: { type: 'namespace.release', params: self },
      on: { 'namespace.release.done': 'released', 'namespace.release.failed': 'failing' },
      after: { 35000: 'failing' },
    },
    released: {
      description: 'The rest is up to others.',
      tags: 'settled',
    },
    unreadable: {
      description: 'The annotation is no time to live: nothing is done.',
      tags: ['settled', 'wrong'],
    },
    failing: {
      description: 'The API server refused, or did not answer; it is tried again after a pause that grows.',
      tags: 'wrong',
      entry: 'noteFailure',
      after: { backOff: 'looking' },
    },
    gone: { description: 'The namespace is gone.', type: 'final' },
  },
});

export const tenancy = o.defineKind({
  ...{ name: 'tenancy', shortName: 'ten', version: 1, machine, effects, join: mortal },
  description: 'Deletes a namespace when its time to live is over.',
  tell: o.tell<Context>((standing) => {
    const { name, facts, lastError } = standing.context;
    const end = facts?.endsAt ?? null;
    const told = end === null ? [] : [{ label: 'Ends', value: end, unit: 'time' }];
    if (o.isIn(standing, 'failing'))
      return { text: `${name} waits for another try: ${lastError}`, facts: told };
    if (o.isIn(standing, 'unreadable'))
      return { text: `"${facts?.text}" of ${name} is no time to live, such as 90m, 12h or 7d`, next: null };
    if (o.isIn(standing, 'releasing') || o.isIn(standing, 'released'))
      return { text: `${name} is let go`, next: null };
    if (end === null) return { text: `${name} is looked at` };
    if (o.isIn(standing, 'ending')) return { text: `${name} is being deleted`, facts: told };
    const soon = o.isIn(standing, 'living.warned') ? ' (people were warned)' : '';
    return {
      text: `${name} lives until ${day(end)}${soon}`,
      next: { text: 'its end', at: end },
      facts: told,
    };
  }),
});

export const feature = o.defineFeature({ name: 'namespace-janitor', version: '1.0.0', kinds: [tenancy] });
