/**
 * What the router tells Services, and whom a change concerns. What must hold is docs/features/routes.md §4;
 * tests in quotes say it in short.
 */
import { describe, expect, test } from 'vitest';
import type { PodDigest, ServiceDigest } from '../../../src/features/routes/digests.ts';
import { gateSpec } from '../harness.ts';
import { gateDigest, podDigest, serviceDigest, shop, sliceDigest } from './world-scene.ts';

test('docs/features/routes.md §7.1: a Pod is told which Services wait for it', async () => {
  const scene = await shop({});
  const deadlocksOf = async (routing: ServiceDigest['routing']) => {
    await scene.put({ 'services/web': serviceDigest(routing === undefined ? {} : { routing }) });
    return scene.pod()?.deadlocks;
  };
  await scene.put({ 'pods/web-0': podDigest({}) });
  const { labels } = podDigest({});
  expect(await deadlocksOf({ readyOnly: labels })).toEqual({ web: ['notPublished'] });
  expect(await deadlocksOf({ local: true, affine: true })).toEqual({ web: ['local'] });
  expect(await deadlocksOf({ readyOnly: { app: 'other' } })).toEqual({ web: ['unselected'] });
  expect(await deadlocksOf({ selector: { app: 'other' }, local: true })).toEqual({
    web: ['unselected', 'local'],
  });
  expect(await deadlocksOf({ selector: labels, near: true })).toEqual({ web: ['near'] });
  expect(await deadlocksOf({ selector: labels })).toBeUndefined();
  expect(await deadlocksOf(undefined)).toBeUndefined();
});

test('docs/features/routes.md §7.1: a Pod that was alone hears that another makes session affinity a deadlock', async () => {
  const scene = await shop({});
  await scene.put({
    'pods/web-0': podDigest({}),
    'services/web': serviceDigest({ routing: { affine: true } }),
  });
  expect(scene.pod()?.deadlocks).toBeUndefined();
  scene.affected();
  await scene.put({ 'pods/web-1': podDigest({ uid: 'other-uid', address: null }) });
  expect(scene.affected()).toContain('pod/shop/web-0');
  expect(scene.pod()?.deadlocks).toEqual({ web: ['affine'] });
  // Evicted: it stays until somebody deletes it, and serves no more.
  await scene.put({ 'pods/web-1': podDigest({ uid: 'other-uid', address: null, finished: true }) });
  expect(scene.affected()).toContain('pod/shop/web-0');
  expect(scene.pod()?.deadlocks).toBeUndefined();
  await scene.put({ 'pods/web-1': null });
  expect(scene.pod()?.deadlocks).toBeUndefined();
});

test('docs/features/routes.md §5.5: a Pod that is watched hears that its condition says that nothing was verified', async () => {
  const type = 'example.com/routes';
  for (const whenRouteIsLost of ['withdraw', 'keep'] as const) {
    const scene = await shop({ whenRouteIsLost });
    const says = async (reason: string) => {
      await scene.put({
        'pods/web-0': podDigest({ conditions: { [type]: 'True' }, reasons: { [type]: reason } }),
      });
      return scene.pod()?.saysUnverified;
    };
    expect(await says('RoutesVerified')).toBeUndefined();
    expect(await says('NothingToVerify')).toBe(whenRouteIsLost === 'withdraw' ? true : undefined);
    expect(await says('Unverified')).toBe(whenRouteIsLost === 'withdraw' ? true : undefined);
  }
});

describe('“URL: http://<address>:<port named probe.portName><path>”', () => {
  const dual: Partial<ServiceDigest> = {
    clusterIPs: [
      { ip: '10.1.0.1', family: 'IPv4' },
      { ip: 'fd01::1', family: 'IPv6' },
    ],
  };
  const probesOf = async (address: 'dns' | 'clusterIP', change: Partial<ServiceDigest>) => {
    const scene = await shop({ probe: { ...gateSpec.probe, address } });
    await scene.put({ 'services/web': serviceDigest(change) });
    const { IPv4, IPv6 } = scene.service()?.probes ?? {};
    return [IPv4?.url, IPv6?.url];
  };

  test('“dns: <svc>.<ns>.svc.<cluster domain>”, in both families', async () => {
    const url = 'http://web.shop.svc.cluster.local:80/healthz';
    expect(await probesOf('dns', dual)).toEqual([url, url]);
  });

  test('“clusterIP: the Service’s cluster IP of the wanted family, else whichever it has”', async () => {
    const urls = ['http://10.1.0.1:80/healthz', 'http://[fd01::1]:80/healthz'];
    expect(await probesOf('clusterIP', dual)).toEqual(urls);
    expect(await probesOf('clusterIP', { clusterIPs: dual.clusterIPs?.slice(1) ?? [] })).toEqual([
      urls[1],
      urls[1],
    ]);
    expect(await probesOf('clusterIP', {})).toEqual([urls[0], urls[0]]);
    expect(await probesOf('clusterIP', { clusterIPs: [] })).toEqual([undefined, undefined]);
  });

  test('docs/features/routes.md §3.4: a name is resolved in the wanted family where the Service has it, else in the one that it has', async () => {
    const familiesOf = async (change: Partial<ServiceDigest>) => {
      const scene = await shop({ probe: { ...gateSpec.probe, address: 'dns' } });
      await scene.put({ 'services/web': serviceDigest(change) });
      const { IPv4, IPv6 } = scene.service()?.probes ?? {};
      return [IPv4?.family, IPv6?.family];
    };
    expect(await familiesOf(dual)).toEqual(['IPv4', 'IPv6']);
    expect(await familiesOf({})).toEqual(['IPv4', 'IPv4']);
    expect(await familiesOf({ clusterIPs: [] })).toEqual(['IPv4', 'IPv6']);
    // Of a headless Service.
    expect(await familiesOf({ clusterIPs: [], families: ['IPv4'] })).toEqual(['IPv4', 'IPv4']);
    expect(await familiesOf({ clusterIPs: [], families: ['IPv6', 'IPv4'] })).toEqual(['IPv4', 'IPv6']);
  });

  test('docs/features/routes.md §5.1: a port of another protocol answers no GET', async () => {
    const ports = [{ name: 'health', port: 53, protocol: 'UDP' as const }];
    expect(await probesOf('clusterIP', { ports })).toEqual([undefined, undefined]);
    const scene = await (await shop()).put({ 'services/web': serviceDigest({ ports }) });
    expect(scene.pod()?.unaskable).toEqual({ web: 'has no TCP port named health' });
  });

  test('the port is the one of that name, whatever the others are', async () => {
    const ports = [
      { name: 'http', port: 80, protocol: 'TCP' as const },
      { name: 'health', port: 9002, protocol: 'TCP' as const },
    ];
    const url = 'http://10.1.0.1:9002/healthz';
    expect(await probesOf('clusterIP', { ports })).toEqual([url, url]);
    expect(await probesOf('dns', { ports: ports.slice(0, 1) })).toEqual([undefined, undefined]);
  });

  test('a Service that waits for its deletion still routes, and a Pod that needs its proof can get it', async () => {
    const scene = await (await shop()).put({ 'services/web': serviceDigest({ deleting: true }) });
    expect(scene.pod()?.services).toEqual({ web: 'service-' });
    expect(scene.service()?.probes.IPv4).not.toBeNull();
  });

  test('headers, time limit and attempts are those of the RouteGate', async () => {
    const podIPHeaders = { IPv4: 'X-Four', IPv6: 'X-Six' };
    const probe = {
      ...gateSpec.probe,
      podIPHeaders,
      timeoutSeconds: 0.5,
      attemptsPerReplica: 7,
      path: '/up',
    };
    expect((await shop({ probe })).service()?.probes.IPv4).toEqual({
      url: 'http://10.1.0.1:80/up',
      family: 'IPv4',
      podIPHeaders,
      timeoutMs: 500,
      attemptsPerReplica: 7,
    });
  });
});

describe('whom a change concerns', () => {
  const two = async () => {
    const scene = await shop({ whenRouteIsLost: 'withdraw' });
    const address = { ip: '10.0.0.2', family: 'IPv4' } as const;
    await scene.put({
      'services/api': serviceDigest(),
      'pods/web-1': podDigest({ uid: 'pod-uid-1', address }),
    });
    scene.affected();
    return scene;
  };

  test('“of the group’s Pods”: a Pod that comes, goes, moves or terminates is news to every Service of its group', async () => {
    const changes = [
      podDigest({ address: { ip: '10.0.0.9', family: 'IPv4' } }),
      podDigest({ deleting: true }),
      null,
    ];
    for (const digest of changes) {
      const scene = await two();
      const token = scene.service('api')?.routesToken;
      await scene.put({ 'pods/web-0': digest });
      expect(scene.affected()).toEqual(['pod/shop/web-0', 'service/shop/api', 'service/shop/web']);
      expect(scene.service('api')?.routesToken).not.toBe(token);
    }
  });

  test('a Pod’s condition is news to itself alone', async () => {
    const scene = await two();
    await scene.put({ 'pods/web-0': podDigest({ conditions: { 'example.com/routes': 'True' } }) });
    expect(scene.affected()).toEqual(['pod/shop/web-0']);
  });

  test('“of its EndpointSlices”: a ready address that comes or goes is news to the slice’s Service alone', async () => {
    const scene = await two();
    const tokens = new Set([scene.service('web')?.routesToken]);
    for (const slice of [
      sliceDigest('web', '10.0.0.1'),
      sliceDigest('web', '10.0.0.1', '10.0.0.2'),
      sliceDigest('web'),
    ]) {
      await scene.put({ 'endpointslices/web-a': slice });
      expect(scene.affected()).toEqual(['service/shop/web']);
      tokens.add(scene.service('web')?.routesToken);
    }
    // An empty slice publishes as much as none.
    expect(tokens.size).toBe(3);
    await scene.put({ 'endpointslices/web-a': null });
    expect(scene.service('web')?.routesToken).toBe([...tokens][0]);
  });

  test('docs/features/routes.md §4.8: addresses that are no Pods of the group are no news', async () => {
    const scene = await two();
    await scene.put({ 'endpointslices/web-a': sliceDigest('web', '10.0.0.1') });
    const facts = scene.service('web');
    await scene.put({ 'endpointslices/foreign': sliceDigest('web', '192.0.2.1', '192.0.2.2') });
    expect(scene.service('web')).toEqual(facts);
  });

  test('addresses of several slices are one set', async () => {
    const scene = await two();
    await scene.put({
      'pods/web-2': podDigest({ uid: 'pod-uid-2', address: { ip: '10.0.0.3', family: 'IPv4' } }),
    });
    scene.affected();
    await scene.put({
      'endpointslices/web-a': sliceDigest('web', '10.0.0.2', '10.0.0.1'),
      'endpointslices/web-b': sliceDigest('web', '10.0.0.1', '10.0.0.3'),
    });
    expect(scene.service('web')?.readyAddresses).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3']);
    await scene.put({ 'endpointslices/web-b': sliceDigest('api', '10.0.0.3') });
    expect(scene.service('web')?.readyAddresses).toEqual(['10.0.0.1', '10.0.0.2']);
    expect(scene.service('api')?.readyAddresses).toEqual(['10.0.0.3']);
    expect(scene.affected()).toEqual(['service/shop/api', 'service/shop/web']);
  });

  test('with keep nobody asks for the ready addresses', async () => {
    expect((await shop()).service()?.readyAddresses).toBeNull();
  });

  test('a Service that comes or goes is news to every Pod of its group, and to its peers', async () => {
    const all = [
      'pod/shop/web-0',
      'pod/shop/web-1',
      'service/shop/api',
      'service/shop/late',
      'service/shop/web',
    ];
    const scene = await two();
    await scene.put({ 'services/late': serviceDigest() });
    expect(scene.affected()).toEqual(all);
    expect(scene.service('api')?.peers).toEqual(['late', 'web']);
    await scene.put({ 'services/late': null });
    expect(scene.affected()).toEqual(all);
  });
});

describe('docs/features/routes.md §2.3: several gates with different condition types on one Pod', () => {
  const other = { conditionType: 'example.com/other', probe: { ...gateSpec.probe, path: '/other' } };
  const both = ['example.com/routes', 'example.com/other'];
  const twice = async (change: Partial<PodDigest> = { readinessGates: both }) => {
    const scene = await shop();
    await scene.put({ 'pods/web-0': podDigest(change) });
    await scene.put({ 'routegates/second': gateDigest(other, { uid: 'second-uid', createdAt: 5 }) });
    return scene.synced(['gate-uid/1', 'second-uid/1']);
  };

  test('each has an actor of the Pod and one of each Service, with what it asks for', async () => {
    const scene = await twice();
    expect(scene.pod('web-0')).toMatchObject({ gate: { conditionType: 'example.com/routes' } });
    expect(scene.pod('web-0@second')).toMatchObject({
      gate: { name: 'second', conditionType: 'example.com/other' },
      services: { 'web@second': 'service-' },
    });
    expect(scene.service('web')?.probes.IPv4?.url).toContain('/healthz');
    expect(scene.service('web@second')?.probes.IPv4?.url).toMatch(/10\.1\.0\.1.*\/other/);
  });

  test('a Pod that lists one of the types is held by that gate alone', async () => {
    const scene = await twice({ readinessGates: ['example.com/other'] });
    expect(scene.pod('web-0')).toMatchObject({ gate: { conditionType: 'example.com/other' }, gated: true });
    expect(scene.pod('web-0@second')).toBeNull();
  });

  test('of two with the same type the oldest holds the Pod', async () => {
    const scene = await shop();
    await scene.put({ 'routegates/second': gateDigest({}, { uid: 'second-uid', createdAt: 5 }) });
    await scene.synced(['gate-uid/1', 'second-uid/1']);
    expect(scene.pod('web-0')).toMatchObject({ gate: { name: 'gate' } });
    expect(scene.pod('web-0@second')).toBeNull();
  });
});
