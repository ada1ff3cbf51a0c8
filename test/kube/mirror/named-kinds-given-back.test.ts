/**
 * A kind that is named no more is given back: its mirror, what the world holds of it, its fence, its metrics.
 */
import { expect, test } from 'vitest';
import type { Directory } from '../../../src/actors/members/directory.ts';
import { Ownership } from '../../../src/actors/shards/ownership.ts';
import type { NamedKind, NamedWatches } from '../../../src/actors/world/watch-declaration.ts';
import { World } from '../../../src/actors/world/world.ts';
import type { WorldEntry } from '../../../src/base/digests.ts';
import type { KubeResource } from '../../../src/base/kube-port.ts';
import { limits } from '../../../src/base/limits.ts';
import { silentLog } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import { encode } from '../../../src/bus/codec.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { followNamedKinds } from '../../../src/kube/mirror/holdings.ts';
import { createMetrics } from '../../../src/replica/metrics.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { FakeKube } from '../fake-kube.ts';

const subjects = subjectsOf('test');
const kindOf = (n: number): NamedKind => ({ apiVersion: 'example.com/v1', kind: `Kind${n}` });
const resourceOf = (n: number): KubeResource => ({
  group: 'example.com',
  version: 'v1',
  plural: `kind${n}s`,
  kind: `Kind${n}`,
  namespaced: false,
});

/** A replica that holds whatever there is to hold. */
async function lonelyOwnership(bus: Bus, clock: VirtualClock): Promise<Ownership> {
  const directory = {
    incarnation: 'a-1',
    live: () => new Map([['a', { serving: true, firstHeard: 0 }]]),
    isPresent: () => true,
    ageMs: () => 0,
  } as unknown as Directory;
  const ownership = new Ownership({
    ...{ bus, clock, random: seededRandom(2), log: silentLog, replica: 'a' },
    directory: () => directory,
    isServing: () => true,
    fences: [{ stream: 'world', subject: subjects.worldFenceAll }],
  });
  const opening = ownership.start();
  await clock.advance(100);
  await opening;
  return ownership;
}

async function readWorld(bus: Bus, clock: VirtualClock): Promise<World> {
  const world = new World({ bus, subjects, clock, log: silentLog, isAlive: () => true });
  const starting = world.start();
  await clock.advance(100);
  await starting;
  return world;
}

/** What stands in the world stream and has not removed itself. */
async function storedIn(bus: Bus, clock: VirtualClock): Promise<string[]> {
  const found: string[] = [];
  const following = await bus.follow('world', {
    subjects: [`${subjects.prefix}.world.>`],
    from: { kind: 'lastPerSubject' },
    onMessage: ({ subject }) => void found.push(subject),
  });
  await clock.advance(100);
  await following.stop();
  return found;
}

/** One replica that mirrors the kinds that are named. */
async function scene(kinds: number) {
  const clock = new VirtualClock();
  const bus = memoryHub({ clock, cluster: 'test' }).connect('a');
  const kube = new FakeKube();
  for (let n = 0; n < kinds; n++) {
    kube.kinds.push(resourceOf(n));
    kube.put(resourceOf(n), '', `owner-${n}`);
  }
  const metrics = createMetrics();
  const world = await readWorld(bus, clock);
  const ownership = await lonelyOwnership(bus, clock);
  let wanted: readonly NamedKind[] = [];
  const listeners: Array<(entry: WorldEntry) => void> = [];
  const mirrors = new Set<string>();
  const namedWatches: NamedWatches = {
    tellers: ['namers'],
    wanted: () => wanted,
    declare: (named) => ({ resource: named, digest: () => ({}) }),
  };
  followNamedKinds(
    {
      ...{ clock, random: seededRandom(1), kube, bus, subjects, encode, log: silentLog, keepers: {} },
      features: [{ watches: [], namedWatches }],
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
  const name = async (...kinds: readonly NamedKind[]) => {
    wanted = kinds;
    for (const tell of listeners) tell({ resource: 'namers', namespace: '', name: 'one', digest: null });
    // As at each beat of the replica.
    for (let n = 0; n < 20; n++) {
      await clock.advance(500);
      ownership.plan();
    }
  };
  return { clock, bus, kube, world, ownership, listeners, mirrors, metrics, name };
}

test('as many kinds as are admitted, named no more, leave nothing behind', async () => {
  const { clock, bus, world, ownership, listeners, mirrors, metrics, name } = await scene(limits.groupKinds);
  await name(...Array.from({ length: limits.groupKinds }, (_, n) => kindOf(n)));
  expect([...world.entries('kind9s.example.com')]).toHaveLength(1);
  expect((await metrics.text()).body).toContain('resource="kind9s.example.com"');
  const listening = listeners.length;

  await name();
  expect([...world.entries('kind9s.example.com')]).toHaveLength(0);
  expect(world.statement('example.com/v1/Kind9')).toBeNull();
  expect([ownership.views(), [...mirrors]]).toEqual([[], []]);
  expect((await metrics.text()).body).not.toContain('resource="');
  expect(listeners).toHaveLength(listening);

  await clock.advance(limits.worldTombstoneSeconds * 1_000 + 1_000);
  expect(await storedIn(bus, clock)).toEqual([]);
});

test('a kind that is named again is mirrored again, while its fence stands and after that', async () => {
  const { clock, kube, world, name } = await scene(1);
  await name(kindOf(0));
  await name();
  kube.put(resourceOf(0), '', 'second');
  await name(kindOf(0));
  expect([...world.entries('kind0s.example.com')].map((entry) => entry.name)).toEqual(['owner-0', 'second']);
  expect(world.statement('example.com/v1/Kind0')).not.toBeNull();

  await name();
  await clock.advance(limits.worldTombstoneSeconds * 1_000 + 1_000);
  await name(kindOf(0));
  expect([...world.entries('kind0s.example.com')]).toHaveLength(2);
  expect(world.statement('example.com/v1/Kind0')).not.toBeNull();
});

test('a kind that is still named by another version keeps its objects in the world', async () => {
  const { kube, world, name } = await scene(1);
  kube.kinds.push({ ...resourceOf(0), version: 'v2' });
  const other = { ...kindOf(0), apiVersion: 'example.com/v2' };
  await name(kindOf(0), other);
  await name(kindOf(0));
  expect(world.statement('example.com/v2/Kind0')).toBeNull();
  expect([...world.entries('kind0s.example.com')]).toHaveLength(1);
});
