/** RouteGates: what is filled in, and what is refused with which words. */
import { describe, expect, test } from 'vitest';
import { readRouteGateSpec } from '../../../src/features/routes/route-gate.ts';
import { kindText } from '../../../src/kube/mirror/merged-watch.ts';
import { featuresOf } from '../../../src/replica/features.ts';

/** The Tailscale preset. */
const preset = {
  conditionType: 'tailscale.com/egress-services',
  podSelector: { matchLabels: { 'tailscale.com/parent-resource-type': 'proxygroup' } },
  group: { podLabel: 'tailscale.com/parent-resource', serviceLabel: 'tailscale.com/proxy-group' },
  serviceSelector: { matchLabels: { 'tailscale.com/managed': 'true', 'tailscale.com/svc-type': 'egress' } },
  groupResource: {
    apiVersion: 'tailscale.com/v1alpha1',
    kind: 'ProxyGroup',
    require: { 'spec.type': 'egress' },
    replicas: { path: 'spec.replicas', default: 2 },
  },
  probe: {
    portName: 'tailscale-health-check',
    path: '/healthz',
    podIPHeaders: { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' },
    timeoutSeconds: 3,
    attemptsPerReplica: 3,
    address: 'dns',
    onlyIfEnv: { name: 'TS_ENABLE_HEALTH_CHECK', value: 'true' },
  },
  whenRouteIsLost: 'keep',
};

const smallest = {
  conditionType: 'example.com/routes',
  podSelector: { matchLabels: { app: 'web' } },
  group: { podLabel: 'group', serviceLabel: 'group' },
  serviceSelector: {},
  probe: { portName: 'health' },
};

/** A copy with one field changed; `path` in dots, undefined removes. */
function changed(path: string, value: unknown): unknown {
  const copy = structuredClone(preset) as Record<string, unknown>;
  const keys = path.split('/');
  const last = keys.pop() ?? '';
  const parent = keys.reduce<Record<string, unknown>>((at, key) => at[key] as Record<string, unknown>, copy);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return copy;
}

test('the preset is taken as it is', () => {
  expect(readRouteGateSpec(preset)).toEqual({ ...preset, whenUnverifiable: 'pass' });
});

test('what may be left out is filled in', () => {
  expect(readRouteGateSpec(smallest)).toEqual({
    ...smallest,
    groupResource: null,
    probe: {
      portName: 'health',
      path: '/healthz',
      podIPHeaders: { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' },
      timeoutSeconds: 3,
      attemptsPerReplica: 3,
      address: 'dns',
      onlyIfEnv: null,
    },
    whenRouteIsLost: 'keep',
    whenUnverifiable: 'pass',
  });
});

test.each([
  ['groupResource', null],
  ['groupResource/require', undefined],
  ['groupResource/replicas', undefined],
  ['probe/onlyIfEnv', undefined],
  ['probe/timeoutSeconds', 0.5],
  ['probe/path', '/health?full=1'],
  ['probe/podIPHeaders', { IPv4: 'X-Pod-IP' }],
  ['podSelector', { matchExpressions: [{ key: 'app', operator: 'In', values: ['web', ''] }] }],
  ['podSelector', { matchExpressions: [{ key: 'app', operator: 'Exists', values: [] }] }],
  ['whenRouteIsLost', 'withdraw'],
  ['probe/address', 'clusterIP'],
  ['somethingNew', { of: 'a later release' }],
])('%s: %o is allowed', (path, value) => {
  expect(readRouteGateSpec(changed(path, value))).not.toHaveProperty('invalid');
});

describe('what is refused, and how it is said', () => {
  test.each([
    ['conditionType', undefined, 'spec.conditionType: is missing'],
    ['conditionType', 'a/b/c', 'spec.conditionType: must be a qualified name'],
    ['conditionType', 'Ready', 'spec.conditionType: this condition belongs to the kubelet'],
    ['conditionType', 7, 'spec.conditionType: must be text'],
    ['podSelector', undefined, 'spec.podSelector: is missing'],
    ['podSelector', [], 'spec.podSelector: must be a label selector'],
    ['podSelector', 'app=web', 'spec.podSelector: must be a label selector'],
    ['podSelector/matchLabels', { 'a b': 'c' }, 'must be a label key'],
    ['podSelector/matchLabels', { app: 'x y' }, 'spec.podSelector.matchLabels.app: must be a label value'],
    ['podSelector/matchLabels', { app: 5 }, 'spec.podSelector.matchLabels.app: must be text'],
    [
      'podSelector/matchExpressions',
      [{ key: 'a', operator: 'Is' }],
      'must be In, NotIn, Exists or DoesNotExist',
    ],
    ['podSelector/matchExpressions', [{ key: 'a', operator: 'In' }], 'In and NotIn need at least one value'],
    [
      'podSelector/matchExpressions',
      [{ key: 'a', operator: 'Exists', values: ['b'] }],
      'Exists and DoesNotExist none',
    ],
    ['podSelector/matchExpressions', 'all', 'spec.podSelector.matchExpressions: must be a list'],
    ['group', undefined, 'spec.group: is missing'],
    ['group/podLabel', '-x', 'spec.group.podLabel: must be a label key'],
    ['group/serviceLabel', '', 'spec.group.serviceLabel: must be a label key'],
    ['serviceSelector', null, 'spec.serviceSelector: must be a label selector'],
    ['groupResource', 'ProxyGroup', 'spec.groupResource: must have apiVersion and kind'],
    [
      'groupResource/apiVersion',
      'a/b/c',
      'spec.groupResource.apiVersion: must be "version" or "group/version"',
    ],
    ['groupResource/kind', 'proxygroups', 'spec.groupResource.kind: must be a kind'],
    ['groupResource', { apiVersion: 'v1', kind: 'Pod' }, 'spec.groupResource: this kind owns no group'],
    ['groupResource/require', { 'spec..type': 'x' }, 'must be names of fields joined by dots'],
    ['groupResource/require', { 'spec.type': {} }, 'spec.groupResource.require.spec.type: must be text'],
    ['groupResource/replicas', {}, 'spec.groupResource.replicas.path: is missing'],
    [
      'groupResource/replicas',
      { path: '/spec/replicas' },
      'spec.groupResource.replicas.path: must be names of fields',
    ],
    ['groupResource/replicas', { path: 'spec.replicas', default: 0 }, 'replicas.default: must be at least 1'],
    ['probe', undefined, 'spec.probe: is missing'],
    ['probe/portName', undefined, 'spec.probe.portName: is missing'],
    ['probe/portName', 'Health Check', 'spec.probe.portName: must be the name of a port'],
    ['probe/path', 'healthz', 'spec.probe.path: must be at most 1024 ASCII characters, starting with "/"'],
    ['probe/path', '/a b', 'spec.probe.path: must be at most 1024 ASCII characters'],
    ['probe/path', '/a\r\nHost: x', 'spec.probe.path: must be at most 1024 ASCII characters'],
    ['probe/path', '/a#b', 'spec.probe.path: must be at most 1024 ASCII characters'],
    ['probe/path', `/${'a'.repeat(1024)}`, 'spec.probe.path: must be at most 1024 ASCII characters'],
    [
      'probe/podIPHeaders',
      { IPv4: 'Pod IP' },
      'spec.probe.podIPHeaders.IPv4: must be the name of an HTTP header',
    ],
    ['probe/podIPHeaders', { IPv6: '' }, 'spec.probe.podIPHeaders.IPv6: must be the name of an HTTP header'],
    ['probe/podIPHeaders', { IPv4: 'X-Pod', IPv6: 'x-pod' }, 'the headers of the two families must differ'],
    ['probe/timeoutSeconds', 0, 'spec.probe.timeoutSeconds: must be greater than 0'],
    ['probe/timeoutSeconds', -1, 'spec.probe.timeoutSeconds: must be greater than 0'],
    ['probe/timeoutSeconds', 61, 'spec.probe.timeoutSeconds: must be at most 60'],
    ['probe/timeoutSeconds', '3', 'spec.probe.timeoutSeconds: must be a number'],
    ['probe/attemptsPerReplica', 0, 'spec.probe.attemptsPerReplica: must be at least 1'],
    ['probe/attemptsPerReplica', 1.5, 'spec.probe.attemptsPerReplica: must be a whole number'],
    ['probe/address', 'ip', 'spec.probe.address: must be dns or clusterIP'],
    [
      'probe/onlyIfEnv',
      { name: 'A=B', value: 'x' },
      'spec.probe.onlyIfEnv.name: must be the name of an environment variable',
    ],
    ['probe/onlyIfEnv', { name: 'A' }, 'spec.probe.onlyIfEnv.value: is missing'],
    ['whenRouteIsLost', 'panic', 'spec.whenRouteIsLost: must be keep or withdraw'],
  ])('%s: %o', (path, value, words) => {
    expect(readRouteGateSpec(changed(path, value))).toEqual({ invalid: expect.stringContaining(words) });
  });

  test.each([undefined, null, 'text', 5, []])('a specification that is %o', (spec) => {
    expect(readRouteGateSpec(spec)).toHaveProperty('invalid');
  });

  test('many mistakes are told in a bounded text', () => {
    const broken = {
      matchLabels: Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`a b ${index}`, 'x y'])),
    };
    const result = readRouteGateSpec({ ...smallest, podSelector: broken });
    expect('invalid' in result && result.invalid.length).toBeLessThan(1_000);
    expect('invalid' in result && result.invalid).toMatch(/; and [0-9]+ more$/);
  });
});

test.each(featuresOf().flatMap(({ watches }) => watches.map(({ resource }) => kindText(resource))))(
  '§2.6: %s, which is mirrored for its own sake, owns no group: a Pod would never hear of its owner',
  (text) => {
    const [kind, ...version] = text.split('/').reverse();
    const groupResource = { apiVersion: version.reverse().join('/'), kind };
    expect(readRouteGateSpec({ ...smallest, groupResource })).toEqual({
      invalid: 'spec.groupResource: this kind owns no group',
    });
  },
);

test('I9: a Secret owns no group: what it holds would get into the world', () => {
  const groupResource = { apiVersion: 'v1', kind: 'Secret', require: { 'data.password': 'aHVudGVyMg==' } };
  expect(readRouteGateSpec({ ...smallest, groupResource })).toHaveProperty('invalid');
});
