import { describe, expect } from 'vitest';
import type { Client } from './client.ts';
import { configMap, itemsOf, metaOf, namesOf, pod, test, versionOf } from './conformance.ts';

/** Kubernetes puts a ConfigMap of its own into every namespace; Secrets are ours alone. */
async function secrets(api: Client, core: string, names: readonly string[]): Promise<void> {
  for (const name of names) await api.post(`${core}/secrets`, { metadata: { name } });
}

describe('list', () => {
  test('shows the objects of a namespace by name, at the version of the store', async ({ api, core }) => {
    await secrets(api, core, ['b', 'c', 'a']);
    const newest = await api.post(`${core}/configmaps`, configMap('newer'));
    const reply = await api.get(`${core}/secrets`);
    expect(reply.body).toMatchObject({ kind: 'SecretList', apiVersion: 'v1' });
    expect(namesOf(reply)).toEqual(['a', 'b', 'c']);
    expect(Number(versionOf(reply))).toBeGreaterThanOrEqual(Number(versionOf(newest)));
  });

  test('of nothing is an empty list', async ({ api, core }) => {
    const reply = await api.get(`${core}/secrets`);
    expect(reply.code).toBe(200);
    expect(itemsOf(reply)).toEqual([]);
  });

  test('without a namespace shows all of them', async ({ api, core, namespace }) => {
    await secrets(api, core, ['a']);
    const reply = await api.get('/api/v1/secrets');
    expect(itemsOf(reply).map((item) => metaOf(item).namespace)).toContain(namespace);
  });

  test('of built-in objects does not repeat their type', async ({ api, core }) => {
    await secrets(api, core, ['a']);
    const [item] = itemsOf(await api.get(`${core}/secrets`));
    expect(item?.kind).toBeUndefined();
    expect(item?.apiVersion).toBeUndefined();
  });
});

describe('label selectors', () => {
  const labels = {
    a: { app: 'web', tier: 'front' },
    b: { app: 'web', tier: 'back' },
    c: { app: 'db', size: '3' },
    d: {},
  };

  test.for([
    ['app=web', ['a', 'b']],
    ['app==web,tier=back', ['b']],
    ['app!=web', ['c', 'd']],
    ['app', ['a', 'b', 'c']],
    ['!app', ['d']],
    ['app in (web,db)', ['a', 'b', 'c']],
    ['app in (db), size', ['c']],
    ['app notin (web)', ['c', 'd']],
    ['tier notin (front),app', ['b', 'c']],
    ['size>2', ['c']],
    ['size<3', []],
    ['app=', []],
    ['', ['a', 'b', 'c', 'd']],
  ] as const)('"%s" selects %j', async ([selector, expected], { api, core }) => {
    for (const [name, own] of Object.entries(labels))
      await api.post(`${core}/secrets`, { metadata: { name, labels: own } });
    const reply = await api.get(`${core}/secrets?labelSelector=${encodeURIComponent(selector)}`);
    expect(reply.code).toBe(200);
    expect(namesOf(reply)).toEqual(expected);
  });

  test.for(['app foo web', 'app===web', 'app in web', '!!app', 'app,,tier', 'a b=c', '=x'])(
    '"%s" is refused with 400',
    async (selector, { api, core }) => {
      const reply = await api.get(`${core}/secrets?labelSelector=${encodeURIComponent(selector)}`);
      expect(reply.code).toBe(400);
      expect(reply.body.reason).toBe('BadRequest');
    },
  );
});

describe('field selectors', () => {
  test('select by name', async ({ api, core }) => {
    await secrets(api, core, ['a', 'b']);
    expect(namesOf(await api.get(`${core}/secrets?fieldSelector=metadata.name%3Db`))).toEqual(['b']);
    expect(namesOf(await api.get(`${core}/secrets?fieldSelector=metadata.name!%3Db`))).toEqual(['a']);
  });

  test('select across namespaces by namespace', async ({ api, core, namespace }) => {
    await secrets(api, core, ['a']);
    const reply = await api.get(`/api/v1/secrets?fieldSelector=metadata.namespace%3D${namespace}`);
    expect(namesOf(reply)).toEqual(['a']);
  });

  test('select Pods by node and phase', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('here', {}, { nodeName: 'node-of-nobody' }));
    await api.post(`${core}/pods`, pod('nowhere'));
    await api.patch(`${core}/pods/nowhere/status`, 'merge', { status: { phase: 'Failed' } });
    const names = async (selector: string) =>
      namesOf(await api.get(`${core}/pods?fieldSelector=${encodeURIComponent(selector)}`));
    expect(await names('spec.nodeName=node-of-nobody')).toEqual(['here']);
    expect(await names('spec.nodeName=')).toEqual(['nowhere']);
    expect(await names('status.phase=Failed')).toEqual(['nowhere']);
    expect(await names('status.phase!=Failed,spec.nodeName!=')).toEqual(['here']);
    await api.delete(`${core}/pods/here`, { gracePeriodSeconds: 0 });
  });

  test('a field that cannot be selected by is refused with 400', async ({ api, core }) => {
    const pods = await api.get(`${core}/pods?fieldSelector=spec.colour%3Dred`);
    expect(pods.code).toBe(400);
    expect(pods.body.message).toBe('field label not supported: spec.colour');
    const maps = await api.get(`${core}/configmaps?fieldSelector=data.k%3Dv`);
    expect(maps.body.message).toBe(
      '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"',
    );
  });
});

describe('pages', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];

  test('a limit gives so many, a token for the rest, and how many are left', async ({ api, core }) => {
    await secrets(api, core, names);
    const first = await api.get(`${core}/secrets?limit=2`);
    expect(namesOf(first)).toEqual(['a', 'b']);
    expect(metaOf(first).remainingItemCount).toBe(3);
    const second = await api.get(`${core}/secrets?limit=2&continue=${metaOf(first).continue}`);
    expect(namesOf(second)).toEqual(['c', 'd']);
    const third = await api.get(`${core}/secrets?limit=2&continue=${metaOf(second).continue}`);
    expect(namesOf(third)).toEqual(['e']);
    expect(metaOf(third).continue ?? '').toBe('');
    expect(metaOf(third).remainingItemCount).toBeUndefined();
  });

  test('all pages show the moment of the first one', async ({ api, core }) => {
    await secrets(api, core, names);
    const first = await api.get(`${core}/secrets?limit=2`);
    await api.delete(`${core}/secrets/c`);
    await api.post(`${core}/secrets`, { metadata: { name: 'dd' } });
    await api.patch(`${core}/secrets/e`, 'merge', { metadata: { labels: { late: 'yes' } } });
    const rest = await api.get(`${core}/secrets?continue=${metaOf(first).continue}`);
    expect(namesOf(rest)).toEqual(['c', 'd', 'e']);
    expect(versionOf(rest)).toBe(versionOf(first));
    expect(itemsOf(rest).map((item) => metaOf(item).labels)).toEqual([undefined, undefined, undefined]);
    expect(namesOf(await api.get(`${core}/secrets`))).toEqual(['a', 'b', 'd', 'dd', 'e']);
  });

  test('with a selector the number of those left is not told', async ({ api, core }) => {
    for (const name of names) await api.post(`${core}/secrets`, { metadata: { name, labels: { l: 'v' } } });
    const first = await api.get(`${core}/secrets?limit=2&labelSelector=l`);
    expect(namesOf(first)).toEqual(['a', 'b']);
    expect(metaOf(first).remainingItemCount).toBeUndefined();
    expect(metaOf(first).continue).not.toBe('');
  });

  test('pages go through all namespaces', async ({ api, core }) => {
    await secrets(api, core, names);
    const seen: string[] = [];
    let token = '';
    do {
      const reply = await api.get(`/api/v1/secrets?limit=3&continue=${token}`);
      seen.push(...itemsOf(reply).map((item) => `${metaOf(item).namespace}/${metaOf(item).name}`));
      token = String(metaOf(reply).continue ?? '');
    } while (token !== '');
    const namespace = core.split('/').at(-1);
    expect(seen.filter((key) => key.startsWith(`${namespace}/`))).toEqual(
      names.map((name) => `${namespace}/${name}`),
    );
    expect(seen).toEqual([...seen].sort());
  });

  test('a token that is none is refused with 400', async ({ api, core }) => {
    const reply = await api.get(`${core}/secrets?limit=1&continue=nonsense`);
    expect(reply.code).toBe(400);
    expect(String(reply.body.message)).toContain('continue key is not valid');
  });

  test('a limit that is no number is refused with 400', async ({ api, core }) => {
    expect((await api.get(`${core}/secrets?limit=x`)).code).toBe(400);
  });
});

describe('versions of lists', () => {
  test('version 0 shows what there is, or was a moment ago', async ({ api, core }) => {
    await secrets(api, core, ['a', 'b']);
    const names = async () => namesOf(await api.get(`${core}/secrets?resourceVersion=0`));
    // A real server answers from its cache, which etcd tells of changes.
    await expect.poll(names, { timeout: 10_000 }).toEqual(['a', 'b']);
  });

  test('an exact version shows the list as it was', async ({ api, core }) => {
    await secrets(api, core, ['a']);
    const then = versionOf(await api.get(`${core}/secrets`));
    await secrets(api, core, ['b']);
    await api.delete(`${core}/secrets/a`);
    const reply = await api.get(`${core}/secrets?resourceVersion=${then}&resourceVersionMatch=Exact`);
    expect(namesOf(reply)).toEqual(['a']);
    expect(versionOf(reply)).toBe(then);
  });

  test('not older than a version shows what there is', async ({ api, core }) => {
    await secrets(api, core, ['a']);
    const then = versionOf(await api.get(`${core}/secrets`));
    await secrets(api, core, ['b']);
    const reply = await api.get(`${core}/secrets?resourceVersion=${then}&resourceVersionMatch=NotOlderThan`);
    expect(namesOf(reply)).toContain('a');
    expect(Number(versionOf(reply))).toBeGreaterThanOrEqual(Number(then));
  });

  test('a version that is yet to come is answered 504', { timeout: 20_000 }, async ({ api, core }) => {
    const reply = await api.get(`${core}/secrets?resourceVersion=999999999`);
    expect(reply.code).toBe(504);
    expect(reply.body).toMatchObject({
      reason: 'Timeout',
      details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }] },
    });
  });

  test('a match without a version is refused with 422', async ({ api, core }) => {
    const reply = await api.get(`${core}/secrets?resourceVersionMatch=Exact`);
    expect(reply.code).toBe(422);
    expect(reply.body.message).toBe(
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    );
  });

  test('a version that is no number is refused with 400', async ({ api, core }) => {
    expect((await api.get(`${core}/secrets?resourceVersion=x`)).code).toBe(400);
  });
});
