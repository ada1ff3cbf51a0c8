/** Mirrors on the memory bus: what stands in the world, and what is published of it. */
import { describe, expect, test } from 'vitest';
import type { AnyDigest } from '../../../src/base/digests.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import { encode } from '../../../src/bus/codec.ts';
import { pods, routeGates } from '../../../src/features/routes/resources.ts';
import { endpointSlices, services } from '../../../src/kube/api/resources.ts';
import { gate, pod, published, withPods } from './mirror-scene.ts';

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

  test('the replica that takes over publishes what has changed meanwhile, deletions included, and its own statement, and nothing else', async () => {
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
    expect(subjects.sort()).toEqual(['changed', 'gone', 'new', 'pods']);
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

  test('what a complete list shows is right, also where the world holds a later version of it', async () => {
    const { scene, kube, replica, mirror } = await withPods((kube) => kube.put(pods, 'shop', 'web-0', pod()));
    mirror.stop();
    const digest = scene.world()['pods/shop/web-0'] as AnyDigest & { resourceVersion: string };
    const subject = scene.subjects.world('pods', 'shop', 'web-0');
    await scene.hub
      .connect('newer')
      .append(subject, encode({ ...digest, resourceVersion: '9000', deleting: true }));
    await scene.clock.advance(10);
    await scene.start(replica.mirror(pods));
    expect(scene.world()['pods/shop/web-0']).toEqual(digest);
    kube.put(pods, 'shop', 'web-0', { ...pod(), uid: 'another' });
    await scene.clock.advance(100);
    expect(scene.world()['pods/shop/web-0']).toMatchObject({ uid: 'another', deleting: false });
  });
});
