/**
 * A kind that is named no more is given back: its mirror, what the world holds of it, its fence, its metrics.
 */
import { expect, test } from 'vitest';
import type { Directory } from '../../../src/actors/shards/directory.ts';
import { Ownership } from '../../../src/actors/shards/ownership.ts';
import type { NamedKind } from '../../../src/actors/world/watch-declaration.ts';
import { createWorld } from '../../../src/actors/world/world.ts';
import type { WorldEntry } from '../../../src/base/digests.ts';
import type { KubeResource } from '../../../src/base/kube-port.ts';
import { limits } from '../../../src/base/limits.ts';
import { silentLog } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { encode } from '../../../src/bus/codec.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { followNamedKinds } from '../../../src/kube/mirror/holdings.ts';
import { createMetrics } from '../../../src/replica/metrics.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { FakeKube } from '../fake-kube.ts';

const kindOf = (n: number): NamedKind => ({ apiVersion: 'example.com/v1', kind: `Kind${n}` });
const resourceOf = (n: number): KubeResource => ({
  group: 'example.com',
  version: 'v1',
  plural: `kind${n}s`,
  kind: `Kind${n}`,
  namespaced: false,
});

/** One replica that mirrors the kinds that are named. */
async function scene(kinds: number) {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const subjects = subjectsOf('test');
  const hub = memoryHub({ clock, cluster: 'test' });
  const bus = hub.connect('a');
  const kube = new FakeKube();
  for (let n = 0; n < kinds; n++) {
    kube.kinds.push(resourceOf(n));
    kube.put(resourceOf(n), '', `owner-${n}`);
  }
  const metrics = createMetrics();
  const world = createWorld({ bus, subjects, clock, log: silentLog, isAlive: () => true });
  const starting = world.start();
  await clock.advance(100);
  await starting;
  const member = { serving: true, firstHeard: 0 };
  const directory = {
    incarnation: 'a-1',
    live: () => new Map([['a', member]]),
    isPresent: () => true,
  } as unknown as Directory;
  const ownership = new Ownership({
    ...{ bus, clock, random, log: silentLog, replica: 'a' },
    directory: () => directory,
    isServing: () => true,
    fences: [{ stream: 'world', subject: subjects.worldFenceAll }],
  });
  const opening = ownership.start();
  await clock.advance(100);
  await opening;
  let wanted: readonly NamedKind[] = [];
  const listeners: Array<(entry: WorldEntry) => void> = [];
  const mirrors = new Set<string>();
  followNamedKinds(
    {
      ...{ clock, random, kube, bus, subjects, encode, log: silentLog, keepers: {} },
      features: [
        {
          watches: [],
          namedWatches: {
            tellers: ['namers'],
            wanted: () => wanted,
            declare: (named) => ({ resource: named, digest: () => ({}) }),
          },
        },
      ],
      world: {
        entries: (resource) => world.entries(resource),
        onChange(callback) {
          listeners.push(callback);
          world.onChange(callback);
        },
        ready: (_resource, sequence) => world.reached(sequence),
      },
      metrics: {
        watchRestarts: metrics.watchRestart,
        worldLag: metrics.worldLag,
        forget: metrics.forgetResource,
      },
      onMirror: ({ name }) => void mirrors.add(name),
      onMirrorForgotten: ({ name }) => void mirrors.delete(name),
    },
    ownership,
  );
  const name = async (count: number) => {
    wanted = Array.from({ length: count }, (_, n) => kindOf(n));
    for (const listener of listeners)
      listener({ resource: 'namers', namespace: '', name: 'one', digest: null });
    // As at each beat of the replica.
    for (let n = 0; n < 20; n++) {
      await clock.advance(500);
      ownership.plan();
    }
  };
  /** What stands in the world stream and has not been taken back. */
  const stored = async () => {
    const found: string[] = [];
    const following = await bus.follow('world', {
      subjects: [`${subjects.prefix}.world.>`],
      from: { kind: 'lastPerSubject' },
      onMessage: ({ subject }) => void found.push(subject),
    });
    await clock.advance(100);
    await following.stop();
    return found;
  };
  return { clock, kube, world, ownership, listeners, mirrors, metrics, name, stored };
}

test('as many kinds as are admitted, named no more, leave nothing behind', async () => {
  const { clock, world, ownership, listeners, mirrors, metrics, name, stored } = await scene(
    limits.groupKinds,
  );
  await name(limits.groupKinds);
  expect([...world.entries('kind9s.example.com')]).toHaveLength(1);
  expect((await metrics.text()).body).toContain('resource="kind9s.example.com"');
  const listening = listeners.length;

  await name(0);
  expect([...world.entries('kind9s.example.com')]).toHaveLength(0);
  expect(world.statement('example.com/v1/Kind9')).toBeNull();
  expect([ownership.views(), [...mirrors]]).toEqual([[], []]);
  expect((await metrics.text()).body).not.toContain('resource="');
  expect(listeners).toHaveLength(listening);

  await clock.advance(limits.worldTombstoneSeconds * 1_000 + 1_000);
  expect(await stored()).toEqual([]);
});

test('a kind that is named again is mirrored again, while its fence stands and after that', async () => {
  const { clock, kube, world, name } = await scene(1);
  await name(1);
  await name(0);
  kube.put(resourceOf(0), '', 'second');
  await name(1);
  expect([...world.entries('kind0s.example.com')].map((entry) => entry.name)).toEqual(['owner-0', 'second']);
  expect(world.statement('example.com/v1/Kind0')).not.toBeNull();

  await name(0);
  await clock.advance(limits.worldTombstoneSeconds * 1_000 + 1_000);
  await name(1);
  expect([...world.entries('kind0s.example.com')]).toHaveLength(2);
  expect(world.statement('example.com/v1/Kind0')).not.toBeNull();
});
