/**
 * A feature in two versions, as files. A parcel for each ConfigMap with the label is packed, rests for a
 * while, and is sent; each is reported to a counter over HTTP. The second version has other names for its
 * states, and knows one thing more about each parcel.
 */
const office = `
import * as o from 'orrery';
import { setup } from 'orrery';

const office = {
  metrics: { parcels_sent_total: { type: 'counter', labels: [], help: 'Parcels that are there.' } },
  onStep: ({ to, from }, { metrics }) => {
    if (to === 'sent' && from !== to) metrics.count('parcels_sent_total');
  },
  requests: {
    price: {
      about: 'What a parcel costs.',
      request: o.v.object({ grams: o.v.pipe(o.v.number(), o.v.minValue(1)) }),
      answer: async ({ grams }, { now }) => ({ cents: 200 + grams, at: now() }),
    },
  },
};
`;

const common = (waits: string, sends: string) => `
const maps = o.watch('v1/ConfigMap', { labelSelector: 'example.com/parcel', digest: o.v.object({}), read: () => ({}) });
const wanted = o.join(maps, { facts: ({ uid }) => ({ uid }) });
const tellOf = o.effect('parcel.tell', {
  untilDone: true,
  run: async ({ stage }, { key, actor, http }) => {
    const { status } = await http({ method: 'POST', url: process.env.COUNTER, body: { key, actor, stage } });
    if (status !== 200) throw new o.Failure('the counter said ' + status);
  },
});
const told = (stage) => ({ type: 'parcel.tell', params: { stage } });
const machine = setup({
  types: {},
  guards: { isNews: o.isNews },
  actions: {
    remember: o.assign({ facts: ({ event }) => event.facts }),
    stamp: o.assign({ stamps: ({ context, event }) => [...context.stamps, event.n] }),
    ...o.actionsOf(tellOf),
  },
}).createMachine({
  id: 'parcel',
  context: () => FRESH,
  initial: 'unseen',
  on: {
    'parcel.observed': { guard: 'isNews', actions: 'remember' },
    'parcel.stamp': { actions: 'stamp' },
  },
  states: {
    unseen: { description: 'New.', always: { guard: ({ context }) => context.facts !== null, target: 'packing' } },
    packing: {
      description: 'It is packed.',
      entry: told('packed'),
      on: { 'parcel.tell.done': '${waits}' },
      after: { 600000: '${waits}' },
    },
    ${waits}: { description: 'It waits for the van.', after: { 1500: '${sends}' } },
    ${sends}: {
      description: 'It is on its way.',
      entry: told('sent'),
      on: { 'parcel.tell.done': 'sent' },
      after: { 600000: 'sent' },
    },
    sent: { description: 'It is there.', tags: 'settled' },
  },
});
const kind = (more) => o.defineKind({
  ...{ name: 'parcel', description: 'A parcel.', machine, effects: [tellOf], join: wanted },
  messages: { 'parcel.stamp': o.v.object({ n: o.v.number() }) },
  ...more,
});
`;

export const first = `${office}${common('waiting', 'sending').replace('FRESH', '({ facts: null, stamps: [] })')}
export const feature = o.defineFeature({ name: 'parcels', version: '1.0.0', kinds: [kind({ version: 1 })], ...office });
`;

export const second = `${office}${common('resting', 'delivering').replace('FRESH', "({ facts: null, stamps: [], route: 'new' })")}
const renamed = { waiting: 'resting', sending: 'delivering' };
const migrations = {
  1: ({ value, context }) => ({ value: renamed[value] ?? value, context: { ...context, route: 'migrated' } }),
};
export const feature = o.defineFeature({ name: 'parcels', version: '2.0.0', kinds: [kind({ version: 2, migrations })], ...office });
`;
