/**
 * The picture of the world (I10) after a long absence – what was removed meanwhile is gone, although nothing
 * in the stream says so any more – and after the broker came back with an empty disk.
 */
import { expect, test } from 'vitest';
import { limits } from '../../../src/base/limits.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import { pod, TestCluster } from '../harness.ts';

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
      'pod/shop/web-0': 'gated.ready.proven',
      'pod/shop/web-1': 'gone',
      'pod/shop/web-2': 'gated.ready.proven',
    });
  },
);

test('nobody is told of a world that is being read anew: no actor ends and begins again', async () => {
  const { cluster } = await awayFor(3 * tombstoneMs);
  const ends = cluster.transitions().filter(({ to }) => to === 'gone');
  expect(ends.map(({ id }) => id)).toEqual(['pod/shop/web-1']);
});

/** Two replicas whose broker comes back with an empty disk. */
async function emptyDisk() {
  const cluster = new TestCluster();
  const replicas = [await cluster.replica('a'), await cluster.replica('b')];
  await cluster.shop(2, 1);
  await cluster.clock.advance(2_000);
  for (const { bus } of replicas) bus.faults.setLink('down');
  for (const stream of ['state', 'world', 'mail', 'event', 'dead'] as const) cluster.hub.makeAnew(stream);
  await cluster.clock.advance(1_000);
  for (const { bus } of replicas) bus.faults.setLink('up');
  await cluster.clock.advance(5_000);
  return { cluster, replicas };
}

test('a broker that comes back with an empty disk: the old picture is forgotten, and nobody is told of the empty one', async () => {
  const { cluster, replicas } = await emptyDisk();
  for (const { engine } of replicas) expect([...engine.world.entries('pods')]).toEqual([]);
  await cluster.clock.advance(20_000);
  expect(cluster.transitions()).toEqual([]);
});

test('its shards are claimed anew, and what the mirrors say again is done', async () => {
  const { cluster, replicas } = await emptyDisk();
  const owned = replicas.flatMap(({ engine }) => engine.ownership.active());
  expect(owned).toHaveLength(64);
  await cluster.shop(2, 1);
  await cluster.clock.advance(5_000);
  expect(cluster.states()).toMatchObject({
    'pod/shop/web-0': 'gated.ready.proven',
    'pod/shop/web-1': 'gated.ready.proven',
  });
});

/** Whoever reads the world hears nothing more, from a moment on. */
function deafReader(subject: string) {
  const unlessDeaf =
    <A extends unknown[]>(heard: (...told: A) => void, ear: { isDeaf: boolean }) =>
    (...told: A) => {
      if (!ear.isDeaf) heard(...told);
    };
  const ears: Array<{ isDeaf: boolean }> = [];
  const bend = (bus: Bus): Bus =>
    new Proxy(bus, {
      get(target, name) {
        const value = Reflect.get(target, name, target) as unknown;
        if (name !== 'follow') return typeof value === 'function' ? value.bind(target) : value;
        const follow: Bus['follow'] = (stream, options) => {
          if (!options.subjects.includes(subject)) return target.follow(stream, options);
          const ear = { isDeaf: false };
          ears.push(ear);
          const { onMessage, onAnother = () => {} } = options;
          return target.follow(stream, {
            ...options,
            onMessage: unlessDeaf(onMessage, ear),
            onAnother: unlessDeaf(onAnother, ear),
          });
        };
        return follow;
      },
    });
  const deafen = () => {
    for (const ear of ears) ear.isDeaf = true;
  };
  return { bend, deafen };
}

test('a mirror that is claimed in a stream made anew never begins with the picture of the one before', async () => {
  const cluster = new TestCluster();
  const reader = deafReader(cluster.subjects.worldAll);
  const { engine, bus } = await cluster.replica('a', { bend: reader.bend });
  await cluster.shop(2, 1);
  await cluster.clock.advance(2_000);
  expect([...engine.world.entries('pods')]).toHaveLength(2);
  reader.deafen();
  bus.faults.setLink('down');
  cluster.hub.makeAnew('world');
  bus.faults.setLink('up');
  await cluster.clock.advance(1_000);
  expect([...engine.world.entries('pods')]).toEqual([]);
  await cluster.shop(1, 1);
  await cluster.clock.advance(1_000);
  expect([...engine.world.entries('pods')].map(({ name }) => name)).toEqual(['web-0']);
});
