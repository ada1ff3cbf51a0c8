/** While somebody watches, whatever a chart says of its actors costs their shard nothing. */
import { expect, test } from 'vitest';
import { startInspection } from '../../../src/actors/control/inspection.ts';
import { assign, defineFeature, defineKind, setup, v } from '../../../src/api/index.ts';
import { decode, encodeJson } from '../../../src/bus/codec.ts';
import { TestCluster } from '../harness.ts';

const machine = setup({ types: { context: {} as { n: number } } }).createMachine({
  id: 'odd',
  context: { n: 0 },
  on: { 'odd.go': { actions: assign({ n: ({ context }) => context.n + 1 }) } },
});
const kind = (name: string, more: object) =>
  defineKind({
    ...{ name, version: 1, description: 'Counts.', machine, createdBy: ['odd.go'] },
    messages: { 'odd.go': v.object({}) },
    ...more,
  });
const odd = kind('odd', {
  explain: () => {
    throw new Error('no such field');
  },
  // JSON has no such numbers.
  tell: () => ({ text: 'Counts', facts: [{ label: 'count', value: 1, ends: 1n }] }),
});
const feature = defineFeature({ name: 'odd', version: '1.0.0', kinds: [odd, kind('even', {})] });

test('a chart whose words cannot be told costs its shard nothing, and others are told of', async () => {
  const cluster = new TestCluster([feature]);
  const { engine, bus, said } = await cluster.replica('a');
  const { clock, subjects } = cluster;
  startInspection({ engine, bus, subjects, clock, replica: 'a' });
  const page = cluster.hub.connect('page');
  const told = new Set<string>();
  page.subscribe(subjects.peer('rows'), ({ data }) => {
    for (const { id } of (decode(data) as { rows: ReadonlyArray<{ id: string }> }).rows) told.add(id);
  });
  const watch = { watcher: 'page', rows: true, steps: true, actors: [], facts: ['odd'], ttlMs: 60_000 };
  page.publish(subjects.peer('watch'), encodeJson(watch));
  await clock.advance(2_000);
  for (const id of ['odd/shop/x', 'even/shop/y'] as const) await cluster.mail(id, { type: 'odd.go' });
  await clock.advance(5_000);
  expect(said).toEqual([]);
  expect(cluster.states()).toEqual({ 'odd/shop/x': expect.anything(), 'even/shop/y': expect.anything() });
  expect([...told].sort()).toEqual(['even/shop/y', 'odd/shop/x']);
});
