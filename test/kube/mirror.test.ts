/** Mirrors on the memory bus: what stands in the world, in which order it came there, and under whose fence. */
import { describe, expect, test } from 'vitest';
import { startLocal } from '../../src/actors/local.ts';
import { createWorld } from '../../src/actors/world.ts';
import type { StoredMessage } from '../../src/bus/bus.ts';
import { decode, encode } from '../../src/bus/codec.ts';
import { memoryHub } from '../../src/bus/memory.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';
import type { Digest } from '../../src/digests.ts';
import { OrreryError } from '../../src/errors.ts';
import { createGroupMirror } from '../../src/kube/group-mirror.ts';
import { silentLog } from '../../src/kube/log.ts';
import { createMirror, type Mirror } from '../../src/kube/mirror.ts';
import type { KubeResource } from '../../src/kube/port.ts';
import { endpointSlices, pods, routeGates, services } from '../../src/kube/resources.ts';
import { watchChart } from '../../src/machines/watch.ts';
import { seededRandom } from '../../src/random.ts';
import { settle, VirtualClock } from '../virtual-clock.ts';
import { FakeKube } from './fake-kube.ts';

const proxyGroups: KubeResource = {
  group: 'tailscale.com',
  version: 'v1alpha1',
  plural: 'proxygroups',
  kind: 'ProxyGroup',
  namespaced: false,
};

function gate(
  more: { env?: { name: string; value: string }; group?: object; app?: string; generation?: number } = {},
) {
  return {
    generation: more.generation ?? 1,
    spec: {
      conditionType: 'example.com/routes',
      podSelector: { matchLabels: { app: more.app ?? 'web' } },
      group: { podLabel: 'group', serviceLabel: 'group' },
      serviceSelector: { matchLabels: { app: more.app ?? 'web' } },
      ...(more.group === undefined ? {} : { groupResource: more.group }),
      probe: { portName: 'health', ...(more.env === undefined ? {} : { onlyIfEnv: more.env }) },
    },
  };
}

const pod = (app = 'web', env: unknown[] = []) => ({ labels: { app }, spec: { containers: [{ env }] } });

/** One Kubernetes, one stream, and replicas that mirror. */
class Scene {
  readonly clock = new VirtualClock();
  readonly kube = new FakeKube();
  readonly subjects = subjectsOf('test');
  readonly hub = memoryHub({ clock: this.clock, cluster: 'test' });
  readonly lost: string[] = [];
  readonly restarts: string[] = [];
  readonly lags: Array<readonly [string, number]> = [];
  /** Everything that was ever stored in the world stream, in order. */
  readonly history: StoredMessage[] = [];
  #seed = 1;

  constructor() {
    this.hub.observe((stream, message) => {
      if (stream === 'world') this.history.push(message);
    });
  }

  async replica(name = 'one') {
    const bus = this.hub.connect(name);
    const world = createWorld({ bus, subjects: this.subjects, log: { ...silentLog, error() {} } });
    const starting = world.start();
    await this.clock.advance(100);
    await starting;
    const parts = (namespaces: readonly string[] | null) => ({
      kube: this.kube,
      bus,
      subjects: this.subjects,
      encode,
      world: {
        entries: (resource: string) => world.entries(resource),
        onChange: (callback: Parameters<typeof world.onChange>[0]) => world.onChange(callback),
        ready: (_: string, sequence: number) => world.reached(sequence),
      },
      startLocal,
      chart: watchChart,
      namespaces,
      clock: this.clock,
      random: seededRandom(this.#seed++),
      log: silentLog,
      metrics: {
        watchRestarts: (resource: string) => void this.restarts.push(resource),
        worldLag: (resource: string, seconds: number) => void this.lags.push([resource, seconds]),
      },
      onLost: (error: OrreryError) => void this.lost.push(`${name} ${error.code}`),
    });
    return {
      bus,
      world,
      mirror: (resource: KubeResource, namespaces: readonly string[] | null = null) =>
        createMirror({ ...parts(namespaces), resource }),
      groupMirror: () =>
        createGroupMirror({ ...parts(null), apiVersion: 'tailscale.com/v1alpha1', kind: 'ProxyGroup' }),
    };
  }

  /** Wins the fence of the mirror, whoever had it. */
  async fence(mirror: Mirror): Promise<number> {
    const client = this.hub.connect('winner');
    const { sequence } = await client.append(
      this.subjects.worldFence(mirror.name),
      encode({ owner: 'somebody' }),
    );
    return sequence;
  }

  async start(mirror: Mirror): Promise<void> {
    let isBegun = false;
    const begun = mirror.start(await this.fence(mirror)).then(() => {
      isBegun = true;
    });
    for (let round = 0; !isBegun && round < 200; round += 1) await this.clock.advance(50);
    await begun;
  }

  /** What the stream says: by `resource/namespace/name`, tombstones left out. */
  world(): Record<string, Digest> {
    const held: Record<string, Digest> = {};
    for (const { subject, data } of this.history) {
      const parsed = this.subjects.parseWorld(subject);
      if (parsed === undefined) continue;
      const key = `${parsed.resource}/${parsed.namespace}/${parsed.name}`;
      const value = decode(data) as Digest & { deleted?: boolean };
      if (value.deleted === true) delete held[key];
      else held[key] = value;
    }
    return held;
  }

  names(resource: string): string[] {
    return Object.keys(this.world())
      .filter((key) => key.startsWith(`${resource}/`))
      .sort();
  }

  get length(): number {
    return this.history.length;
  }
}

/** Everything that is published during `act`, as `resource/namespace/name` with `!` before tombstones. */
async function published(scene: Scene, act: () => void): Promise<string[]> {
  const seen: string[] = [];
  const before = scene.length;
  act();
  await scene.clock.advance(1_000);
  for (const { subject, data } of scene.history.slice(before)) {
    const parsed = scene.subjects.parseWorld(subject);
    const { deleted } = decode(data) as { deleted?: boolean };
    if (parsed) seen.push(`${deleted ? '!' : ''}${parsed.resource}/${parsed.namespace}/${parsed.name}`);
  }
  return seen;
}

/** A scene with one gate in `shop`, mirrored, and a mirror of Pods. */
async function withPods(setUp: (kube: FakeKube) => void = () => {}) {
  const scene = new Scene();
  scene.kube.put(routeGates, 'shop', 'gate', gate());
  setUp(scene.kube);
  const replica = await scene.replica();
  await scene.start(replica.mirror(routeGates));
  const mirror = replica.mirror(pods);
  await scene.start(mirror);
  return { scene, kube: scene.kube, replica, mirror };
}

describe('what stands in the world (I10)', () => {
  test('Pods that a RouteGate of their namespace selects, and no others', async () => {
    const { scene } = await withPods((kube) => {
      kube.put(pods, 'shop', 'web-0', pod());
      kube.put(pods, 'shop', 'db-0', pod('db'));
      kube.put(pods, 'other', 'web-0', pod());
    });
    expect(scene.names('pods')).toEqual(['pods/shop/web-0']);
    expect(scene.world()['pods/shop/web-0']).toMatchObject({ kind: 'pods', uid: expect.any(String) });
  });

  test('Services that are selected, EndpointSlices of namespaces with a RouteGate, all RouteGates', async () => {
    const { scene, kube, replica } = await withPods();
    kube.put(services, 'shop', 'web', { labels: { app: 'web' } });
    kube.put(services, 'shop', 'db', { labels: { app: 'db' } });
    kube.put(endpointSlices, 'shop', 'web-x', { labels: { 'kubernetes.io/service-name': 'web' } });
    kube.put(endpointSlices, 'shop', 'loose', {});
    kube.put(endpointSlices, 'other', 'web-x', { labels: { 'kubernetes.io/service-name': 'web' } });
    kube.put(routeGates, 'other', 'broken', { spec: {} });
    await scene.start(replica.mirror(services));
    await scene.start(replica.mirror(endpointSlices));
    expect(scene.names('services')).toEqual(['services/shop/web']);
    expect(scene.names('endpointslices')).toEqual(['endpointslices/shop/web-x']);
    expect(scene.names('routegates')).toEqual(['routegates/other/broken', 'routegates/shop/gate']);
  });

  test('a Pod comes into it with its RouteGate and leaves it with its RouteGate or its label', async () => {
    const { scene, kube } = await withPods((kube) => kube.put(pods, 'shop', 'db-0', pod('db')));
    expect(
      await published(scene, () => kube.put(routeGates, 'shop', 'second', gate({ app: 'db' }))),
    ).toContain('pods/shop/db-0');
    expect(await published(scene, () => kube.remove(routeGates, 'shop', 'second'))).toContain(
      '!pods/shop/db-0',
    );
    kube.put(pods, 'shop', 'web-0', pod());
    await scene.clock.advance(100);
    expect(await published(scene, () => kube.put(pods, 'shop', 'web-0', pod('db')))).toEqual([
      '!pods/shop/web-0',
    ]);
  });

  test('only namespaces that are allowed are listed, and what lies outside of them goes', async () => {
    const { scene, kube, replica, mirror } = await withPods((kube) => {
      kube.put(routeGates, 'other', 'gate', gate());
      kube.put(pods, 'shop', 'web-0', pod());
      kube.put(pods, 'other', 'web-0', pod());
    });
    expect(scene.names('pods')).toEqual(['pods/other/web-0', 'pods/shop/web-0']);
    mirror.stop();
    kube.lists.length = 0;
    await scene.start(replica.mirror(pods, ['shop', 'third']));
    expect(kube.lists.map(({ namespace }) => namespace).sort()).toEqual(['shop', 'third']);
    expect(scene.names('pods')).toEqual(['pods/shop/web-0']);
  });

  test('an object that cannot be read costs itself alone', async () => {
    const { scene } = await withPods((kube) => {
      kube.put(pods, 'shop', 'web-0', pod());
      kube.put(pods, 'shop', 'broken', { ...pod(), uid: '' });
    });
    expect(scene.names('pods')).toEqual(['pods/shop/web-0']);
  });
});

describe('differences', () => {
  test('a change that no chart needs is not published', async () => {
    const { scene, kube } = await withPods((kube) => kube.put(pods, 'shop', 'web-0', pod()));
    expect(
      await published(scene, () =>
        kube.put(pods, 'shop', 'web-0', { ...pod(), status: { phase: 'Running' } }),
      ),
    ).toEqual([]);
  });

  test('a new object under an old name is a new digest', async () => {
    const { scene, kube } = await withPods((kube) => kube.put(pods, 'shop', 'web-0', pod()));
    const before = scene.world()['pods/shop/web-0'];
    await published(scene, () => {
      kube.remove(pods, 'shop', 'web-0');
      kube.put(pods, 'shop', 'web-0', pod());
    });
    const after = scene.world()['pods/shop/web-0'];
    expect([before, after]).toMatchObject([{ uid: 'uid-2' }, { uid: 'uid-3' }]);
  });

  test('the replica that takes over publishes what has changed meanwhile, deletions included, and nothing else', async () => {
    const { scene, kube, mirror } = await withPods((kube) => {
      for (const name of ['same', 'changed', 'gone']) kube.put(pods, 'shop', name, pod());
    });
    mirror.stop();
    kube.put(pods, 'shop', 'changed', { ...pod(), status: { podIPs: [{ ip: '10.0.0.7' }] } });
    kube.put(pods, 'shop', 'same', { ...pod(), status: { phase: 'Running' } });
    kube.remove(pods, 'shop', 'gone');
    kube.put(pods, 'shop', 'new', pod());
    const next = (await scene.replica('two')).mirror(pods);
    const before = scene.length;
    await scene.start(next);
    const subjects = scene.history
      .slice(before + 1)
      .map(({ subject }) => scene.subjects.parseWorld(subject)?.name);
    expect(subjects.sort()).toEqual(['changed', 'gone', 'new']);
    expect(scene.names('pods')).toEqual(['pods/shop/changed', 'pods/shop/new', 'pods/shop/same']);
  });

  test('what was not listed completely is not gone', async () => {
    const { scene, kube, mirror } = await withPods((kube) => kube.put(pods, 'shop', 'web-0', pod()));
    mirror.stop();
    kube.failing = (call, resource) =>
      call === 'list' && resource === 'pods' ? new OrreryError('KUBE_SERVER', 'no') : undefined;
    const next = (await scene.replica('two')).mirror(pods);
    next.start(await scene.fence(next)).catch(() => {});
    await scene.clock.advance(60_000);
    expect(next.status()).toMatchObject({ synced: false, watches: [{ state: 'backingOff' }] });
    expect(scene.names('pods')).toEqual(['pods/shop/web-0']);
    expect(scene.restarts).toContain('pods');
    kube.failing = () => undefined;
    await scene.clock.advance(60_000);
    expect(next.status()).toMatchObject({ synced: true });
    next.stop();
  });

  test('a version never goes back', async () => {
    const { scene, kube, replica, mirror } = await withPods((kube) => kube.put(pods, 'shop', 'web-0', pod()));
    mirror.stop();
    const digest = scene.world()['pods/shop/web-0'] as Digest & { resourceVersion: string };
    const subject = scene.subjects.world('pods', 'shop', 'web-0');
    await scene.hub
      .connect('newer')
      .append(subject, encode({ ...digest, resourceVersion: '9000', deleting: true }));
    await scene.clock.advance(10);
    await scene.start(replica.mirror(pods));
    expect(scene.world()['pods/shop/web-0']).toMatchObject({ resourceVersion: '9000', deleting: true });
    kube.put(pods, 'shop', 'web-0', { ...pod(), uid: 'another' });
    await scene.clock.advance(100);
    expect(scene.world()['pods/shop/web-0']).toMatchObject({ uid: 'another', deleting: false });
  });
});

describe('the fence', () => {
  test('a mirror with a stale fence publishes nothing and says so', async () => {
    const { scene, kube, mirror } = await withPods((kube) => kube.put(pods, 'shop', 'web-0', pod()));
    await scene.fence(mirror);
    const seen = await published(scene, () => {
      for (let index = 0; index < 20; index += 1) kube.put(pods, 'shop', `late-${index}`, pod());
    });
    expect(seen).toEqual([]);
    expect(scene.lost).toEqual(['one BUS_CONFLICT']);
    expect(mirror.status().fence).toBe(0);
    expect(kube.openWatches).toBe(1); // of the RouteGates
  });

  test('one that loses it while it begins rejects, and can begin again with a new one', async () => {
    const { scene, replica } = await withPods((kube) =>
      kube.put(services, 'shop', 'web', { labels: { app: 'web' } }),
    );
    const mirror = replica.mirror(services);
    const stale = await scene.fence(mirror);
    await scene.fence(mirror);
    const beginning = mirror.start(stale).catch((error: OrreryError) => error.code);
    await scene.clock.advance(200);
    expect(await beginning).toBe('BUS_CONFLICT');
    await scene.start(mirror);
    expect(scene.names('services')).toEqual(['services/shop/web']);
  });

  test('one that is stopped while it begins rejects, and leaves nothing behind', async () => {
    const { scene, replica } = await withPods();
    const mirror = replica.mirror(services);
    const beginning = mirror.start(await scene.fence(mirror)).catch((error: OrreryError) => error.code);
    mirror.stop();
    expect(await beginning).toBe('NOT_OWNER');
    await scene.clock.advance(10_000);
    expect(scene.names('_synced')).not.toContain('_synced//services');
  });

  test('it begins only when it has seen everything that was published before the fence was won', async () => {
    const { scene, kube, mirror } = await withPods((kube) => kube.put(pods, 'shop', 'web-0', pod()));
    const next = await scene.replica('two');
    next.bus.faults.setLink('silent');
    kube.put(pods, 'shop', 'late', pod());
    await scene.clock.advance(100);
    mirror.stop();
    const taking = next.mirror(pods);
    const beginning = taking.start(await scene.fence(taking));
    await scene.clock.advance(500);
    expect(taking.status().watches).toEqual([]);
    next.bus.faults.setLink('up');
    const before = scene.length;
    await scene.clock.advance(2_000);
    await beginning;
    expect(scene.length).toBe(before);
  });
});

describe('while NATS is away', () => {
  test('the latest of each object waits and is published when it is back; nothing is lost', async () => {
    const { scene, kube, replica, mirror } = await withPods((kube) => {
      kube.put(pods, 'shop', 'web-0', pod());
      kube.put(pods, 'shop', 'web-1', pod());
    });
    replica.bus.faults.setLink('down');
    const before = scene.length;
    for (let version = 1; version <= 50; version += 1) {
      kube.put(pods, 'shop', 'web-0', { ...pod(), status: { podIPs: [{ ip: `10.0.0.${version}` }] } });
      await scene.clock.advance(100);
    }
    kube.remove(pods, 'shop', 'web-1');
    kube.put(pods, 'shop', 'web-2', pod());
    await scene.clock.advance(30_000);
    expect(scene.length).toBe(before);
    expect(mirror.status().pending).toBe(3);
    expect(scene.lags.at(-1)?.[1]).toBeGreaterThan(20);
    replica.bus.faults.setLink('up');
    await scene.clock.advance(100);
    expect(scene.length).toBe(before + 3);
    expect(scene.names('pods')).toEqual(['pods/shop/web-0', 'pods/shop/web-2']);
    expect(scene.world()['pods/shop/web-0']).toMatchObject({ address: { ip: '10.0.0.50' } });
    expect(mirror.status().pending).toBe(0);
  });

  test.each(['answerLost', 'requestLost'] as const)(
    'an outcome that is unknown (%s) is published again, once',
    async (fate) => {
      const { scene, kube, replica } = await withPods();
      let lost = 0;
      replica.bus.faults.onAppend = () => (lost++ < 2 ? fate : 'store');
      const _seen = await published(scene, () => kube.put(pods, 'shop', 'web-0', pod()));
      await scene.clock.advance(60_000);
      expect(scene.names('pods')).toEqual(['pods/shop/web-0']);
      const stored = scene.history.filter(
        ({ subject }) => scene.subjects.parseWorld(subject)?.name === 'web-0',
      );
      expect(stored).toHaveLength(1);
    },
  );

  test('an old digest that reaches the stream late does not come after a newer one', async () => {
    const { scene, kube, replica } = await withPods();
    let appends = 0;
    replica.bus.faults.onAppend = () => (appends++ === 0 ? { lateMs: 7_000 } : 'store');
    kube.put(pods, 'shop', 'web-0', { ...pod(), status: { podIPs: [{ ip: '10.0.0.1' }] } });
    await scene.clock.advance(10);
    kube.put(pods, 'shop', 'web-0', { ...pod(), status: { podIPs: [{ ip: '10.0.0.2' }] } });
    await scene.clock.advance(60_000);
    const ips = scene.history
      .filter(({ subject }) => scene.subjects.parseWorld(subject)?.name === 'web-0')
      .map(({ data }) => (decode(data) as { address: { ip: string } }).address.ip);
    expect(ips.at(-1)).toBe('10.0.0.2');
  });

  test('what was stored without our knowing is not forgotten when the next attempt is surely not sent', async () => {
    const { scene, kube, replica } = await withPods((kube) => kube.put(pods, 'shop', 'web-0', pod()));
    replica.bus.faults.onAppend = () => 'answerLost';
    kube.remove(pods, 'shop', 'web-0');
    await scene.clock.advance(5_000);
    replica.bus.faults.setLink('down');
    kube.put(pods, 'shop', 'web-0', { ...pod(), uid: 'uid-2' });
    await scene.clock.advance(5_000);
    replica.bus.faults.onAppend = undefined;
    replica.bus.faults.setLink('up');
    await scene.clock.advance(5_000);
    expect(scene.names('pods')).toEqual(['pods/shop/web-0']);
  });

  test('one digest that the stream refuses for good stands in nobody’s way', async () => {
    const { scene, kube, replica } = await withPods();
    replica.bus.faults.onAppend = (subject) => (subject.includes('poison') ? 'refuse' : 'store');
    kube.put(pods, 'shop', 'poison', pod());
    kube.put(pods, 'shop', 'web-0', pod());
    await scene.clock.advance(1_000);
    expect(scene.names('pods')).toEqual(['pods/shop/web-0']);
  });
});

describe('the statement', () => {
  /** For each statement of the name: the gates that it names, and what of the resource stood in the stream before it. */
  function statements(scene: Scene, name: string, resource: string) {
    const before = new Map<string, Digest>();
    const made: Array<{ gates: readonly string[]; resource: string | null; objects: Digest[] }> = [];
    for (const { subject, data } of scene.history) {
      const parsed = scene.subjects.parseWorld(subject);
      const value = decode(data) as Digest & { deleted?: boolean };
      if (parsed?.resource === resource) before.set(parsed.name, value);
      if (parsed?.resource === '_synced' && parsed.name === name && value.kind === 'synced') {
        made.push({ gates: value.gates, resource: value.resource, objects: [...before.values()] });
      }
    }
    return made;
  }

  test('names each RouteGate, after everything that it asks for', async () => {
    const { scene, kube } = await withPods((kube) => {
      for (let index = 0; index < 300; index += 1) kube.put(pods, 'shop', `web-${index}`, pod());
    });
    kube.put(pods, 'shop', 'db-0', pod('db'));
    kube.put(routeGates, 'shop', 'second', { ...gate({ app: 'db' }), uid: 'gate-2' });
    await scene.clock.advance(100);
    const made = statements(scene, 'pods', 'pods');
    expect(made.map(({ gates, objects }) => [gates.length, objects.length])).toEqual([
      [1, 300],
      [2, 301],
    ]);
    expect(made.at(-1)?.gates).toContain('gate-2/1');
    expect(made.at(-1)?.resource).toBe('pods');
  });

  test('a RouteGate that asks for another variable is named only after the Pods were read with it in mind', async () => {
    const env = { name: 'CHECK', value: 'true' };
    const { scene, kube } = await withPods((kube) => {
      kube.put(pods, 'shop', 'web-0', pod('web', [env]));
      kube.put(pods, 'shop', 'web-1', pod('web'));
    });
    kube.lists.length = 0;
    kube.put(routeGates, 'shop', 'gate', gate({ env, generation: 2 }));
    await scene.clock.advance(1_000);
    expect(kube.lists.filter(({ resource }) => resource === 'pods')).toHaveLength(1);
    const last = statements(scene, 'pods', 'pods').at(-1);
    expect(last?.gates).toEqual([expect.stringMatching(/\/2$/)]);
    expect(last?.objects.map((digest) => digest.kind === 'pods' && digest.matchedEnv)).toEqual([
      ['CHECK=true'],
      [],
    ]);
  });

  test('it waits for the list that is read with the variable in mind, however long that takes', async () => {
    const env = { name: 'CHECK', value: 'true' };
    const { scene, kube } = await withPods((kube) => kube.put(pods, 'shop', 'web-0', pod('web', [env])));
    kube.failing = (call, resource) =>
      call === 'list' && resource === 'pods' ? new OrreryError('KUBE_THROTTLED', 'later') : undefined;
    kube.put(routeGates, 'shop', 'gate', gate({ env, generation: 2 }));
    await scene.clock.advance(60_000);
    expect(statements(scene, 'pods', 'pods')).toHaveLength(1);
    kube.failing = () => undefined;
    await scene.clock.advance(60_000);
    expect(statements(scene, 'pods', 'pods').at(-1)?.gates).toEqual([expect.stringMatching(/\/2$/)]);
  });

  test('a list of which a page was read before the RouteGate came is not enough', async () => {
    const env = { name: 'CHECK', value: 'true' };
    const { scene, kube, mirror } = await withPods((kube) => {
      for (const name of ['web-0', 'web-1']) kube.put(pods, 'shop', name, pod('web', [env]));
    });
    mirror.stop();
    const answers: Array<() => void> = [];
    kube.pageSize = 1;
    kube.delaying = (resource) =>
      resource === 'pods' ? new Promise((resolve) => void answers.push(resolve)) : undefined;
    const answer = async () => {
      answers.shift()?.();
      await scene.clock.advance(1_000);
    };
    const next = (await scene.replica('two')).mirror(pods);
    next.start(await scene.fence(next)).catch(() => {});
    await scene.clock.advance(100);
    await answer();
    kube.put(routeGates, 'shop', 'gate', gate({ env, generation: 2 }));
    await scene.clock.advance(1_000);
    await answer();
    expect(next.status()).toMatchObject({ synced: true, watches: [{ state: 'listing' }] });
    const isNamed = () =>
      statements(scene, 'pods', 'pods')
        .at(-1)
        ?.gates.some((version) => version.endsWith('/2'));
    expect(isNamed()).toBe(false);
    await answer();
    await answer();
    expect(isNamed()).toBe(true);
    next.stop();
  });

  test('it follows an object that NATS took only at the second attempt', async () => {
    const { scene, kube, replica } = await withPods();
    let isLost = true;
    replica.bus.faults.onAppend = (subject) => (subject.includes('db-0') && isLost ? 'requestLost' : 'store');
    kube.put(pods, 'shop', 'db-0', pod('db'));
    kube.put(routeGates, 'shop', 'second', { ...gate({ app: 'db' }), uid: 'gate-2' });
    await scene.clock.advance(20_000);
    expect(statements(scene, 'pods', 'pods').at(-1)?.gates).not.toContain('gate-2/1');
    isLost = false;
    await scene.clock.advance(20_000);
    const last = statements(scene, 'pods', 'pods').at(-1);
    expect(last?.gates).toContain('gate-2/1');
    expect(last?.objects).toHaveLength(1);
  });

  test('it is made although the objects never stop changing', async () => {
    const { scene, kube, replica } = await withPods((kube) => kube.put(pods, 'shop', 'web-0', pod()));
    replica.bus.faults.onAppend = () => ({ lateMs: 20 });
    kube.put(routeGates, 'shop', 'second', { ...gate({ app: 'db' }), uid: 'gate-2' });
    for (let version = 0; version < 100; version += 1) {
      kube.put(pods, 'shop', 'web-0', { ...pod(), status: { podIPs: [{ ip: `10.0.0.${version}` }] } });
      await scene.clock.advance(7);
    }
    expect(statements(scene, 'pods', 'pods').at(-1)?.gates).toContain('gate-2/1');
  });

  test('a RouteGate that cannot be used, or that is being deleted, is not named', async () => {
    const { scene, kube } = await withPods();
    kube.put(routeGates, 'shop', 'broken', { generation: 1, spec: {} });
    await scene.clock.advance(100);
    expect(statements(scene, 'pods', 'pods').at(-1)?.gates).toHaveLength(1);
  });
});

describe('a kind that RouteGates name', () => {
  const group = {
    apiVersion: 'tailscale.com/v1alpha1',
    kind: 'ProxyGroup',
    require: { 'spec.type': 'egress' },
  };

  async function begin(isInstalled: boolean) {
    const scene = new Scene();
    if (isInstalled) scene.kube.kinds.push(proxyGroups);
    scene.kube.put(routeGates, 'shop', 'gate', gate({ group }));
    scene.kube.put(proxyGroups, '', 'egress', { spec: { type: 'egress', secret: 'x' } });
    const replica = await scene.replica();
    await scene.start(replica.mirror(routeGates));
    const mirror = replica.groupMirror();
    await scene.start(mirror);
    return { scene, kube: scene.kube, mirror, key: 'proxygroups.tailscale.com//egress' };
  }
  const statement = (scene: Scene) => scene.world()['_synced//tailscale.com/v1alpha1/ProxyGroup'];

  test('is mirrored with the fields that they name and no others', async () => {
    const { scene, mirror, key } = await begin(true);
    expect(mirror.name).toBe('tailscale.com/v1alpha1/ProxyGroup');
    expect(scene.world()[key]).toMatchObject({ kind: 'groupresource', fields: { 'spec.type': 'egress' } });
    expect(statement(scene)).toMatchObject({
      resource: 'proxygroups.tailscale.com',
      gates: [expect.any(String)],
    });
  });

  test('that does not exist is said not to exist, and is mirrored soon after it was installed', async () => {
    const { scene, kube, key } = await begin(false);
    expect(statement(scene)).toMatchObject({ resource: null, gates: [expect.any(String)] });
    kube.kinds.push(proxyGroups);
    await scene.clock.advance(15_000);
    expect(scene.world()[key]).toBeDefined();
    expect(statement(scene)).toMatchObject({ resource: 'proxygroups.tailscale.com' });
  });

  test('another RouteGate that names it while it does not exist is answered too', async () => {
    const { scene, kube } = await begin(false);
    kube.put(routeGates, 'shop', 'second', { ...gate({ group, app: 'db' }), uid: 'gate-2' });
    await scene.clock.advance(100);
    expect(statement(scene)).toMatchObject({ gates: expect.arrayContaining(['gate-2/1']) });
  });

  test('that was taken out of the cluster has no objects any more, and comes back with it', async () => {
    const { scene, kube, key } = await begin(true);
    kube.kinds.length = 0;
    kube.failing = (call, resource) =>
      call !== 'resolve' && resource === 'proxygroups'
        ? new OrreryError('KUBE_NOT_FOUND', 'no such kind')
        : undefined;
    kube.breakWatches(true);
    await scene.clock.advance(10_000);
    expect(scene.world()[key]).toBeUndefined();
    kube.kinds.push(proxyGroups);
    kube.failing = () => undefined;
    await scene.clock.advance(40_000);
    expect(scene.world()[key]).toBeDefined();
  });

  test('an API server that does not answer does not make objects disappear', async () => {
    const { scene, kube, key } = await begin(true);
    kube.failing = (call, resource) =>
      call === 'resolve'
        ? new OrreryError('KUBE_UNREACHABLE', 'away')
        : resource === 'proxygroups'
          ? new OrreryError('KUBE_NOT_FOUND', 'starting')
          : undefined;
    kube.breakWatches(true);
    await scene.clock.advance(60_000);
    expect(scene.world()[key]).toBeDefined();
  });
});

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'whatever fails, the world is right in the end (seed %i)',
  async (seed) => {
    const random = seededRandom(seed);
    const pick = (below: number) => Math.floor(random.next() * below);
    const { scene, kube, replica, mirror: first } = await withPods();
    const other = await scene.replica('two');
    let [current, mine] = [first, replica];
    const env = { name: 'CHECK', value: 'true' };
    for (let round = 0; round < 150; round += 1) {
      const name = `web-${pick(12)}`;
      const act = random.next();
      if (act < 0.5)
        kube.put(pods, pick(2) === 0 ? 'shop' : 'other', name, {
          ...pod(pick(4) === 0 ? 'db' : 'web', [env]),
          status: { podIPs: [{ ip: `10.0.${seed}.${round % 250}` }] },
        });
      else if (act < 0.65) kube.remove(pods, 'shop', name);
      else if (act < 0.7)
        kube.put(routeGates, 'shop', 'gate', gate({ generation: round, ...(pick(2) === 0 ? { env } : {}) }));
      else if (act < 0.75)
        kube.put(routeGates, 'other', 'gate', gate({ generation: round, app: pick(2) === 0 ? 'db' : 'web' }));
      else if (act < 0.78) kube.remove(routeGates, 'other', 'gate');
      else if (act < 0.84) kube.breakWatches(pick(2) === 0);
      else if (act < 0.9) mine.bus.faults.setLink(pick(2) === 0 ? 'down' : 'silent');
      else if (act < 0.96) mine.bus.faults.setLink('up');
      else {
        // Somebody else wins; the one before may not know yet.
        mine = mine === replica ? other : replica;
        mine.bus.faults.setLink('up');
        current = mine.mirror(pods);
        current.start(await scene.fence(current)).catch(() => {});
      }
      const fates = ['store', 'store', 'store', 'answerLost', 'requestLost', { lateMs: 3_000 }] as const;
      mine.bus.faults.onAppend = () => fates[pick(fates.length)] ?? 'store';
      await scene.clock.advance(random.next() * 3_000);
    }
    for (const { bus } of [replica, other]) {
      bus.faults.setLink('up');
      bus.faults.onAppend = undefined;
    }
    await scene.clock.advance(120_000);
    await settle();

    const world = scene.world();
    const wanted = wantedPods(kube);
    expect(
      Object.keys(world)
        .filter((key) => key.startsWith('pods/'))
        .sort(),
    ).toEqual([...wanted.keys()].sort());
    for (const [key, wish] of wanted) expect(world[key]).toMatchObject(wish);
    expect(versionsThatWentBack(scene)).toEqual([]);
  },
  20_000,
);

/** What the world must hold of the Pods, from the objects alone. */
function wantedPods(kube: FakeKube): Map<string, object> {
  const wanted = new Map<string, object>();
  for (const [key, object] of kube.all(pods)) {
    const namespace = key.slice(0, key.indexOf('/'));
    const gates = [...kube.all(routeGates).values()].filter((one) => one.metadata.namespace === namespace);
    const specs = gates.map((one) => (one as unknown as ReturnType<typeof gate>).spec);
    const apps = specs.map(({ podSelector }) => podSelector.matchLabels.app);
    if (!apps.includes(object.metadata.labels?.app ?? '')) continue;
    const asksForEnv = specs.some(({ probe }) => 'onlyIfEnv' in probe);
    wanted.set(`pods/${key}`, { uid: object.metadata.uid, matchedEnv: asksForEnv ? ['CHECK=true'] : [] });
  }
  return wanted;
}

/** Digests of one object that stand in the stream after a newer one. */
function versionsThatWentBack(scene: Scene): string[] {
  const newest = new Map<string, number>();
  const wrong: string[] = [];
  for (const { subject, data } of scene.history) {
    const { uid, resourceVersion, kind } = decode(data) as {
      uid?: string;
      resourceVersion?: string;
      kind?: string;
    };
    if (kind !== 'pods' || uid === undefined) continue;
    const key = `${subject} ${uid}`;
    const version = Number(resourceVersion);
    if (version < (newest.get(key) ?? 0)) wrong.push(`${key} ${version} after ${newest.get(key)}`);
    newest.set(key, Math.max(version, newest.get(key) ?? 0));
  }
  return wrong;
}
