/** A holding that was taken and given back by somebody else while its owner was cut off. */
import { expect, test } from 'vitest';
import { TestCluster } from '../harness.ts';

test('an owner that was cut off sees that its shards were given back by another, and claims them anew', async () => {
  const cluster = new TestCluster();
  const { clock } = cluster;
  const first = await cluster.replica('a');
  await clock.advance(2_000);
  first.bus.faults.setLink('down');
  await clock.advance(4_000);
  const second = await cluster.replica('b');
  await clock.advance(4_000);
  expect(second.engine.ownership.active()).toHaveLength(64);
  const leaving = second.engine.stop(1_000).then(() => second.bus.close());
  await clock.advance(2_000);
  await leaving;
  first.bus.faults.setLink('up');
  await clock.advance(5_000);
  // No save was needed to find out: nothing happens in any of them.
  const fences = new Map(
    cluster.hub
      .stored('state')
      .filter(({ subject }) => subject.includes('.fence.'))
      .map(({ subject, data }) => [subject, JSON.parse(new TextDecoder().decode(data)).replica]),
  );
  expect(fences.size).toBe(64);
  expect(new Set(fences.values())).toEqual(new Set(['a']));
});
