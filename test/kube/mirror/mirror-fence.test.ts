/** Mirrors whose fence is stale, and mirrors whose NATS is away. */
import { describe, expect, test } from 'vitest';
import type { OrreryError } from '../../../src/base/errors.ts';
import { decode } from '../../../src/bus/codec.ts';
import { pods } from '../../../src/features/routes/resources.ts';
import { services } from '../../../src/kube/api/resources.ts';
import { pod, published, withPods } from './mirror-scene.ts';

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
    // The statement alone is made anew.
    expect(scene.length).toBe(before + 1);
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

  test('a store that was full for long gets everything soon after, and was asked by one digest at a time', async () => {
    const { scene, kube, replica } = await withPods();
    let asked = 0;
    replica.bus.faults.onAppend = () => {
      asked += 1;
      return 'full';
    };
    const names = Array.from({ length: 300 }, (_, index) => `web-${String(index).padStart(3, '0')}`);
    for (const name of names) kube.put(pods, 'shop', name, pod());
    await scene.clock.advance(60_000);
    const inFlightAtFirst = 128;
    expect(asked).toBeLessThan(inFlightAtFirst + 100);
    replica.bus.faults.onAppend = undefined;
    await scene.clock.advance(1_300);
    expect(scene.names('pods')).toEqual(names.map((name) => `pods/shop/${name}`));
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
