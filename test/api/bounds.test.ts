/**
 * A broken feature of somebody's own hurts its own actors alone: each way to break one, beside a good one.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { featureLimits } from '../../src/actors/feature-limits.ts';
import {
  type ActorInput,
  actionsOf,
  assign,
  defineFeature,
  defineKind,
  effect,
  isNews,
  join,
  message,
  setup,
  v,
  watch,
} from '../../src/api/index.ts';
import { TestCluster } from '../actors/harness.ts';
import { greetings, written } from './greetings.ts';

const greetingWorld = 'greetings/v1/ConfigMap';
const rogueWorld = 'rogue/v1/Secret';

const object = (kept: object, uid = 'uid-1') => ({
  ...{ kind: 'kept', uid, resourceVersion: '1', createdAt: 0, deleting: false, labels: {} },
  kept,
});

const things = watch('v1/Secret', { digest: v.object({ size: v.number() }) });
/** What each test makes fail. */
const faults = {
  facts: (size: number): object | null => ({ size }),
  isBroken: () => false,
  text: () => '',
  run: async (): Promise<void> => {},
};
const endless = effect('rogue.work', { run: () => faults.run(), timeoutMs: 1_000, inFlight: 2 });
const effects = [endless, message] as const;
const machine = setup({
  types: {
    context: {} as {
      readonly facts: object | null;
      readonly text: string;
      readonly name: string;
      readonly failed: number;
    },
    events: {} as { readonly type: string; readonly facts?: object; readonly code?: string },
    input: {} as ActorInput,
  },
  guards: { isNews, isBroken: () => faults.isBroken() },
  actions: {
    remember: assign(({ event }) => ({ facts: event.facts ?? null, text: faults.text() })),
    fail: assign(({ context }) => ({ failed: context.failed + 1 })),
    ...actionsOf(...effects),
  },
}).createMachine({
  id: 'rogue',
  context: ({ input: { name } }) => ({ facts: null, text: '', name, failed: 0 }),
  initial: 'idle',
  on: {
    'rogue.observed': { guard: 'isNews', actions: 'remember' },
    'rogue.work': '.working',
    'rogue.loop': '.looping',
    'rogue.shout': {
      actions: {
        type: 'message.send',
        params: ({ context }) => ({
          to: Array.from({ length: 10 }, () => `rogue/shop/${context.name}` as const),
          event: { type: 'rogue.shout' },
        }),
      },
    },
  },
  states: {
    idle: { always: { guard: 'isBroken', target: 'broken' } },
    broken: {},
    working: {
      entry: { type: 'rogue.work', params: {} },
      on: { 'rogue.work.failed': { actions: 'fail', target: 'pausing' } },
    },
    pausing: { after: { 100: 'working' } },
    looping: { always: 'loopingToo' },
    loopingToo: { always: 'looping' },
  },
});
const rogue = defineFeature({
  name: 'rogue',
  version: '1.0.0',
  kinds: [
    defineKind({
      ...{ name: 'rogue', version: 1, description: 'Breaks.', machine, effects },
      join: join(things, { facts: ({ size }) => faults.facts(size) }),
      messages: { 'rogue.work': v.object({}), 'rogue.loop': v.object({}), 'rogue.shout': v.object({}) },
    }),
  ],
});

let cluster: TestCluster;

beforeEach(async () => {
  written.length = 0;
  Object.assign(faults, {
    facts: (size: number) => ({ size }),
    isBroken: () => false,
    text: () => '',
    run: async () => {},
  });
  cluster = new TestCluster([greetings, rogue]);
  await cluster.replica('a');
  for (const world of [greetingWorld, rogueWorld])
    await cluster.put('_synced', '', world, { kind: 'synced', gates: [], resource: world });
});

/** A good actor is born, told, and does what it has to, within a second. */
async function othersGoOn() {
  const name = `n${written.length}`;
  await cluster.put(greetingWorld, 'shop', name, object({ who: name }));
  await cluster.clock.advance(1_000);
  expect(cluster.states()[`greeting/shop/${name}`]).toBe('resting');
  expect(written.at(-1)).toBe(`hello ${name}`);
}

const begin = async (name = 'x') => {
  await cluster.put(rogueWorld, 'shop', name, object({ size: 1 }));
  await cluster.clock.advance(1_000);
};

describe('others go on while', () => {
  test('its chart throws', async () => {
    faults.isBroken = () => {
      throw new Error('no weather');
    };
    await begin();
    expect(cluster.states()['rogue/shop/x']).toBeUndefined();
    await othersGoOn();
  });

  test('its join throws: the actor of that object alone is told nothing', async () => {
    faults.facts = (size) => {
      if (size === 2) throw new Error('no weather');
      return { size };
    };
    await cluster.put(rogueWorld, 'shop', 'bad', object({ size: 2 }));
    await begin('good');
    expect(cluster.states()).toMatchObject({ 'rogue/shop/good': 'idle' });
    expect(cluster.states()['rogue/shop/bad']).toBeUndefined();
    await othersGoOn();
  });

  test('its chart goes round for ever', async () => {
    await begin();
    await cluster.mail('rogue/shop/x', { type: 'rogue.loop' });
    await cluster.clock.advance(60_000);
    expect(cluster.states()['rogue/shop/x']).toBe('idle');
    await othersGoOn();
  });

  test('its context is larger than a record may be', async () => {
    faults.text = () => 'x'.repeat(600 * 1024);
    await begin();
    expect(cluster.states()['rogue/shop/x']).toBeUndefined();
    await othersGoOn();
  });

  test('its effects never end: each fails when its time is over, and only so many are left behind', async () => {
    faults.run = () => new Promise(() => {});
    await begin();
    await cluster.mail('rogue/shop/x', { type: 'rogue.work' });
    await cluster.clock.advance(15_000);
    const codes = cluster
      .transitions()
      .flatMap(({ event }) => (event.type === 'rogue.work.failed' ? [event.code] : []));
    expect(codes.slice(0, 8)).toEqual(Array.from({ length: 8 }, () => 'TIMEOUT'));
    expect(new Set(codes.slice(8))).toEqual(new Set(['STUCK']));
    await othersGoOn();
  });

  test('it floods messages: they are sent no faster than a feature may', async () => {
    await begin();
    await cluster.mail('rogue/shop/x', { type: 'rogue.shout' });
    await cluster.clock.advance(4_000);
    await othersGoOn();
    const { messagesSavedUp, messagesPerSecond } = featureLimits;
    const shouts = cluster.ranOf('message.send').length;
    expect(shouts).toBeGreaterThan(100);
    expect(shouts).toBeLessThanOrEqual(
      messagesSavedUp + 16 * messagesPerSecond + featureLimits.effectsInFlightMax,
    );
  });
});
