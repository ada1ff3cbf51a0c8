/**
 * The definition of ExternalWorkload in deploy/crds on an API server: every bound of the published schema.
 */
import { readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { parse } from 'yaml';
import { until } from '../until.ts';
import type { JsonObject } from './client.ts';
import { test as base, causeFields } from './conformance.ts';

const definition = parse(
  readFileSync(
    new URL('../../deploy/crds/workload.linkerd.io_externalworkloads.yaml', import.meta.url),
    'utf8',
  ),
) as JsonObject;

const path = (namespace: string, version = 'v1beta1') =>
  `/apis/workload.linkerd.io/${version}/namespaces/${namespace}/externalworkloads`;
const meshTLS = { identity: 'spiffe://example.com/vm', serverName: 'vm.example.com' };
const workload = (spec: JsonObject, version = 'v1beta1'): JsonObject => ({
  apiVersion: `workload.linkerd.io/${version}`,
  kind: 'ExternalWorkload',
  metadata: { name: 'vm' },
  spec,
});
const ips = (count: number) => Array.from({ length: count }, (_, n) => ({ ip: `10.0.0.${n + 1}` }));

const test = base.extend<{ served: true }>({
  // The definition is for the whole cluster and is left there: other users of a real cluster may rely on it.
  served: [
    async ({ api }, use) => {
      const name =
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/externalworkloads.workload.linkerd.io';
      const applied = await api.patch(`${name}?fieldManager=conformance&force=true`, 'apply', definition);
      if (applied.code > 201) throw new Error(applied.text);
      await until(
        async () =>
          (await api.get(path('default'))).code === 200 &&
          (await api.get(path('default', 'v1alpha1'))).code === 200,
        { what: 'ExternalWorkloads are served' },
      );
      await use(true);
    },
    { scope: 'file', auto: true },
  ],
});

describe('ExternalWorkload', () => {
  test('a workload of either version is accepted; a port is TCP unless it says otherwise', async ({
    api,
    namespace,
  }) => {
    const spec = { workloadIPs: ips(2), ports: [{ port: 80 }, { name: 'dns', port: 53, protocol: 'UDP' }] };
    const reply = await api.post(`${path(namespace)}?fieldValidation=Strict`, workload({ meshTLS, ...spec }));
    expect(reply.code).toBe(201);
    expect(reply.body.spec).toMatchObject({ ports: [{ port: 80, protocol: 'TCP' }, { protocol: 'UDP' }] });
    const older = workload({ meshTls: meshTLS, workloadIPs: ips(1) }, 'v1alpha1');
    const second = await api.post(`${path(namespace, 'v1alpha1')}?fieldValidation=Strict&dryRun=All`, {
      ...older,
      metadata: { name: 'older' },
    });
    expect(second.code).toBe(201);
  });

  test.for<[string, JsonObject, string, string?]>([
    ['no meshTLS', {}, 'spec.meshTLS'],
    ['no identity', { meshTLS: { serverName: 'x' } }, 'spec.meshTLS.identity'],
    ['no server name', { meshTLS: { identity: 'x' } }, 'spec.meshTLS.serverName'],
    ['an empty identity', { meshTLS: { ...meshTLS, identity: '' } }, 'spec.meshTLS.identity'],
    [
      'an identity of 254 characters',
      { meshTLS: { ...meshTLS, identity: 'x'.repeat(254) } },
      'spec.meshTLS.identity',
    ],
    [
      'a server name of 254 characters',
      { meshTLS: { ...meshTLS, serverName: 'x'.repeat(254) } },
      'spec.meshTLS.serverName',
    ],
    ['port 0', { meshTLS, ports: [{ port: 0 }] }, 'spec.ports[0].port'],
    ['port 65536', { meshTLS, ports: [{ port: 65_536 }] }, 'spec.ports[0].port'],
    ['a port without a number', { meshTLS, ports: [{ name: 'http' }] }, 'spec.ports[0].port'],
    ['three addresses', { meshTLS, workloadIPs: ips(3) }, 'spec.workloadIPs'],
    [
      'two addresses in the older version',
      { meshTls: meshTLS, workloadIPs: ips(2) },
      'spec.workloadIPs',
      'v1alpha1',
    ],
    ['no meshTls in the older version', {}, 'spec.meshTls', 'v1alpha1'],
  ])('%s is refused', async ([, spec, field, version], { api, namespace }) => {
    const reply = await api.post(path(namespace, version), workload(spec, version));
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toContain(field);
  });

  test('the status is written apart from the rest, within its bounds', async ({ api, namespace }) => {
    await api.post(path(namespace), workload({ meshTLS }));
    const status = (condition: JsonObject) =>
      api.patch(`${path(namespace)}/vm/status`, 'merge', { status: { conditions: [condition] } });
    expect(
      (await status({ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' })).code,
    ).toBe(200);
    for (const condition of [
      { type: 'Ready' },
      { status: 'True' },
      { type: 'Ready', status: 'Maybe' },
      { type: 'no good', status: 'True' },
      { type: 'Ready', status: 'True', reason: '' },
      { type: 'Ready', status: 'True', reason: 'not one word' },
      { type: 'Ready', status: 'True', lastProbeTime: 'yesterday' },
    ]) {
      expect((await status(condition)).code).toBe(422);
    }
    const through = await api.patch(`${path(namespace)}/vm`, 'merge', { status: { conditions: [] } });
    expect(through.body.status).toMatchObject({ conditions: [{ type: 'Ready' }] });
  });
});
