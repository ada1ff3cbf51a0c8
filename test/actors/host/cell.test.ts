/** What a cell at rest holds besides the bytes of its record. */
import { expect, test } from 'vitest';
import { pickContext, recordOf } from '../../../src/actors/host/cell.ts';
import type { Cell } from '../../../src/actors/host/owned.ts';
import { TestCluster } from '../harness.ts';

test('whoever looks at an actor at rest leaves nothing at its record', async () => {
  const cluster = new TestCluster();
  const replica = await cluster.replica('a');
  await cluster.shop(2, 1);
  await cluster.clock.advance(600_000);
  const cells = [...replica.engine.shards.open()].flatMap(({ cells }): Cell[] => [...cells.values()]);
  const atRest = cells.flatMap((cell) => (cell.packed === null ? [] : [{ cell, packed: cell.packed }]));
  expect(atRest.length).toBeGreaterThan(0);
  for (const { cell, packed } of atRest) {
    expect(recordOf(cell)?.rev ?? 0).toBeGreaterThan(0);
    expect(pickContext(cell, (context) => context)).toEqual(recordOf(cell)?.snapshot.context);
    expect(Object.keys(packed)).toHaveLength(packed.length);
  }
});
