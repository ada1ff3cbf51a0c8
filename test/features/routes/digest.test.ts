/** Objects as the API server gives them, and the few fields that are told of them for the sake of routes. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import {
  type EnvPair,
  groupPart,
  podPart,
  routeGatePart,
  servicePart,
  slicePart,
} from '../../../src/features/routes/digest.ts';

const metadata = { name: 'web-0', namespace: 'shop', uid: 'u-1', resourceVersion: '42' };
const pod = (fields: Record<string, unknown>, envPairs: readonly EnvPair[] = []) =>
  podPart({ metadata, ...fields }, envPairs);

describe('the address of a Pod', () => {
  test.each([
    ['none yet', {}, null],
    ['an empty list', { podIPs: [] }, null],
    ['podIP alone does not count', { podIP: '10.0.0.7' }, null],
    [
      'the first of two',
      { podIPs: [{ ip: '10.0.0.7' }, { ip: 'fd00::7' }] },
      { ip: '10.0.0.7', family: 'IPv4' },
    ],
    ['in canonical form', { podIPs: [{ ip: 'FD00:0:0::7' }] }, { ip: 'fd00::7', family: 'IPv6' }],
    ['what does not parse', { podIPs: [{ ip: '10.0.0.07' }] }, { invalid: '10.0.0.07' }],
    ['a broken entry', { podIPs: ['10.0.0.7'] }, null],
    ['a broken list', { podIPs: 'none' }, null],
  ])('%s', (_, status, address) => {
    expect(pod({ status })).toMatchObject({ address });
  });
});

test('a route that was lost is told with the time since when', () => {
  const lost = { status: 'False', reason: 'RouteLost', lastTransitionTime: '2026-11-27T10:00:00Z' };
  const spec = { readinessGates: [{ conditionType: 'a.io/x' }, { conditionType: 'a.io/y' }] };
  const conditions = [
    { type: 'a.io/x', ...lost },
    { type: 'a.io/y', ...lost, reason: 'WaitingForRoutes' },
    { type: 'a.io/z', ...lost },
  ];
  expect(pod({ spec, status: { conditions } })).toMatchObject({
    lostAt: { 'a.io/x': Date.parse('2026-11-27T10:00:00Z') },
  });
  const broken = [{ type: 'a.io/x', ...lost, lastTransitionTime: 'yesterday' }];
  expect(pod({ spec, status: { conditions: broken } })).not.toHaveProperty('lostAt');
});

test.each([true, false, undefined, 'true'])('hostNetwork %j is told only if it is true', (hostNetwork) => {
  expect(pod({ spec: { hostNetwork } })).toEqual(
    hostNetwork === true
      ? expect.objectContaining({ hostNetwork })
      : expect.not.objectContaining({ hostNetwork }),
  );
});

test('only conditions that are readiness gates are told, and an odd status is Unknown', () => {
  const spec = {
    readinessGates: [{ conditionType: 'a.io/x' }, { conditionType: 'a.io/y' }, { conditionType: 'a.io/z' }],
  };
  const conditions = [
    { type: 'Ready', status: 'True' },
    { type: 'a.io/x', status: 'True' },
    { type: 'a.io/y', status: 'odd' },
  ];
  expect(pod({ spec, status: { conditions } })).toMatchObject({
    readinessGates: ['a.io/x', 'a.io/y', 'a.io/z'],
    conditions: { 'a.io/x': 'True', 'a.io/y': 'Unknown' },
  });
});

test('of a Pod’s conditions that are False it is known which a RouteGate wrote', () => {
  const spec = { readinessGates: [{ conditionType: 'a.io/x' }, { conditionType: 'a.io/y' }] };
  const conditions = [
    { type: 'a.io/x', status: 'False', reason: 'WaitingForRoutes' },
    { type: 'a.io/y', status: 'False', reason: 'TargetUnhealthy' },
    { type: 'a.io/other', status: 'False', reason: 'WaitingForRoutes' },
  ];
  expect(pod({ spec, status: { conditions } })).toMatchObject({ heldBack: ['a.io/x'] });
  expect(pod({ spec })).not.toHaveProperty('heldBack');
});

describe('the environment of a Pod (I9)', () => {
  const pair = { name: 'CHECK', value: 'true' };
  const withEnv = (env: unknown, more: object = {}) => ({ spec: { containers: [{ env }], ...more } });

  test.each([
    ['the very value', withEnv([{ name: 'CHECK', value: 'true' }]), ['CHECK=true']],
    ['another value', withEnv([{ name: 'CHECK', value: 'True' }]), []],
    ['no such variable', withEnv([{ name: 'OTHER', value: 'true' }]), []],
    ['no environment', withEnv(undefined), []],
    [
      'a value from elsewhere',
      withEnv([{ name: 'CHECK', value: 'true', valueFrom: { secretKeyRef: {} } }]),
      [],
    ],
    [
      'the last of two holds',
      withEnv([
        { name: 'CHECK', value: 'true' },
        { name: 'CHECK', value: 'no' },
      ]),
      [],
    ],
    [
      'any container',
      { spec: { containers: [{}, { env: [{ name: 'CHECK', value: 'true' }] }] } },
      ['CHECK=true'],
    ],
    ['a sidecar', { spec: { initContainers: [{ restartPolicy: 'Always', env: [pair] }] } }, ['CHECK=true']],
    ['a container that has ended', { spec: { initContainers: [{ env: [pair] }] } }, []],
    ['a broken specification', { spec: { containers: 'none' } }, []],
  ])('%s', (_, fields, matchedEnv) => {
    expect(pod(fields, [pair])).toMatchObject({ matchedEnv });
  });

  test('an empty value matches a variable without one, and nothing else', () => {
    const empty = { name: 'CHECK', value: '' };
    expect(pod(withEnv([{ name: 'CHECK' }]), [empty])).toMatchObject({ matchedEnv: ['CHECK='] });
    expect(pod(withEnv([{ name: 'CHECK', valueFrom: {} }]), [empty])).toMatchObject({ matchedEnv: [] });
  });

  test('nothing else of it is told', () => {
    const secret = 'swordfish-4711';
    const digest = pod(
      withEnv([
        { name: 'PASSWORD', value: secret },
        { name: 'CHECK', value: 'true' },
      ]),
      [pair],
    );
    expect(JSON.stringify(digest)).not.toContain(secret);
    expect(JSON.stringify(digest)).not.toContain('PASSWORD');
  });
});

describe('a Service', () => {
  test.each([
    ['two families', { clusterIPs: ['10.1.0.1', 'FD00::1'], clusterIP: '10.1.0.1' }, ['10.1.0.1', 'fd00::1']],
    ['the old field alone', { clusterIP: '10.1.0.1' }, ['10.1.0.1']],
    ['headless', { clusterIP: 'None', clusterIPs: ['None'] }, []],
    ['ExternalName', { type: 'ExternalName', externalName: 'x.example.com' }, []],
    ['one of two broken', { clusterIPs: ['10.1.0.01', 'fd00::1'] }, ['fd00::1']],
  ])('%s', (_, spec, ips) => {
    expect(servicePart({ metadata, spec }).clusterIPs.map(({ ip }) => ip)).toEqual(ips);
  });

  const digest = (spec: object, annotations: Record<string, string> = {}) =>
    servicePart({ metadata: { ...metadata, annotations }, spec });

  test('in which families the name of a headless one leads to its Pods', () => {
    const ipFamilies = ['IPv6', 'IPv4', 'none'];
    expect(digest({ clusterIP: 'None', ipFamilies }).families).toEqual(['IPv6', 'IPv4']);
    expect(digest({ clusterIP: 'None' })).not.toHaveProperty('families');
    expect(digest({ clusterIP: '10.1.0.1', ipFamilies })).not.toHaveProperty('families');
  });

  test.each<[string, object, Record<string, string>]>([
    ['trafficDistribution', { trafficDistribution: 'PreferSameZone' }, {}],
    ['a topology mode', {}, { 'service.kubernetes.io/topology-mode': 'Auto' }],
    ['topology aware hints', {}, { 'service.kubernetes.io/topology-aware-hints': 'auto' }],
  ])('%s leads to near Pods first, but not through a name that leads to all Pods', (_, spec, annotations) => {
    expect(digest(spec, annotations).routing).toEqual({ near: true });
    expect(digest({ ...spec, clusterIP: 'None' }, annotations).routing).toBeUndefined();
  });

  test('an internal traffic policy is none of a headless one', () => {
    const internalTrafficPolicy = 'Local';
    expect(digest({ internalTrafficPolicy }).routing).toEqual({ local: true });
    expect(digest({ internalTrafficPolicy, clusterIP: 'None' }).routing).toBeUndefined();
    expect(digest({}, { 'service.kubernetes.io/topology-mode': 'Disabled' }).routing).toBeUndefined();
  });

  test('ports have a name, a number and a protocol', () => {
    const ports = [
      { port: 80 },
      { name: 'health', port: 9002, protocol: 'TCP' },
      { name: 'dns', port: 53, protocol: 'UDP' },
      {},
    ];
    expect(servicePart({ metadata, spec: { ports } })).toMatchObject({
      ports: [
        { name: '', port: 80, protocol: 'TCP' },
        { name: 'health', port: 9002, protocol: 'TCP' },
        { name: 'dns', port: 53, protocol: 'UDP' },
      ],
    });
  });
});

describe('an EndpointSlice', () => {
  const slice = (endpoints: unknown, labels = { 'kubernetes.io/service-name': 'web' }) =>
    slicePart({ metadata: { ...metadata, labels }, endpoints });

  test('tells the canonical addresses that are ready, in one order whatever the object has', () => {
    const endpoints = [
      { addresses: ['10.0.0.9'], conditions: { ready: true } },
      { addresses: ['10.0.0.3'], conditions: { ready: false } },
      { addresses: ['FD00::5'], conditions: {} },
      { addresses: ['10.0.0.2'] },
      { addresses: ['10.0.0.9', 'not one'] },
    ];
    expect(slice(endpoints)).toMatchObject({
      service: 'web',
      readyAddresses: ['10.0.0.2', '10.0.0.9', 'fd00::5'],
    });
    expect(slice([...endpoints].reverse())).toEqual(slice(endpoints));
  });

  test('without endpoints or without a Service it is empty', () => {
    expect(slice(null)).toMatchObject({ readyAddresses: [] });
    expect(slice([], {} as never)).toMatchObject({ service: '' });
  });
});

test('a group resource tells the plain values at the paths that are named', () => {
  const object = {
    metadata,
    spec: { type: 'egress', replicas: 3, on: true, nested: { deep: 'x' }, list: [1] },
  } as KubeObject;
  const paths = [
    'spec.type',
    'spec.replicas',
    'spec.on',
    'spec.nested',
    'spec.list',
    'spec.no.where',
    'constructor.name',
    'metadata.name',
  ];
  expect(groupPart(object, { resource: 'proxygroups.tailscale.com', paths })).toMatchObject({
    resource: 'proxygroups.tailscale.com',
    fields: { 'spec.type': 'egress', 'spec.replicas': 3, 'spec.on': true, 'metadata.name': 'web-0' },
  });
});

test('a RouteGate tells its generation, and its specification or what is wrong with it', () => {
  const digest = routeGatePart({ metadata: { ...metadata, generation: 3 }, spec: {} });
  expect(digest).toMatchObject({
    generation: 3,
    spec: { invalid: expect.stringContaining('spec.') },
  });
});

test('what the status of a RouteGate says is kept in short, without its times', () => {
  const valid = { type: 'Valid', status: 'True', reason: 'InUse' };
  const verifying = { type: 'Verifying', status: 'False', reason: 'PortMissing' };
  const status = { pods: 3, waiting: 1, longestWaitSeconds: 4, conditions: [verifying, valid] };
  const said = (change: object) =>
    routeGatePart({ metadata, spec: {}, status: { ...status, ...change } }).said;
  expect(routeGatePart({ metadata, spec: {} }).said).toBe('');
  expect(said({})).toBe(said({ longestWaitSeconds: 9, conditions: [valid, { ...verifying, message: 'x' }] }));
  for (const change of [{ pods: 2 }, { waiting: 'x' }, { conditions: [valid] }, { conditions: 7 }])
    expect(said(change)).not.toBe(said({}));
});
