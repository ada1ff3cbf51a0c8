/** What a mirror states, and that it is true when it is read. */
import { describe, expect, test } from 'vitest';
import { sleep } from '../../../src/base/clock.ts';
import { type AnyDigest, asDigest, type SyncedDigest } from '../../../src/base/digests.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import { decode, encode } from '../../../src/bus/codec.ts';
import type { PodDigest } from '../../../src/features/routes/digests.ts';
import { pods, routeGates } from '../../../src/features/routes/resources.ts';
import { gate, pod, proxyGroups, Scene, withPods } from './mirror-scene.ts';

describe('the statement', () => {
  /**
   * For each statement of the name: the gates that it names, and what of the resource stood in the stream
   * before it.
   */
  function statements(scene: Scene, name: string, resource: string) {
    const before = new Map<string, AnyDigest>();
    const made: Array<{ gates: readonly string[]; resource: string | null; objects: AnyDigest[] }> = [];
    for (const { subject, data } of scene.history) {
      const parsed = scene.subjects.parseWorld(subject);
      const value = decode(data) as AnyDigest;
      if (parsed?.resource === resource) before.set(parsed.name, value);
      const statement = asDigest<SyncedDigest>(value, 'synced');
      if (parsed?.resource === '_synced' && parsed.name === name && statement !== null) {
        made.push({ gates: statement.gates, resource: statement.resource, objects: [...before.values()] });
      }
    }
    return made;
  }

  test('that cannot be made ends the reign instead of never being made', async () => {
    const { scene, kube } = await withPods((kube) => void kube.put(pods, 'shop', 'web-0', pod()));
    scene.pack = (value) => {
      if (asDigest(value as AnyDigest, 'synced') !== null) throw new Error('nobody can write this');
      return encode(value);
    };
    kube.put(routeGates, 'shop', 'second', { ...gate({ app: 'db' }), uid: 'gate-2' });
    await scene.clock.advance(1_000);
    expect(scene.lost).toEqual(['one INVARIANT']);
  });

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
    expect(last?.objects.map((digest) => asDigest<PodDigest>(digest, 'pods')?.matchedEnv)).toEqual([
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

  test.each([
    ['comes back with the objects that it had', 1_000, 0],
    ['and is served again before that is known, loses none', 0, 10_000],
  ])('that is not served for a moment %s', async (_, awayMs, lateMs) => {
    const { scene, kube, key } = await begin(true);
    const { resolve } = kube;
    kube.resolve = async (...question) => {
      const answer = resolve(...question);
      answer.catch(() => {});
      await sleep(scene.clock, lateMs);
      return answer;
    };
    kube.kinds.length = 0;
    kube.failing = (call, resource) =>
      call === 'watch' && resource === 'proxygroups'
        ? new OrreryError('KUBE_NOT_FOUND', 'no such kind')
        : undefined;
    kube.breakWatches();
    await scene.clock.advance(600 + awayMs);
    expect(scene.world()[key] === undefined).toBe(awayMs > 0);
    kube.kinds.push(proxyGroups);
    kube.failing = () => undefined;
    const before = scene.length;
    await scene.clock.advance(40_000);
    expect(scene.world()[key]).toBeDefined();
    const told = scene.history.slice(before).map(({ subject }) => scene.subjects.parseWorld(subject)?.name);
    expect(told.filter((name) => name === 'egress')).toHaveLength(awayMs > 0 ? 1 : 0);
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
