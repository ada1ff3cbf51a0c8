import { describe, expect } from 'vitest';
import { until } from '../until.ts';
import type { JsonObject } from './client.ts';
import { configMap, isDevelopmentServer, metaOf, pod, test, uniqueName } from './conformance.ts';

/**
 * A controller manager takes namespaces apart at some twenty requests a second: those of the whole suite are
 * before this file's.
 */
const patience = { timeoutMs: isDevelopmentServer ? 30_000 : 300_000 };
const timeout = 2 * patience.timeoutMs + 10_000;

describe('namespaces', () => {
  test.for(['default', 'kube-system'])('%s is there from the beginning', async (name, { api }) => {
    const reply = await api.get(`/api/v1/namespaces/${name}`);
    expect(reply.body).toMatchObject({ kind: 'Namespace', status: { phase: 'Active' } });
  });

  test('a new one is active, is labelled with its name, and is held by Kubernetes', async ({
    api,
    namespace,
  }) => {
    const { body } = await api.get(`/api/v1/namespaces/${namespace}`);
    expect(body).toMatchObject({
      metadata: { name: namespace, labels: { 'kubernetes.io/metadata.name': namespace } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  });

  test('its name is a DNS label', async ({ api }) => {
    expect((await api.post('/api/v1/namespaces', { metadata: { name: 'with.dot' } })).code).toBe(422);
  });

  test('the first ones cannot be deleted', async ({ api }) => {
    const reply = await api.delete('/api/v1/namespaces/default');
    expect(reply.code).toBe(403);
    expect(reply.body).toMatchObject({ reason: 'Forbidden' });
  });

  test('deletion takes the content first, then the namespace', { timeout }, async ({ api }) => {
    const name = uniqueName('conf');
    const path = `/api/v1/namespaces/${name}`;
    await api.post('/api/v1/namespaces', { metadata: { name } });
    await api.post(`${path}/configmaps`, configMap('a'));
    await api.post(`${path}/pods`, pod('a'));
    await api.post(`/apis/coordination.k8s.io/v1/namespaces/${name}/leases`, { metadata: { name: 'a' } });
    const reply = await api.delete(path);
    expect(reply.code).toBe(200);
    expect(reply.body).toMatchObject({ kind: 'Namespace', status: { phase: 'Terminating' } });
    expect(metaOf(reply).deletionTimestamp).toBeDefined();
    await until(async () => (await api.get(path)).code === 404, {
      what: 'the namespace is gone',
      ...patience,
    });
    expect((await api.get(`${path}/configmaps/a`)).code).toBe(404);
    expect((await api.get(`${path}/pods/a`)).code).toBe(404);
  });

  test('Pods go first: while one is held, nothing else is taken', { timeout }, async ({ api }) => {
    const name = uniqueName('conf');
    const path = `/api/v1/namespaces/${name}`;
    await api.post('/api/v1/namespaces', { metadata: { name } });
    await api.post(`${path}/configmaps`, configMap('a'));
    await api.post(`${path}/pods`, pod('held', { finalizers: ['x.example.com/hold'] }));
    await api.delete(path);
    await until(async () => metaOf(await api.get(`${path}/pods/held`)).deletionTimestamp, {
      what: 'the Pod is marked',
      ...patience,
    });
    expect(metaOf(await api.get(`${path}/configmaps/a`)).name).toBe('a');
    await api.patch(`${path}/pods/held`, 'merge', { metadata: { finalizers: null } });
    await until(async () => (await api.get(path)).code === 404, {
      what: 'the namespace is gone',
      ...patience,
    });
  });

  test('while one goes nothing new comes in, and what is held holds it', { timeout }, async ({ api }) => {
    const name = uniqueName('conf');
    const path = `/api/v1/namespaces/${name}`;
    await api.post('/api/v1/namespaces', { metadata: { name } });
    await api.post(`${path}/configmaps`, configMap('held', { finalizers: ['x.example.com/hold'] }));
    await api.delete(path);
    const reply = await api.post(`${path}/configmaps`, configMap('late'));
    expect(reply.code).toBe(403);
    expect(reply.body).toMatchObject({
      reason: 'Forbidden',
      message: `configmaps "late" is forbidden: unable to create new content in namespace ${name} because it is being terminated`,
      details: { causes: [{ reason: 'NamespaceTerminating' }] },
    });
    await until(async () => metaOf(await api.get(`${path}/configmaps/held`)).deletionTimestamp, {
      what: 'the content is marked',
      ...patience,
    });
    expect((await api.get(path)).code).toBe(200);
    await api.patch(`${path}/configmaps/held`, 'merge', { metadata: { finalizers: null } });
    await until(async () => (await api.get(path)).code === 404, {
      what: 'the namespace is gone',
      ...patience,
    });
  });
});

describe('the Service of the API server', () => {
  test('has an address of its own in the namespace default', async ({ api }) => {
    const { body } = await api.get('/api/v1/namespaces/default/services/kubernetes');
    expect((body.spec as JsonObject).clusterIP).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    expect((body.spec as JsonObject).ports).toMatchObject([{ name: 'https', port: 443 }]);
  });
});

describe('a finalizer of somebody else', () => {
  test('holds an empty namespace until it is taken, after Kubernetes has let go', {
    timeout,
  }, async ({ api }) => {
    const name = uniqueName('conf');
    const path = `/api/v1/namespaces/${name}`;
    const metadata = { name, finalizers: ['x.example.com/hold'] };
    await api.post('/api/v1/namespaces', { metadata });
    await api.post(`${path}/configmaps`, configMap('a'));
    await api.delete(path);
    await until(
      async () => {
        const { spec } = (await api.get(path)).body as { spec?: JsonObject };
        return spec?.finalizers === undefined;
      },
      { what: 'Kubernetes has let go', ...patience },
    );
    expect((await api.get(`${path}/configmaps/a`)).code).toBe(404);
    expect(metaOf(await api.get(path))).toMatchObject({ finalizers: ['x.example.com/hold'] });
    await api.patch(path, 'merge', { metadata: { finalizers: null } });
    await until(async () => (await api.get(path)).code === 404, {
      what: 'the namespace is gone',
      ...patience,
    });
  });
});
