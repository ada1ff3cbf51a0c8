/** Empties a Node for as long as it has the annotation, and lets it work again when that is taken away. */
import * as o from 'orrery';
import { setup } from 'orrery';

const nodes = o.watch('v1/Node', {
  digest: o.v.object({ reason: o.v.string(), free: o.v.optional(o.v.boolean(), false) }),
  read: ({ metadata: { annotations = {} }, spec }) => ({
    reason: annotations['examples.orrery.dev/drain'] ?? '',
    free: (spec as { unschedulable?: boolean } | undefined)?.unschedulable !== true,
  }),
  wants: ({ reason }) => reason !== '',
});
/** Pods that have to leave: not those of DaemonSets, of the kubelet itself, or that have ended. */
const pods = o.watch('v1/Pod', {
  digest: o.v.object({ node: o.v.optional(o.v.string(), ''), stays: o.v.boolean() }),
  read: ({ metadata: { annotations = {}, ownerReferences = [] }, spec, status }) => {
    const { nodeName: node } = spec as { nodeName?: string };
    const { phase = '' } = (status ?? {}) as { phase?: string };
    const isDaemon = ownerReferences.some(({ kind }) => kind === 'DaemonSet');
    const isBound = isDaemon || 'kubernetes.io/config.mirror' in annotations;
    return { node, stays: isBound || phase === 'Succeeded' || phase === 'Failed' };
  },
  wants: ({ node, stays }) => node !== '' && !stays,
});
const idOf = ({ namespace, name, uid }: o.Watched<object>) => ({ namespace, name, uid });
const wanted = o.join(nodes, {
  with: { pods: o.related(pods, ({ node }) => [{ name: node }]) },
  facts: (asked, found) => ({ ...asked, pods: found.pods.map(idOf) }),
});
const cordon = o.kubernetes.patch('node.cordon', { resource: 'v1/Node' });
/** Asks every Pod to go; a budget that says no holds its own alone. */
const evict = o.effect('pods.evict', {
  needs: [{ apiGroup: '', resources: ['pods/eviction'], verbs: ['create'], why: 'Pods leave the Node' }],
  run: async ({ pods }: { readonly pods: readonly o.EvictParams[] }, { kubernetes }) => {
    const asked = pods.map(async (pod) => ({ pod, ...(await kubernetes.evict(pod)) }));
    const blocked = (await Promise.all(asked)).filter(({ outcome }) => outcome === 'blocked');
    return { blocked: blocked.map(({ pod: { namespace, name } }) => `${namespace}/${name}`) };
  },
});
const effects = [cordon, evict] as const;
type Event = o.Observed<'drain', typeof wanted> | o.EventsOf<typeof effects>;
interface Context {
  readonly name: string;
  readonly facts: o.Observed<'drain', typeof wanted>['facts'];
  readonly blocked: readonly string[];
  readonly failures: number;
  readonly lastError: string;
}
const cordoned = (unschedulable: true | null) => ({
  type: 'node.cordon' as const,
  params: ({ context: { name } }: { context: Context }) => ({ name, patch: { spec: { unschedulable } } }),
});
const machine = setup({
  types: { context: {} as Context, events: {} as Event & o.Stamp, input: {} as o.ActorInput },
  guards: {
    isNews: o.isNews,
    isUnwanted: ({ context, event }) => ('facts' in event ? event.facts : context.facts) === null,
    isStuck: ({ context, event }) => 'blocked' in event && event.blocked.length > 0 && context.failures >= 10,
    isLanded: o.not(o.stateIn('cordoning')),
    isFree: ({ context }) => context.facts?.free === true,
    isEmpty: ({ context }) => context.facts?.pods.length === 0,
    hasNoNode: ({ event }) => 'code' in event && event.code === 'KUBE_NOT_FOUND',
  },
  delays: { backOff: ({ context: { failures } }) => o.backOffMs(failures, 1_000, 60_000) },
  actions: {
    remember: o.on('drain.observed', ({ event: { facts } }) => ({ facts })),
    noteRound: o.on('pods.evict.done', ({ context: { failures }, event: { blocked } }) =>
      blocked.length > 0 ? { blocked, failures: failures + 1 } : { blocked, failures: 0 },
    ),
    noteFailure: o.assign({
      failures: ({ context }) => context.failures + 1,
      lastError: ({ event }) => ('message' in event ? event.message : 'not done in time'),
    }),
    ...o.actionsOf(...effects),
  },
}).createMachine({
  id: 'drain',
  context: ({ input: { name } }) => ({ name, facts: null, blocked: [], failures: 0, lastError: '' }),
  initial: 'cordoning',
  on: {
    'drain.observed': [
      { guard: o.and(['isNews', 'isUnwanted', 'isLanded']), actions: 'remember', target: '.uncordoning' },
      { guard: 'isNews', actions: 'remember' },
    ],
  },
  states: {
    cordoning: {
      description: 'The Node is told to take no more Pods; that is taken back only once it has landed.',
      entry: cordoned(true),
      on: {
        'node.cordon.done': [{ guard: 'isUnwanted', target: 'uncordoning' }, { target: 'evicting' }],
        'node.cordon.failed': 'failing',
      },
      after: { 35000: 'failing' },
    },
    evicting: {
      description: 'Every Pod that is not going yet is asked to.',
      entry: { type: 'pods.evict', params: ({ context }) => ({ pods: context.facts?.pods ?? [] }) },
      exit: 'noteRound',
      always: { guard: 'isEmpty', target: 'drained' },
      on: {
        'pods.evict.done': [{ guard: 'isStuck', target: 'failing' }, { target: 'waiting' }],
        'pods.evict.failed': 'failing',
      },
      after: { 35000: 'failing' },
    },
    waiting: {
      description: 'Pods end, or budgets hold them: they are asked again after a pause that grows.',
      always: { guard: 'isEmpty', target: 'drained' },
      // An earlier write may land last: what counts is whether the Node is seen to take Pods.
      after: { backOff: [{ guard: 'isFree', target: 'cordoning' }, { target: 'evicting' }] },
    },
    drained: {
      description: 'No Pod is left that has to leave.',
      tags: 'settled',
      always: { guard: o.not('isEmpty'), target: 'evicting' },
      after: { 15000: { guard: 'isFree', target: 'cordoning' } },
    },
    uncordoning: {
      description: 'Nobody wants it empty any more: the Node takes Pods again.',
      entry: cordoned(null),
      on: {
        'drain.observed': { guard: 'isNews', actions: 'remember', target: 'cordoning' },
        'node.cordon.done': 'gone',
        'node.cordon.failed': [{ guard: 'hasNoNode', target: 'gone' }, { target: 'failing' }],
      },
      after: { 35000: 'failing' },
    },
    failing: {
      description: 'The API server refused, or did not answer; it is tried again after a pause that grows.',
      tags: 'wrong',
      entry: 'noteFailure',
      after: { backOff: [{ guard: 'isUnwanted', target: 'uncordoning' }, { target: 'cordoning' }] },
    },
    gone: { description: 'The Node is back at work.', type: 'final' },
  },
});
export const drain = o.defineKind({
  ...{ name: 'drain', version: 1, machine, effects, join: wanted },
  description: 'Empties a Node for as long as an annotation asks for it.',
  tell: o.tell<Context>(({ states: [state], context: { name, facts, blocked, lastError } }) => {
    const told = (text: string) => ({ text, facts: [{ label: 'Left', value: facts?.pods.length ?? 0 }] });
    const held = blocked.length > 0 ? `; budgets hold ${blocked.join(', ')}` : '';
    if (state === 'failing') return told(`${name} waits for another try: ${lastError}${held}`);
    if (facts === null) return told(`${name} takes Pods again`);
    if (state === 'drained') return told(`${name} is empty: ${facts.reason}`);
    return told(`${name} is being emptied (${facts.reason}), Pods left: ${facts.pods.length}${held}`);
  }),
});
export const feature = o.defineFeature({ name: 'node-drain', version: '1.0.0', kinds: [drain] });
