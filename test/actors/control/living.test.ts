/** How many actors a replica tells in each heartbeat: the number is right, and costs nothing at rest. */
import { expect, test } from 'vitest';
import { livingIn } from '../../../src/actors/control/actor-views.ts';
import type { ShardRun } from '../../../src/actors/host/owned.ts';
import { TestCluster } from '../harness.ts';

/** Counts how often the cells of these shards are gone through. */
function rounds(runs: Iterable<ShardRun>): () => number {
  let count = 0;
  for (const { cells } of runs) {
    const values = cells.values.bind(cells);
    cells.values = () => {
      count += 1;
      return values();
    };
  }
  return () => count;
}

const living = (runs: Iterable<ShardRun>) => [...runs].reduce((sum, run) => sum + livingIn(run), 0);

test('heartbeats of a replica at rest go through no actors', async () => {
  const cluster = new TestCluster();
  const { engine } = await cluster.replica('a');
  await cluster.shop(1, 3);
  await cluster.clock.advance(10_000);
  const count = rounds([...engine.shards.open()].filter(({ cells }) => cells.size > 0));
  await cluster.clock.advance(5_000);
  const beat = engine.directory.all().find(({ replica }) => replica === 'a');
  expect(beat?.actors).toBe(living(engine.shards.open()));
  expect(beat?.actors).toBeGreaterThan(3);
  expect(count()).toBe(0);
});

test('who came and who went is counted', async () => {
  const cluster = new TestCluster();
  const { engine } = await cluster.replica('a');
  await cluster.shop(1, 2);
  await cluster.clock.advance(2_000);
  const before = living(engine.shards.open());
  await cluster.remove('pods', 'shop', 'web-0');
  await cluster.clock.advance(2_000);
  expect(living(engine.shards.open())).toBe(before - 1);
  const counted = [...engine.shards.open()].flatMap(({ cells }) => [...cells.values()]);
  expect(counted.filter(({ state }) => state !== '')).toHaveLength(before - 1);
});
