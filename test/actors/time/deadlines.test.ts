/** Deadlines of actors whose chart has changed: a wait begun under one version ends under the next (I4). */
import { expect, test } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import { type ActorInput, defineFeature, defineKind, setup, v } from '../../../src/api/index.ts';
import { TestCluster } from '../harness.ts';

const id = 'egg/shop/a';

/** An egg that boils for a minute, if its chart does not say otherwise. */
interface Form {
  readonly version?: number;
  /** The name of the state that waits. */
  readonly waits?: string;
  /** The key of its deadline, a delay of that name or a number of ms; null: it waits for ever. */
  readonly after?: string | number | null;
  readonly delay?: number | ((args: { event: { at: number } }) => number);
  /** A state beside it that waits as long, entered by `egg.turn`. */
  readonly beside?: string;
  readonly renames?: Readonly<Record<string, string>>;
}

function chartOf({ waits = 'boiling', after = 'patience', delay = 60_000, beside }: Form): AnyStateMachine {
  const wait = after === null ? {} : { after: { [after]: '#egg.done' } };
  return setup({
    types: { context: {} as object, input: {} as ActorInput },
    delays: { [String(after)]: delay as never },
  }).createMachine({
    id: 'egg',
    context: {},
    initial: 'raw',
    states: {
      raw: { on: { 'egg.boil': 'pot' } },
      pot: {
        initial: waits,
        states: { [waits]: wait, ...(beside === undefined ? {} : { [beside]: wait }) },
        on: beside === undefined ? {} : { 'egg.turn': `.${beside}` },
      },
      done: {},
    },
  });
}

function eggs(form: Form) {
  const { version = 1, renames = {} } = form;
  const rename = (value: unknown) => {
    const { pot } = value as { pot?: string };
    return pot === undefined ? value : { pot: renames[pot] ?? pot };
  };
  const kind = defineKind({
    ...{ name: 'egg', version, description: 'Boils.', machine: chartOf(form), createdBy: ['egg.boil'] },
    messages: { 'egg.boil': v.object({}), 'egg.turn': v.object({}) },
    migrations: Object.fromEntries(
      Array.from({ length: version - 1 }, (_, index) => [
        index + 1,
        ({ value, context }) => ({ value: rename(value), context }),
      ]),
    ),
  });
  return defineFeature({ name: 'kitchen', version: `1.${version}.0`, kinds: [kind] });
}

/** Boils one for 40 s under the first form, then the other takes it up. */
async function rollOver(before: Form, after: Form) {
  const cluster = new TestCluster();
  const a = await cluster.replica('a', { more: [eggs(before)] });
  await cluster.clock.advance(5_000);
  await cluster.mail(id, { type: 'egg.boil' });
  await cluster.clock.advance(40_000);
  a.engine.kill();
  const b = await cluster.replica('b', { more: [eggs(after)] });
  return { cluster, b };
}

const done = ({ transitions }: { transitions: readonly { id: string; to: string; at: number }[] }) =>
  transitions.filter(({ to }) => to === 'done').map(({ at }) => at);

/** After how many seconds each was done. */
function doneAfter(cluster: TestCluster): readonly number[] {
  const all = cluster.transitions();
  const begun = all.find(({ event }) => event.type === 'egg.boil')?.at ?? 0;
  return done({ transitions: all }).map((at) => Math.round((at - begun) / 1_000));
}

const renamed: Form = { version: 2, waits: 'simmering', renames: { boiling: 'simmering' } };

test.each<readonly [what: string, before: Form, after: Form]>([
  ['a renamed state', {}, renamed],
  ['a renamed delay', {}, { version: 2, after: 'minute' }],
  ['both renamed', {}, { ...renamed, after: 'minute' }],
  ['another number of ms, without a new version', { after: 60_000 }, { after: 70_000, delay: 70_000 }],
  ['two versions at once', {}, { ...renamed, version: 3 }],
])('a deadline keeps its time: %s', async (_what, before, after) => {
  const { cluster } = await rollOver(before, after);
  await cluster.clock.advance(120_000);
  expect(doneAfter(cluster)).toEqual([60]);
});

test('a deadline comes no later than the new chart would have it', async () => {
  const { cluster } = await rollOver({ delay: 600_000 }, renamed);
  await cluster.clock.advance(300_000);
  const [after = 0] = doneAfter(cluster);
  expect(after).toBeGreaterThanOrEqual(100);
  expect(after).toBeLessThanOrEqual(110);
});

test('a state that had no deadline gets one that counts from the roll-over, and not from each move', async () => {
  const { cluster, b } = await rollOver({ after: null }, renamed);
  await cluster.clock.advance(45_000);
  expect(doneAfter(cluster)).toEqual([]);
  b.engine.kill();
  await cluster.replica('c', { more: [eggs(renamed)] });
  await cluster.clock.advance(30_000);
  expect(doneAfter(cluster)).toHaveLength(1);
});

test('whoever goes back to the version before finds the deadline again', async () => {
  const { cluster, b } = await rollOver({}, renamed);
  await cluster.clock.advance(8_000);
  b.engine.kill();
  await cluster.replica('c', { more: [eggs({})] });
  await cluster.clock.advance(60_000);
  expect(doneAfter(cluster)).toEqual([60]);
});

test('an old deadline does not end a new wait whose state has the old name', async () => {
  const { cluster } = await rollOver({}, { ...renamed, beside: 'boiling' });
  await cluster.mail(id, { type: 'egg.turn' });
  await cluster.clock.advance(58_000);
  expect(doneAfter(cluster)).toEqual([]);
  await cluster.clock.advance(10_000);
  expect(doneAfter(cluster)).toHaveLength(1);
});

test('a delay that looks at the event is told when the actor was taken up', async () => {
  const seen: number[] = [];
  const delay = ({ event }: { event: { at: number } }) => {
    seen.push(event.at);
    return 10_000;
  };
  const { cluster } = await rollOver({ after: null }, { ...renamed, delay });
  const now = cluster.clock.now();
  await cluster.clock.advance(30_000);
  expect(doneAfter(cluster)).toHaveLength(1);
  expect(seen.every((at) => Math.abs(at - now) < 10_000)).toBe(true);
});

test('a delay that throws for it parks nobody: the deadline is where it was, or due', async () => {
  const delay = () => {
    throw new Error('no weather');
  };
  const { cluster } = await rollOver({}, { ...renamed, delay });
  await cluster.clock.advance(60_000);
  expect(doneAfter(cluster)).toEqual([60]);
});
