/** A feature's chart may spare work: it merges, waits and defers. Where that fails, work is not spared. */
import { expect, test } from 'vitest';
import { pickContext } from '../../../src/actors/host/cell.ts';
import { assign, defineFeature, defineKind, setup, v } from '../../../src/api/index.ts';
import { TestCluster } from '../harness.ts';

const fails = () => {
  throw new Error('no such field');
};

const asItIs = (context: unknown) => context;

function oddities(sparing: object) {
  const machine = setup({ types: { context: {} as { n: number } } }).createMachine({
    id: 'odd',
    context: { n: 0 },
    on: { 'odd.go': { actions: assign({ n: ({ context }) => context.n + 1 }) } },
  });
  const kind = defineKind({
    ...{ name: 'odd', version: 1, description: 'Counts.', machine, createdBy: ['odd.go'] },
    messages: { 'odd.go': v.object({}) },
    ...sparing,
  });
  return defineFeature({ name: 'odd', version: '1.0.0', kinds: [kind] });
}

test.each([
  ['merge', { merge: fails }],
  ['patience', { patience: fails }],
  ['deferrable', { deferrable: fails, quiet: () => true }],
])('%s that throws costs no actor an event, and no other actor anything', async (_, sparing) => {
  const cluster = new TestCluster([oddities(sparing)]);
  const { engine, said } = await cluster.replica('a');
  await cluster.clock.advance(2_000);
  const go = { type: 'odd.go' };
  await Promise.all(['x', 'x', 'x', 'y'].map((name) => cluster.mail(`odd/shop/${name}`, go)));
  await cluster.clock.advance(5_000);
  const run = engine.shards.runOf('odd/shop/x');
  if (run) engine.host.deliver(run, 'odd/shop/x', { event: go, cause: null });
  await cluster.clock.advance(5_000);
  const count = (name: string) => {
    const cell = engine.shards.runOf(`odd/shop/${name}`)?.cells.get(`odd/shop/${name}`);
    return cell && pickContext(cell, asItIs);
  };
  expect([count('x'), count('y')]).toEqual([{ n: 4 }, { n: 1 }]);
  expect(cluster.dead).toEqual([]);
  // The shard was not claimed again for it.
  expect(said).toEqual([expect.stringMatching(/^a chart failed to spare work/)]);
});
