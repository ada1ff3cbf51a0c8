/**
 * What the router tells actors of the world. What must hold is docs/features/routes.md §2; tests in quotes
 * say it in short.
 */
import { describe, expect, test } from 'vitest';
import type { PodDigest, ServiceDigest } from '../../../src/features/routes/digests.ts';
import type { RouteGateSpec } from '../../../src/features/routes/route-gate.ts';
import { gateSpec } from '../harness.ts';
import {
  gateDigest,
  needed,
  ownedBy,
  ownerDigest,
  podDigest,
  serviceDigest,
  shop,
  WorldScene,
} from './world-scene.ts';

describe('the facts of a Pod', () => {
  test('hold all that its chart needs, joined from the Pod, its RouteGate and its group', async () => {
    const scene = await shop();
    expect(scene.pod()).toEqual({
      uid: 'pod-uid',
      address: { ip: '10.0.0.1', family: 'IPv4' },
      deleting: false,
      gated: true,
      condition: null,
      verifiable: true,
      gate: {
        name: 'gate',
        conditionType: 'example.com/routes',
        whenRouteIsLost: 'keep',
        whenUnverifiable: 'pass',
      },
      groupResource: 'none',
      services: { web: 'service-' },
      unaskable: {},
    });
  });

  test.each<[string, Partial<PodDigest>, object]>([
    ['no such readiness gate', { readinessGates: ['other.example.com/gate'] }, { gated: false }],
    ['the condition', { conditions: { 'example.com/routes': 'False' } }, { condition: 'False' }],
    ['no address', { address: null }, { address: null }],
    ['an address that does not parse', { address: { invalid: 'x' } }, { address: { invalid: 'x' } }],
    ['its deletion', { deleting: true }, { deleting: true }],
    ['its end', { finished: true }, { deleting: true }],
  ])('%s is told', async (_, change, facts) => {
    const scene = await (await shop()).put({ 'pods/web-0': podDigest(change) });
    expect(scene.pod()).toMatchObject(facts);
  });

  test('a group without a Service is told with the label that one would have', async () => {
    const before = await shop();
    expect(before.pod()?.noService).toBeUndefined();
    const scene = await before.put({ 'services/web': null });
    expect(scene.pod()).toMatchObject({ services: {}, noService: { label: 'group', value: 'one' } });
  });

  test('“A Service without the named port counts as proven”: it is told without a uid', async () => {
    const scene = await (await shop()).put({
      'services/plain': serviceDigest({ ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }),
    });
    expect(scene.pod()?.services).toEqual({ plain: null, web: 'service-' });
  });

  test.each([
    [['TS_ENABLE=true'], true],
    [['TS_ENABLE=false'], false],
    [[], false],
  ])(
    '“onlyIfEnv”: of a Pod with %j it is told whether a probe can tell it: %s',
    async (matchedEnv, verifiable) => {
      const probe = { ...gateSpec.probe, onlyIfEnv: { name: 'TS_ENABLE', value: 'true' } };
      const scene = await (await shop({ probe })).put({ 'pods/web-0': podDigest({ matchedEnv }) });
      expect(scene.pod()?.verifiable).toBe(verifiable);
    },
  );
});

describe('“every Service of the group (RouteGate’s namespace, serviceSelector, equal group label)”', () => {
  const groupOf = (group: string) => ({ app: 'web', group });

  test.each<[string, string, Partial<ServiceDigest>]>([
    ['of another group', 'services/other', { labels: { routed: 'yes', group: 'two' } }],
    ['without the group label', 'services/other', { labels: { routed: 'yes' } }],
    ['that the selector does not select', 'services/other', { labels: { routed: 'no', group: 'one' } }],
    ['of another namespace', 'services/depot/other', {}],
  ])('a Service %s is none', async (_, path, change) => {
    const scene = await (await shop()).put({ [path]: serviceDigest(change) });
    expect(Object.keys(scene.pod()?.services ?? {})).toEqual(['web']);
  });

  test('Pods and Services of equal label values belong together, those of others to others', async () => {
    const scene = await (await shop()).put({
      'pods/two-0': podDigest({ labels: groupOf('two') }),
      'services/two-a': serviceDigest({ labels: { routed: 'yes', group: 'two' } }),
      'services/two-b': serviceDigest({ labels: { routed: 'yes', group: 'two' } }),
    });
    expect(Object.keys(scene.pod('web-0')?.services ?? {})).toEqual(['web']);
    expect(Object.keys(scene.pod('two-0')?.services ?? {})).toEqual(['two-a', 'two-b']);
    expect(scene.service('two-a')?.peers).toEqual(['two-b']);
  });

  test('the two sides may name the group by different labels', async () => {
    const scene = await shop({ group: { podLabel: 'app', serviceLabel: 'group' } });
    await scene.put({ 'services/web': serviceDigest({ labels: { routed: 'yes', group: 'web' } }) });
    expect(Object.keys(scene.pod()?.services ?? {})).toEqual(['web']);
  });

  test('a label that changes moves the Pod to its new group, and the new group’s Services look again', async () => {
    const scene = await (await shop()).put({
      'services/two': serviceDigest({ labels: { routed: 'yes', group: 'two' } }),
    });
    scene.affected();
    await scene.put({ 'pods/web-0': podDigest({ labels: groupOf('two') }) });
    expect(Object.keys(scene.pod()?.services ?? {})).toEqual(['two']);
    expect(scene.affected()).toEqual(['pod/shop/web-0', 'service/shop/two', 'service/shop/web']);
  });

  test('a Pod or Service that nobody selects any more is told so', async () => {
    const scene = await (await shop()).put({
      'pods/web-0': podDigest({ labels: { app: 'other', group: 'one' }, readinessGates: [] }),
      'services/web': null,
    });
    expect(scene.pod()).toBeNull();
    expect(scene.service()).toBeNull();
  });
});

describe('several RouteGates', () => {
  const older = gateDigest({ conditionType: 'old' }, { uid: 'old-uid', createdAt: 1 });
  const younger = gateDigest({ conditionType: 'young' }, { uid: 'young-uid', createdAt: 2 });
  const both = async (gates: Record<string, object>) => {
    const scene = await WorldScene.start();
    await scene.put({ ...gates, 'pods/web-0': podDigest(), 'services/web': serviceDigest() });
    return scene.synced(['old-uid/1', 'young-uid/1']);
  };

  test('the oldest one that selects a Pod holds it, whatever their names and their order', async () => {
    for (const gates of [
      { 'routegates/z': older, 'routegates/a': younger },
      { 'routegates/a': younger, 'routegates/z': older },
    ])
      expect((await both(gates)).pod()?.gate.name).toBe('z');
  });

  test('of two that are equally old, the first by name holds it', async () => {
    const scene = await both({ 'routegates/b': younger, 'routegates/a': { ...older, createdAt: 2 } });
    expect(scene.pod()?.gate.name).toBe('a');
  });

  test.each<[string, object | null]>([
    ['is deleted', null],
    ['is being deleted', { ...older, deleting: true }],
    ['cannot be used', { ...older, spec: { invalid: 'no' } }],
    [
      'selects other Pods now',
      { ...older, spec: { ...gateSpec, podSelector: { matchLabels: { app: 'x' } } } },
    ],
  ])('when the older one %s, the younger one holds the Pod, and its actor is told', async (_, change) => {
    const scene = await both({ 'routegates/z': older, 'routegates/a': younger });
    scene.affected();
    await scene.put({ 'routegates/z': change });
    expect(scene.pod()?.gate).toMatchObject({ name: 'a', conditionType: 'young' });
    expect(scene.affected()).toContain('pod/shop/web-0');
  });

  test('one of another namespace holds nobody here', async () => {
    const scene = await WorldScene.start();
    await scene.put({ 'routegates/depot/gate': gateDigest(), 'pods/web-0': podDigest() });
    expect((await scene.synced()).pod()).toBeNull();
  });
});

test('a RouteGate whose status alone was written concerns no Pod and no Service', async () => {
  const made = await shop();
  made.affected();
  await made.put({ 'routegates/gate': gateDigest({}, { resourceVersion: '2', said: 'one Pod waits' }) });
  expect(made.affected()).toEqual([]);
  await made.put({ 'routegates/gate': gateDigest({}, { generation: 2 }) });
  expect(made.affected()).toEqual(['pod/shop/web-0', 'service/shop/web']);
});

describe('a complete picture or nothing', () => {
  const scene = async (resources: readonly string[], gates?: string[]) => {
    const made = await WorldScene.start();
    await made.put({
      'routegates/gate': gateDigest(),
      'pods/web-0': podDigest(),
      'services/web': serviceDigest(),
    });
    return made.synced(gates, resources);
  };

  test.each(needed)(
    'while it is not stated that the %s are mirrored, nobody is told anything',
    async (missing) => {
      const incomplete = await scene(needed.filter((resource) => resource !== missing));
      expect(incomplete.pod()).toBeUndefined();
      expect(incomplete.service()).toBeUndefined();
      await incomplete.synced(undefined, [missing]);
      expect(incomplete.affected()).toEqual(expect.arrayContaining(['pod/shop/web-0', 'service/shop/web']));
      expect(incomplete.pod()?.services).toEqual({ web: 'service-' });
    },
  );

  test.each([
    ['an earlier generation', 'gate-uid/0'],
    ['another RouteGate', 'other-uid/1'],
  ])('a statement about %s does not count', async (_, version) => {
    const stale = await scene(needed, [version]);
    expect(stale.pod()).toBeUndefined();
    expect(stale.service()).toBeUndefined();
  });

  test('while the group resource is not mirrored, nobody is told that it is missing', async () => {
    const made = await shop({ groupResource: ownedBy() });
    expect(made.pod()).toBeUndefined();
    expect((await made.ownersSynced()).pod()?.groupResource).toBe('missing');
  });

  test('a Pod of a new RouteGate whose Services are not mirrored yet is not told that it has none', async () => {
    const made = await WorldScene.start();
    await made.synced([]);
    await made.put({ 'routegates/gate': gateDigest(), 'pods/web-0': podDigest() });
    expect(made.pod()).toBeUndefined();
    await made.synced(['gate-uid/1'], ['pods', 'endpointslices']);
    expect(made.pod()).toBeUndefined();
    await made.put({ 'services/web': serviceDigest() });
    expect(made.pod()).toBeUndefined();
    await made.synced(['gate-uid/1'], ['services']);
    expect(made.pod()?.services).toEqual({ web: 'service-' });
  });

  test('a RouteGate that changes is believed once everything was mirrored with the change in mind', async () => {
    const made = await shop();
    const changed: Partial<RouteGateSpec> = { serviceSelector: { matchLabels: { routed: 'also' } } };
    await made.put({ 'routegates/gate': gateDigest(changed, { generation: 2 }) });
    expect(made.pod()).toBeUndefined();
    await made.put({ 'services/late': serviceDigest({ labels: { routed: 'also', group: 'one' } }) });
    expect(made.pod()).toBeUndefined();
    expect(Object.keys((await made.synced(['gate-uid/2'])).pod()?.services ?? {})).toEqual(['late']);
  });

  test('a statement calls out the actors of the RouteGates that it newly speaks of, and no others', async () => {
    const made = await scene(needed);
    await made.put({
      'routegates/yard/gate': gateDigest({}, { uid: 'yard-uid' }),
      'pods/yard/web-0': podDigest(),
    });
    made.affected();
    const both = ['gate-uid/1', 'yard-uid/1'];
    await made.synced(both, ['pods', 'services']);
    expect(made.affected()).toEqual(['pod/yard/web-0']);
    await made.synced(both, ['endpointslices']);
    expect(made.affected()).toEqual(['pod/yard/web-0']);
    expect(made.pod('web-0', 'yard')).not.toBeUndefined();
    await made.synced(both);
    expect(made.affected()).toEqual([]);
    await made.synced(['yard-uid/1'], ['pods']);
    expect(made.affected()).toEqual(['pod/shop/web-0', 'service/shop/web']);
  });

  test('before Pods and RouteGates were listed, nobody is told that he does not exist', async () => {
    const empty = await WorldScene.start();
    expect([empty.pod(), empty.service()]).toEqual([undefined, undefined]);
    await empty.synced([], []);
    expect([empty.pod(), empty.service()]).toEqual([undefined, undefined]);
    await empty.synced([], ['pods', 'services']);
    expect([empty.pod(), empty.service()]).toEqual([null, null]);
  });
});

describe('“groupResource (if set)”', () => {
  test('a kind that comes into being, and an owner that changes, call out the groups that they own', async () => {
    const made = await shop({ groupResource: ownedBy() });
    await made.put({
      'pods/other-0': podDigest({ uid: 'other', labels: { app: 'web', group: 'two' } }),
      'routegates/yard/gate': gateDigest({}, { uid: 'yard-uid' }),
      'pods/yard/web-0': podDigest(),
    });
    await made.ownersSynced(null);
    made.affected();
    await made.ownersSynced('owners.example.com');
    expect(made.affected()).toEqual(['pod/shop/other-0', 'pod/shop/web-0', 'service/shop/web']);
    await made.put({ 'owners.example.com//one': ownerDigest() });
    expect(made.affected()).toEqual(['pod/shop/web-0', 'service/shop/web']);
    await made.put({ 'owners.example.com/yard/two': ownerDigest() });
    expect(made.affected()).toEqual([]);
  });

  const owned = async (change: object = {}) =>
    (await shop({ groupResource: ownedBy(change) })).ownersSynced();
  const require = { 'spec.type': 'egress' };

  test.each(['owners.example.com/shop/one', 'owners.example.com//one'])('%s is found', async (path) => {
    const scene = await owned();
    scene.affected();
    await scene.put({ [path]: ownerDigest() });
    expect(scene.pod()?.groupResource).toBe('found');
    expect(scene.affected()).toContain('pod/shop/web-0');
  });

  test.each(['owners.example.com/depot/one', 'owners.example.com/shop/two'])(
    '%s is not this group’s',
    async (path) => {
      expect((await (await owned()).put({ [path]: ownerDigest() })).pod()?.groupResource).toBe('missing');
    },
  );

  test('“not found → groupMissing”, also where the kind does not exist in the cluster', async () => {
    const scene = await shop({ groupResource: ownedBy() });
    const facts = (await scene.ownersSynced(null)).pod();
    expect(facts?.groupResource).toBe('missing');
    expect(facts?.owner).toEqual({
      apiVersion: 'example.com/v1',
      kind: 'Owner',
      name: 'one',
      label: 'group',
    });
  });

  test('its creation and its deletion are told', async () => {
    const scene = await owned();
    const states = [scene.pod()?.groupResource];
    for (const digest of [ownerDigest(), null])
      states.push((await scene.put({ 'owners.example.com//one': digest })).pod()?.groupResource);
    expect(states).toEqual(['missing', 'found', 'missing']);
  });

  test.each([
    [{ 'spec.type': 'egress' }, 'found'],
    [{ 'spec.type': 'ingress' }, 'mismatch'],
    [{}, 'mismatch'],
  ])('“a require mismatch → notApplicable”: %j is a %s', async (fields, state) => {
    const scene = await (await owned({ require })).put({
      'owners.example.com//one': ownerDigest(fields as never),
    });
    expect(scene.pod()?.groupResource).toBe(state);
  });

  test.each([
    [{ 'spec.type': 'egress' }, []],
    [{ 'spec.type': 'ingress' }, null],
  ])(
    '§2.7: of a gate that withdraws, Services watch the Pods of an owner with %j: %j',
    async (fields, ready) => {
      const groupResource = ownedBy({ require });
      const scene = await (await shop({ groupResource, whenRouteIsLost: 'withdraw' })).ownersSynced();
      await scene.put({ 'owners.example.com//one': ownerDigest(fields as never) });
      expect(scene.service()?.readyAddresses).toEqual(ready);
    },
  );
});

describe('“replicas: groupResource’s number, else the count of the group’s Pods; at least 1”', () => {
  const replicas = { path: 'spec.replicas', default: 2 };

  test.each([
    [{ 'spec.replicas': 5 }, 5],
    [{}, 2],
    [{ 'spec.replicas': 0 }, 1],
    [{ 'spec.replicas': 'many' }, 1],
  ])('an owner with %j: %i', async (fields, count) => {
    const scene = await (await shop({ groupResource: ownedBy({ replicas }) })).ownersSynced();
    await scene.put({ 'owners.example.com//one': ownerDigest(fields as never) });
    expect(scene.service()?.replicas).toBe(count);
  });

  test('without an owner the group’s Pods are counted, and there is at least one', async () => {
    const scene = await shop();
    await scene.put({
      'pods/web-1': podDigest(),
      'pods/other': podDigest({ labels: { app: 'web', group: 'two' } }),
    });
    expect(scene.service()?.replicas).toBe(2);
    await scene.put({ 'pods/web-0': null, 'pods/web-1': null });
    expect(scene.service()?.replicas).toBe(1);
  });
});
