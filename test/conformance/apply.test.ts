import { describe, expect } from 'vitest';
import type { JsonObject } from './client.ts';
import { metaOf, test, versionOf } from './conformance.ts';

const map = (data: JsonObject, meta: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', ...meta },
  data,
});

describe('apply', () => {
  test('makes what is not there', async ({ api, core }) => {
    const reply = await api.patch(`${core}/configmaps/a?fieldManager=tests`, 'apply', map({ k: 'v' }));
    expect(reply.code).toBe(201);
    expect(reply.body.data).toEqual({ k: 'v' });
  });

  test('merges into what is there, and leaves alone what others wrote', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, map({ theirs: '1', shared: '1' }, { labels: { theirs: 'yes' } }));
    const reply = await api.patch(
      `${core}/configmaps/a?fieldManager=tests&force=true`,
      'apply',
      map({ ours: '2', shared: '2' }, { labels: { ours: 'yes' } }),
    );
    expect(reply.code).toBe(200);
    expect(reply.body.data).toEqual({ theirs: '1', shared: '2', ours: '2' });
    expect(metaOf(reply).labels).toEqual({ theirs: 'yes', ours: 'yes' });
  });

  test('of the same again makes no new version', async ({ api, core }) => {
    const path = `${core}/configmaps/a?fieldManager=tests`;
    const first = await api.patch(path, 'apply', map({ k: 'v' }));
    const second = await api.patch(path, 'apply', map({ k: 'v' }));
    expect(second.code).toBe(200);
    expect(versionOf(second)).toBe(versionOf(first));
  });

  test('merges lists by their keys', async ({ api, namespace }) => {
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/a`;
    const labels = { app: 'a' };
    const deployment = (containers: JsonObject[]): JsonObject => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'a' },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers } },
      },
    });
    const env = (name: string, value: string) => [{ name, value }];
    await api.patch(
      `${path}?fieldManager=one`,
      'apply',
      deployment([{ name: 'main', image: 'i:1', env: env('A', '1') }]),
    );
    const reply = await api.patch(
      `${path}?fieldManager=two`,
      'apply',
      deployment([
        { name: 'main', env: env('B', '2') },
        { name: 'side', image: 's:1' },
      ]),
    );
    expect(reply.code).toBe(200);
    const containers = (((reply.body.spec as JsonObject).template as JsonObject).spec as JsonObject)
      .containers as JsonObject[];
    expect(containers.map(({ name }) => name)).toEqual(['main', 'side']);
    expect(containers[0]?.env).toEqual([...env('A', '1'), ...env('B', '2')]);
  });

  test('needs a field manager', async ({ api, core }) => {
    const reply = await api.patch(`${core}/configmaps/a`, 'apply', map({ k: 'v' }));
    expect(reply.code).toBe(422);
    expect(reply.body.message).toBe(
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    );
  });

  test('takes YAML', async ({ api, core }) => {
    const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n';
    const reply = await api.patch(`${core}/configmaps/a?fieldManager=tests`, 'apply', text);
    expect(reply.body.data).toEqual({ k: 'v' });
  });

  test('must say what it applies to', async ({ api, core }) => {
    const path = `${core}/configmaps/a?fieldManager=tests`;
    expect((await api.patch(path, 'apply', { metadata: { name: 'a' }, data: {} })).code).toBe(400);
    expect((await api.patch(path, 'apply', { ...map({}), metadata: { name: 'b' } })).code).toBe(400);
    expect(
      (await api.patch(path, 'apply', { ...map({}), metadata: { name: 'a', managedFields: [] } })).code,
    ).toBeLessThan(500);
  });

  test('to an object that is another one (uid) is refused with 409', async ({ api, core }) => {
    const reply = await api.patch(
      `${core}/configmaps/a?fieldManager=tests`,
      'apply',
      map({}, { uid: 'gone' }),
    );
    expect(reply.code).toBe(409);
    expect(String(reply.body.message)).toContain('uid mismatch: the provided object specified uid gone');
  });

  test('with force is for apply alone', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, map({}));
    const reply = await api.patch(`${core}/configmaps/a?force=true`, 'merge', { data: { k: 'v' } });
    expect(reply.code).toBe(422);
    expect(String(reply.body.message)).toContain(
      'force: Forbidden: may not be specified for non-apply patch',
    );
  });
});
