/** The definition of RouteGate in deploy/crds, and the preset in deploy/presets, on an API server. */
import { readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { parse } from 'yaml';
import { until } from '../until.ts';
import type { JsonObject } from './client.ts';
import { test as base, causeFields, metaOf } from './conformance.ts';

const read = (path: string) =>
  parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')) as JsonObject;
const definition = read('deploy/crds/orrery.dev_routegates.yaml');
const preset = read('deploy/presets/tailscale.yaml');

const least: JsonObject = {
  conditionType: 'example.com/routed',
  podSelector: {},
  group: { podLabel: 'app', serviceLabel: 'app' },
  serviceSelector: {},
  probe: { portName: 'health' },
};

const gate = (spec: JsonObject): JsonObject => ({
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'RouteGate',
  metadata: { name: 'a' },
  spec: { ...least, ...spec },
});

const path = (namespace: string) => `/apis/orrery.dev/v1alpha1/namespaces/${namespace}/routegates`;

const test = base.extend<{ served: true }>({
  // The definition is for the whole cluster and is left there: other users of a real cluster may rely on it.
  served: [
    async ({ api }, use) => {
      const name = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/routegates.orrery.dev';
      const applied = await api.patch(`${name}?fieldManager=conformance&force=true`, 'apply', definition);
      if (applied.code > 201) throw new Error(applied.text);
      await until(async () => (await api.get(path('default'))).code === 200, {
        what: 'RouteGates are served',
      });
      await use(true);
    },
    { scope: 'file', auto: true },
  ],
});

describe('RouteGate', () => {
  test('the preset for Tailscale is accepted as it is', async ({ api, namespace }) => {
    const reply = await api.post(`${path(namespace)}?fieldValidation=Strict`, {
      ...preset,
      metadata: { ...(preset.metadata as JsonObject), namespace },
    });
    expect(reply.code).toBe(201);
    expect(reply.body.spec).toEqual({ ...(preset.spec as JsonObject), whenUnverifiable: 'pass' });
    expect(preset.metadata).toEqual({ name: 'tailscale-egress', namespace: 'tailscale' });
  });

  test('what is left out has the defaults of the contract', async ({ api, namespace }) => {
    const reply = await api.post(path(namespace), gate({}));
    expect(reply.body.spec).toEqual({
      ...least,
      probe: {
        portName: 'health',
        path: '/healthz',
        podIPHeaders: { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' },
        timeoutSeconds: 3,
        attemptsPerReplica: 3,
        address: 'dns',
      },
      whenRouteIsLost: 'keep',
      whenUnverifiable: 'pass',
    });
  });

  test('the status is a subresource with conditions by type', async ({ api, namespace }) => {
    await api.post(path(namespace), gate({}));
    const valid = {
      type: 'Valid',
      status: 'True',
      observedGeneration: 1,
      lastTransitionTime: '2024-05-06T07:08:09Z',
      reason: 'Accepted',
      message: '',
    };
    const status = {
      pods: 3,
      waiting: 1,
      ready: 2,
      longestWaitSeconds: 7,
      observedGeneration: 1,
      conditions: [valid],
    };
    const reply = await api.patch(`${path(namespace)}/a/status`, 'merge', { status });
    expect(reply.body.status).toEqual(status);
    expect(metaOf(reply).generation).toBe(1);
  });

  const selector = (more: JsonObject) => ({ matchExpressions: [{ key: 'a', ...more }] });
  const probe = (more: JsonObject) => ({ probe: { portName: 'health', ...more } });

  test.for([
    ['no condition type', { conditionType: null }, 'spec.conditionType'],
    ['a condition type that is none', { conditionType: 'a b' }, 'spec.conditionType'],
    ['a label that is none', { group: { podLabel: 'a b', serviceLabel: 'app' } }, 'spec.group.podLabel'],
    [
      'an operator that is none',
      { podSelector: selector({ operator: 'Like' }) },
      'spec.podSelector.matchExpressions[0].operator',
    ],
    [
      'a label value that is none',
      { serviceSelector: { matchLabels: { a: 'b c' } } },
      'spec.serviceSelector.matchLabels.a',
    ],
    ['no port name', { probe: {} }, 'spec.probe.portName'],
    ['a path without /', probe({ path: 'healthz' }), 'spec.probe.path'],
    ['a path with a blank', probe({ path: '/a b' }), 'spec.probe.path'],
    ['a header that is none', probe({ podIPHeaders: { IPv4: 'Pod IP' } }), 'spec.probe.podIPHeaders.IPv4'],
    ['a timeout of nothing', probe({ timeoutSeconds: 0 }), 'spec.probe.timeoutSeconds'],
    ['a timeout of hours', probe({ timeoutSeconds: 3600 }), 'spec.probe.timeoutSeconds'],
    ['no attempts', probe({ attemptsPerReplica: 0 }), 'spec.probe.attemptsPerReplica'],
    ['an address that is none', probe({ address: 'nodePort' }), 'spec.probe.address'],
    ['a variable without value', probe({ onlyIfEnv: { name: 'A' } }), 'spec.probe.onlyIfEnv.value'],
    ['another policy', { whenRouteIsLost: 'panic' }, 'spec.whenRouteIsLost'],
    [
      'a kind that is none',
      { groupResource: { apiVersion: 'a.b/v1', kind: 'lower' } },
      'spec.groupResource.kind',
    ],
  ] as const)('with %s is refused', async ([, spec, field], { api, namespace }) => {
    const reply = await api.post(path(namespace), gate(spec as unknown as JsonObject));
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toContain(field);
  });

  test.for([
    ['a condition of the kubelet', { conditionType: 'Ready' }, 'spec.conditionType'],
    [
      'In without values',
      { podSelector: selector({ operator: 'In' }) },
      'spec.podSelector.matchExpressions[0]',
    ],
    [
      'Exists with values',
      { podSelector: selector({ operator: 'Exists', values: ['x'] }) },
      'spec.podSelector.matchExpressions[0]',
    ],
    [
      'a label key that is none',
      { podSelector: { matchLabels: { 'a b': 'c' } } },
      'spec.podSelector.matchLabels',
    ],
    [
      'one header for both families',
      probe({ podIPHeaders: { IPv4: 'Pod-IP', IPv6: 'pod-ip' } }),
      'spec.probe.podIPHeaders',
    ],
    ['Pods that own Pods', { groupResource: { apiVersion: 'v1', kind: 'Pod' } }, 'spec.groupResource'],
    [
      'a field path that is none',
      { groupResource: { apiVersion: 'a.b/v1', kind: 'K', require: { 'a..b': 'c' } } },
      'spec.groupResource.require',
    ],
  ] as const)('with %s is refused by a rule', async ([, spec, field], { api, namespace }) => {
    const reply = await api.post(path(namespace), gate(spec as unknown as JsonObject));
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toContain(field);
  });
});
