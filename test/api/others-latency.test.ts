/**
 * A broken feature beside a good one, in virtual time: code that is busy spends time of the one thread that
 * both live on. However the one is broken, a message to an actor of the other is taken at most twice as late
 * as without it.
 */
import { expect, test } from 'vitest';
import { reasonOf } from '../../src/actors/control/reason.ts';
import { featureLimits } from '../../src/actors/feature-limits.ts';
import { recordOf } from '../../src/actors/host/cell.ts';
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
import type { ActorId } from '../../src/base/ids.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { gaugesOf } from '../../src/replica/replica-tells.ts';
import { TestCluster, type TestReplica } from '../actors/harness.ts';

/** What a step of the good one takes, ms: as a message over NATS does, from its sender to the saved step. */
const calmMs = 4;
/** Of the one broken: one transition of a chart; a call. */
const [transitionMs, callMs] = [0.02, 5];
/** Writing to the connection, ms: each time, and 5 ms for 400 KB, as with a server on the same machine. */
const [msPerAppend, msPerByte] = [0.1, 5 / (400 * 1024)];
const seconds = 2;
/** No multiple of anything: the two must not come to march in step. */
const pauseMs = 37;

let cluster: TestCluster;
const spend = (ms: number) => cluster.clock.spend(ms);

const calm = defineFeature({
  name: 'calm',
  version: '1.0.0',
  kinds: [
    defineKind({
      ...{ name: 'calm', version: 1, description: 'Counts.', createdBy: ['calm.go'] },
      machine: setup({
        types: { context: {} as { readonly n: number }, events: {} as { readonly type: string } },
        actions: {
          count: assign(({ context: { n } }) => {
            spend(calmMs);
            return { n: n + 1 };
          }),
        },
      }).createMachine({
        id: 'calm',
        context: { n: 0 },
        initial: 'idle',
        on: { 'calm.go': { actions: 'count' } },
        states: { idle: { tags: 'settled' } },
      }),
      messages: { 'calm.go': v.object({}) },
    }),
  ],
});

const things = watch('v1/Secret', { digest: v.object({ size: v.number() }) });
const endless = effect('rogue.wait', {
  run: () => {
    spend(callMs);
    return new Promise(() => {});
  },
  ...{ timeoutMs: 1_000, inFlight: 4 },
});
const effects = [endless, message] as const;
const machine = setup({
  types: {
    context: {} as {
      readonly name: string;
      readonly text: string;
      readonly n: number;
      readonly facts: unknown;
    },
    events: {} as { readonly type: string; readonly facts?: object },
    input: {} as ActorInput,
  },
  guards: { isNews },
  actions: {
    turn: () => {},
    remember: assign(({ event }) => ({ facts: event.facts ?? null })),
    fail: assign((): object => {
      spend(callMs);
      throw new Error('no weather');
    }),
    swell: assign(() => {
      spend(callMs);
      return { text: 'x'.repeat(600 * 1024) };
    }),
    fatten: assign(({ context: { n } }) => ({ text: 'x'.repeat(400 * 1024), n: n + 1 })),
    go: assign(({ context: { n } }) => {
      spend(transitionMs);
      return { n: n + 1 };
    }),
    ...actionsOf(...effects),
  },
}).createMachine({
  id: 'rogue',
  context: ({ input: { name } }) => ({ name, text: '', n: 0, facts: null }),
  initial: 'idle',
  on: {
    'rogue.observed': { guard: 'isNews', actions: 'remember' },
    'rogue.begin': '.idle',
    'rogue.throw': { actions: 'fail' },
    'rogue.swell': { actions: 'swell' },
    'rogue.fatten': { actions: 'fatten' },
    'rogue.circle': '.round',
    'rogue.wait': '.waiting',
    'rogue.shout': {
      actions: [
        'go',
        {
          type: 'message.send',
          params: ({ context: { name } }) => ({
            to: Array.from({ length: 10 }, () => `rogue/shop/${name}` as const),
            event: { type: 'rogue.shout' },
          }),
        },
      ],
    },
  },
  states: {
    idle: {},
    round: { always: { target: 'andRound', actions: 'go' } },
    andRound: { always: { target: 'round', actions: 'go' } },
    waiting: {
      entry: { type: 'rogue.wait', params: {} },
      on: { 'rogue.wait.failed': { target: 'waiting', reenter: true } },
    },
  },
});
const words = ['begin', 'throw', 'swell', 'fatten', 'circle', 'wait', 'shout'];
const rogue = defineFeature({
  name: 'rogue',
  version: '1.0.0',
  requests: {
    ask: {
      about: 'Takes long.',
      request: v.object({}),
      async answer() {
        spend(callMs);
        return {};
      },
    },
  },
  kinds: [
    defineKind({
      ...{ name: 'rogue', version: 1, description: 'Breaks.', machine, effects, createdBy: ['rogue.begin'] },
      join: join(things, {
        facts: ({ size }) => {
          spend(callMs);
          return { size };
        },
      }),
      messages: Object.fromEntries(words.map((word) => [`rogue.${word}`, v.object({})])),
    }),
  ],
});

/** What is written takes time of the thread, too. */
const costly = (bus: Bus): Bus => ({
  ...bus,
  append(subject, data, options) {
    spend(msPerAppend + data.byteLength * msPerByte);
    return bus.append(subject, data, options);
  },
});

async function begin(): Promise<TestReplica> {
  cluster = new TestCluster([calm, rogue]);
  const replica = await cluster.replica('a', { bend: costly });
  await cluster.put('_synced', '', 'rogue/v1/Secret', {
    ...{ kind: 'synced', gates: [], resource: 'rogue/v1/Secret' },
  });
  await Promise.all(rogues.map((id) => cluster.mail(id, { type: 'rogue.begin' })));
  await cluster.clock.advance(2_000);
  return replica;
}

const rogues = Array.from({ length: 30 }, (_, n): ActorId => `rogue/shop/r${n}`);

/** Names of calm actors differ from one measurement to the next. */
let round = 0;

/** Of messages to calm actors, each from when it was due to when its step is told; mean, ms. */
async function latencyMs(): Promise<number> {
  const { clock, hub } = cluster;
  round += 1;
  const due = new Map<string, number>();
  const took: number[] = [];
  const ear = hub.connect(`ear-${clock.now()}`);
  ear.subscribe('orrery.test.event.calm.>', ({ subject }) => {
    const id = subject.split('.').slice(3).join('/');
    took.push(clock.now() - (due.get(id) ?? Number.NaN));
  });
  const count = Math.floor((seconds * 1_000) / pauseMs);
  for (let n = 0; n < count; n++) {
    const id: ActorId = `calm/shop/c${round}-${n}`;
    due.set(id, clock.now() + n * pauseMs);
    clock.after(n * pauseMs, () => void cluster.mail(id, { type: 'calm.go' }));
  }
  await clock.advance(seconds * 1_000 + 500);
  await ear.close();
  expect(took).toHaveLength(count);
  return took.reduce((sum, one) => sum + one, 0) / count;
}

const toAll = (word: string, times: number) =>
  Promise.all(rogues.flatMap((id) => Array.from({ length: times }, () => cluster.mail(id, { type: word }))));

const cases: Readonly<Record<string, (replica: TestReplica) => Promise<unknown>>> = {
  'charts throw': () => toAll('rogue.throw', 5),
  'charts go round for ever': () => toAll('rogue.circle', 2),
  'contexts are larger than a record may be': () => toAll('rogue.swell', 5),
  'records have 400 KB and change again and again': () => toAll('rogue.fatten', 5),
  'effects never end': () => toAll('rogue.wait', 1),
  'it floods messages': () => toAll('rogue.shout', 1),
  'requests take long': ({ engine }) => {
    const requests = engine.runs.flatMap((run) => run.requests ?? []);
    const [ask] = requests.filter(({ name }) => name === 'rogue-ask');
    if (ask === undefined) throw new Error('nobody answers');
    const data = new TextEncoder().encode('{}');
    return Promise.all(Array.from({ length: 80 }, () => ask.handler({ data, headers: {} } as never)));
  },
  'objects take long to be told of': async () => {
    const object = {
      kind: 'kept',
      uid: 'u',
      resourceVersion: '1',
      createdAt: 0,
      deleting: false,
      labels: {},
    };
    for (let n = 0; n < 500; n++) {
      await cluster.put('rogue/v1/Secret', 'shop', `s${n}`, { ...object, kept: { size: n } });
    }
  },
};

for (const [what, breakIt] of Object.entries(cases))
  test(`others are as quick as ever while ${what}`, async () => {
    const replica = await begin();
    const before = await latencyMs();
    expect(before).toBeGreaterThanOrEqual(calmMs);
    const { promise: broken, resolve } = Promise.withResolvers<unknown>();
    // Among the messages, not before them.
    cluster.clock.after(100, () => resolve(breakIt(replica)));
    const meanwhile = await latencyMs();
    await broken;
    expect(meanwhile).toBeLessThanOrEqual(2 * before);
  });

test('who has used its share is told, and counted', async () => {
  const { engine, bus } = await begin();
  await toAll('rogue.fatten', 3);
  await cluster.clock.advance(500);
  expect(engine.remarks()).toEqual([]);
  const told = `held back: the feature rogue has used its share of this replica, ${featureLimits.shareMs} ms of each second`;
  const reasons = rogues.flatMap((id) => {
    const cell = engine.shards.runOf(id)?.cells.get(id);
    const chart = engine.parts.steppers.get('rogue')?.chart;
    return cell ? [reasonOf(cell, recordOf(cell), chart, 0).reason.text] : [];
  });
  expect(reasons).toContain(`${told}; idle`);
  const [held] = engine.parts.paces.used().filter(({ feature }) => feature === 'rogue');
  expect(held?.heldMs).toBeGreaterThan(300);
  // The share of the time until now, and the one step with which it was passed.
  const { shareSavedUpMs, shareMs, recordBytesPerMs } = featureLimits;
  const most =
    shareSavedUpMs + (shareMs * cluster.clock.monotonic()) / 1_000 + (500 * 1024) / recordBytesPerMs;
  expect(held?.busyMs).toBeLessThan(most);
  expect([...gaugesOf(engine, bus, { complaints: () => [] } as never, 0)]).toContainEqual({
    ...{ name: 'orrery_feature_held_seconds_total', labels: { feature: 'rogue' } },
    value: (held?.heldMs ?? 0) / 1_000,
  });
  await cluster.clock.advance(9_000);
  expect(engine.remarks()).toEqual([told]);
  await cluster.clock.advance(20_000);
  expect(engine.remarks()).toEqual([]);
});
