/** The picture of the world after a long absence (I10): what was removed meanwhile is gone, although nothing in the stream says so any more. */
import { expect, test } from 'vitest';
import { limits } from '../../src/limits.ts';
import { pod, TestCluster } from './harness.ts';

const tombstoneMs = limits.worldTombstoneSeconds * 1_000;

/** A replica that is cut off for a while, in which web-1 is removed and web-2 made. */
async function awayFor(ms: number) {
  const cluster = new TestCluster();
  const a = await cluster.replica('a');
  await cluster.shop(2, 1);
  await cluster.clock.advance(2_000);
  a.bus.faults.setLink('down');
  await cluster.clock.advance(1_000);
  await cluster.remove('pods', 'shop', 'web-1');
  await cluster.put('pods', 'shop', 'web-2', pod(2));
  await cluster.clock.advance(ms);
  a.bus.faults.setLink('up');
  await cluster.clock.advance(5_000);
  const known = [...a.engine.world.entries('pods')].map(({ name }) => name);
  return { cluster, known };
}

test.each([60_000, tombstoneMs - 60_000, tombstoneMs + 60_000, 3 * tombstoneMs])(
  'a replica that was away for %i ms knows no object that was removed meanwhile, and tells its actor',
  async (ms) => {
    const { cluster, known } = await awayFor(ms);
    expect(known).toEqual(expect.arrayContaining(['web-0', 'web-2']));
    expect(known).toHaveLength(2);
    expect(cluster.states()).toMatchObject({
      'pod/shop/web-0': 'ready.proven',
      'pod/shop/web-1': 'gone',
      'pod/shop/web-2': 'ready.proven',
    });
  },
);

test('nobody is told of a world that is being read anew: no actor ends and begins again', async () => {
  const { cluster } = await awayFor(3 * tombstoneMs);
  const ends = cluster.transitions().filter(({ to }) => to === 'gone');
  expect(ends.map(({ id }) => id)).toEqual(['pod/shop/web-1']);
});
