/** Shards that open together: what comes into the world between two of them is told like all else. */
import { expect, test } from 'vitest';
import { shardOf } from '../../../src/bus/partition.ts';
import { pod, TestCluster } from '../harness.ts';

/** No time passes until everybody has heard it: only microtasks do. */
async function heard(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await Promise.resolve();
}

test('an object that comes between the openings of two shards has its actor in the second', async () => {
  const cluster = new TestCluster();
  await cluster.shop(1, 1);
  const second = cluster.subjects.checkpoint(shardOf('pod/shop/web-1'));
  const hasCome = Promise.withResolvers<void>();
  let isFirst = true;
  await cluster.replica('a', {
    bend: (bus) => ({
      ...bus,
      // An open shard follows its mail.
      follow(stream, options) {
        if (stream === 'mail' && isFirst) {
          isFirst = false;
          void cluster.put('pods', 'shop', 'web-1', pod(1)).then(heard).then(hasCome.resolve);
        }
        return bus.follow(stream, options);
      },
      async append(subject, ...rest) {
        if (subject === second) await hasCome.promise;
        return bus.append(subject, ...rest);
      },
    }),
  });
  await cluster.clock.advance(2_000);
  expect(Object.keys(cluster.states())).toEqual(expect.arrayContaining(['pod/shop/web-0', 'pod/shop/web-1']));
});
