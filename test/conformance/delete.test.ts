import { describe, expect } from 'vitest';
import { until } from '../until.ts';
import type { JsonObject } from './client.ts';
import { configMap, metaOf, namesOf, pod, test, uidOf, versionOf } from './conformance.ts';

const held = { finalizers: ['x.example.com/hold'] };

describe('delete', () => {
  test('an object is gone at once and the answer says which one', async ({ api, core }) => {
    const old = await api.post(`${core}/configmaps`, configMap('a'));
    const reply = await api.delete(`${core}/configmaps/a`);
    expect(reply.code).toBe(200);
    expect(reply.body).toMatchObject({
      kind: 'Status',
      status: 'Success',
      details: { name: 'a', kind: 'configmaps', uid: uidOf(old) },
    });
    expect((await api.get(`${core}/configmaps/a`)).code).toBe(404);
  });

  test('what is not there is answered 404', async ({ api, core }) => {
    const reply = await api.delete(`${core}/configmaps/a`);
    expect(reply.code).toBe(404);
    expect(reply.body).toMatchObject({ reason: 'NotFound', message: 'configmaps "a" not found' });
  });

  test('a name can be used again by another object', async ({ api, core }) => {
    const first = await api.post(`${core}/configmaps`, configMap('a'));
    await api.delete(`${core}/configmaps/a`);
    const second = await api.post(`${core}/configmaps`, configMap('a'));
    expect(second.code).toBe(201);
    expect(uidOf(second)).not.toBe(uidOf(first));
  });

  test('another object (uid) than was meant is not deleted', async ({ api, core }) => {
    const old = await api.post(`${core}/configmaps`, configMap('a'));
    const reply = await api.delete(`${core}/configmaps/a`, { preconditions: { uid: 'another' } });
    expect(reply.code).toBe(409);
    expect(reply.body).toMatchObject({ reason: 'Conflict' });
    expect(String(reply.body.message)).toContain(
      `the UID in the precondition (another) does not match the UID in record (${uidOf(old)})`,
    );
    const right = await api.delete(`${core}/configmaps/a`, { preconditions: { uid: uidOf(old) } });
    expect(right.code).toBe(200);
  });

  test('a version that was changed since is not deleted', async ({ api, core }) => {
    const old = await api.post(`${core}/configmaps`, configMap('a'));
    await api.patch(`${core}/configmaps/a`, 'merge', { data: { k: 'v' } });
    const reply = await api.delete(`${core}/configmaps/a`, {
      preconditions: { resourceVersion: versionOf(old) },
    });
    expect(reply.code).toBe(409);
    expect(String(reply.body.message)).toContain('the ResourceVersion in the precondition');
  });

  test('options that make no sense are refused', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a'));
    const unknown = await api.delete(`${core}/configmaps/a`, { propagationPolicy: 'Sideways' });
    expect(unknown.code).toBe(422);
    const both = await api.delete(`${core}/configmaps/a`, {
      propagationPolicy: 'Orphan',
      orphanDependents: true,
    });
    expect(both.code).toBe(422);
    expect((await api.get(`${core}/configmaps/a`)).code).toBe(200);
  });

  test('a dry run deletes nothing', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a'));
    expect((await api.delete(`${core}/configmaps/a?dryRun=All`)).code).toBe(200);
    expect((await api.delete(`${core}/configmaps/a`, { dryRun: ['All'] })).code).toBe(200);
    expect((await api.get(`${core}/configmaps/a`)).code).toBe(200);
  });

  test('a Service is answered with itself', async ({ api, core }) => {
    await api.post(`${core}/services`, { metadata: { name: 'a' }, spec: { ports: [{ port: 80 }] } });
    const reply = await api.delete(`${core}/services/a`);
    expect(reply.body).toMatchObject({ kind: 'Service', metadata: { name: 'a' } });
  });
});

describe('finalizers', () => {
  test('an object that is held is marked and stays until the last finalizer goes', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a', held));
    const marked = await api.delete(`${core}/configmaps/a`);
    expect(marked.code).toBe(200);
    expect(marked.body.kind).toBe('ConfigMap');
    expect(String(metaOf(marked).deletionTimestamp)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(metaOf(marked).deletionGracePeriodSeconds).toBe(0);
    const released = await api.patch(`${core}/configmaps/a`, 'merge', { metadata: { finalizers: null } });
    expect(released.code).toBe(200);
    expect((await api.get(`${core}/configmaps/a`)).code).toBe(404);
  });

  test('deleting it again changes nothing', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a', held));
    const first = await api.delete(`${core}/configmaps/a`);
    const second = await api.delete(`${core}/configmaps/a`);
    expect(versionOf(second)).toBe(versionOf(first));
    await api.patch(`${core}/configmaps/a`, 'merge', { metadata: { finalizers: null } });
  });

  test('no finalizer can be added to an object that is going', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a', held));
    await api.delete(`${core}/configmaps/a`);
    const reply = await api.patch(`${core}/configmaps/a`, 'merge', {
      metadata: { finalizers: ['x.example.com/hold', 'x.example.com/more'] },
    });
    expect(reply.code).toBe(422);
    expect(String(reply.body.message)).toContain(
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted',
    );
    await api.patch(`${core}/configmaps/a`, 'merge', { metadata: { finalizers: null } });
  });

  test('the mark cannot be taken back', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a', held));
    const marked = await api.delete(`${core}/configmaps/a`);
    const reply = await api.put(`${core}/configmaps/a`, configMap('a', held, { k: 'v' }));
    expect(metaOf(reply).deletionTimestamp).toBe(metaOf(marked).deletionTimestamp);
    await api.patch(`${core}/configmaps/a`, 'merge', { metadata: { finalizers: null } });
  });
});

describe('deletion of a collection', () => {
  test('takes what the selector selects, and nothing else', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a', { labels: { go: 'yes' } }));
    await api.post(`${core}/configmaps`, configMap('b', { labels: { go: 'yes' } }));
    await api.post(`${core}/configmaps`, configMap('c'));
    const reply = await api.delete(`${core}/configmaps?labelSelector=go%3Dyes`);
    expect(reply.code).toBe(200);
    expect(reply.body.kind).toBe('ConfigMapList');
    expect(namesOf(reply)).toEqual(['a', 'b']);
    const left = namesOf(await api.get(`${core}/configmaps`));
    expect(left).toContain('c');
    expect(left).not.toContain('a');
  });
});

describe('Pods', () => {
  const onNode = { nodeName: 'node-of-nobody' };
  const kill = { gracePeriodSeconds: 0 };

  test('a Pod that runs nowhere goes at once', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a'));
    const reply = await api.delete(`${core}/pods/a`);
    expect(reply.body.kind).toBe('Pod');
    expect((await api.get(`${core}/pods/a`)).code).toBe(404);
  });

  test('a Pod on a node is marked with its grace and goes when the kubelet says so', async ({
    api,
    core,
  }) => {
    await api.post(`${core}/pods`, pod('a', {}, { ...onNode, terminationGracePeriodSeconds: 20 }));
    const marked = await api.delete(`${core}/pods/a`);
    expect(metaOf(marked).deletionGracePeriodSeconds).toBe(20);
    const created = Date.parse(String(metaOf(marked).creationTimestamp));
    const ends = Date.parse(String(metaOf(marked).deletionTimestamp));
    expect(ends - created).toBeGreaterThanOrEqual(20_000);
    expect((await api.get(`${core}/pods/a`)).code).toBe(200);
    await api.delete(`${core}/pods/a`, kill);
    expect((await api.get(`${core}/pods/a`)).code).toBe(404);
  });

  test('the grace can be shortened and never lengthened', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a', {}, onNode));
    const grace = async (seconds: number) => {
      const reply = await api.delete(`${core}/pods/a`, { gracePeriodSeconds: seconds });
      return metaOf(reply).deletionGracePeriodSeconds;
    };
    expect(await grace(20)).toBe(20);
    expect(await grace(25)).toBe(20);
    expect(await grace(10)).toBe(10);
    await api.delete(`${core}/pods/a`, kill);
  });

  test('a Pod that has ended needs no grace', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a', {}, onNode));
    await api.patch(`${core}/pods/a/status`, 'merge', { status: { phase: 'Succeeded' } });
    await api.delete(`${core}/pods/a`);
    expect((await api.get(`${core}/pods/a`)).code).toBe(404);
  });

  test('a Pod of another uid is not killed by a late kubelet', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a', {}, onNode));
    const reply = await api.delete(`${core}/pods/a`, { ...kill, preconditions: { uid: 'the-one-before' } });
    expect(reply.code).toBe(409);
    await api.delete(`${core}/pods/a`, kill);
  });

  test('a Pod with a finalizer outlives its grace', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a', held, onNode));
    await api.delete(`${core}/pods/a`, kill);
    const { body } = await api.get(`${core}/pods/a`);
    expect(metaOf(body).deletionTimestamp).toBeDefined();
    await api.patch(`${core}/pods/a`, 'merge', { metadata: { finalizers: null } });
    expect((await api.get(`${core}/pods/a`)).code).toBe(404);
  });
});

describe('dependents', () => {
  const owner = (name: string, uid: string, more: JsonObject = {}) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name,
    uid,
    ...more,
  });
  /** Kubernetes' own collector may take a while to learn of objects. */
  const patience = { timeoutMs: 30_000 };

  test('go when their owner is gone', { timeout: 40_000 }, async ({ api, core }) => {
    const uid = uidOf(await api.post(`${core}/configmaps`, configMap('owner')));
    await api.post(`${core}/secrets`, {
      metadata: { name: 'child', ownerReferences: [owner('owner', uid)] },
    });
    await api.delete(`${core}/configmaps/owner`, { propagationPolicy: 'Background' });
    await until(async () => (await api.get(`${core}/secrets/child`)).code === 404, {
      what: 'the child is gone',
      ...patience,
    });
  });

  test('go with everything that depends on them', { timeout: 40_000 }, async ({ api, core }) => {
    const uid = uidOf(await api.post(`${core}/configmaps`, configMap('owner')));
    const child = await api.post(
      `${core}/configmaps`,
      configMap('child', { ownerReferences: [owner('owner', uid)] }),
    );
    await api.post(
      `${core}/configmaps`,
      configMap('grandchild', { ownerReferences: [owner('child', uidOf(child))] }),
    );
    await api.delete(`${core}/configmaps/owner`);
    await until(async () => (await api.get(`${core}/configmaps/grandchild`)).code === 404, {
      what: 'the grandchild is gone',
      ...patience,
    });
  });

  test('stay while another owner stands, and lose the reference to the one that is gone', {
    timeout: 40_000,
  }, async ({ api, core }) => {
    const one = uidOf(await api.post(`${core}/configmaps`, configMap('one')));
    const two = uidOf(await api.post(`${core}/configmaps`, configMap('two')));
    await api.post(
      `${core}/configmaps`,
      configMap('child', { ownerReferences: [owner('one', one), owner('two', two)] }),
    );
    await api.delete(`${core}/configmaps/one`);
    const child = await until(
      async () => {
        const reply = await api.get(`${core}/configmaps/child`);
        return (metaOf(reply).ownerReferences as JsonObject[]).length === 1 ? reply : undefined;
      },
      { what: 'one owner is left', ...patience },
    );
    expect(metaOf(child).ownerReferences).toEqual([owner('two', two)]);
  });

  test('whose owner never existed go as well', { timeout: 40_000 }, async ({ api, core }) => {
    await api.post(
      `${core}/configmaps`,
      configMap('child', { ownerReferences: [owner('nobody', 'no-such-uid')] }),
    );
    await until(async () => (await api.get(`${core}/configmaps/child`)).code === 404, {
      what: 'the child is gone',
      ...patience,
    });
  });

  test('live on without their owner if it is deleted with Orphan', { timeout: 40_000 }, async ({
    api,
    core,
  }) => {
    const uid = uidOf(await api.post(`${core}/configmaps`, configMap('owner')));
    const child = await api.post(
      `${core}/configmaps`,
      configMap('child', { ownerReferences: [owner('owner', uid)] }),
    );
    // A collector that does not know the child yet could not free it.
    await until(async () => (await api.get(`${core}/configmaps/child`)).code === 200, {
      what: 'the child is there',
    });
    await api.delete(`${core}/configmaps/owner`, { propagationPolicy: 'Orphan' });
    await until(async () => (await api.get(`${core}/configmaps/owner`)).code === 404, {
      what: 'the owner is gone',
      ...patience,
    });
    const left = await api.get(`${core}/configmaps/child`);
    expect(uidOf(left)).toBe(uidOf(child));
    expect(metaOf(left).ownerReferences).toBeUndefined();
  });

  test('go before their owner if it is deleted in the foreground', { timeout: 40_000 }, async ({
    api,
    core,
  }) => {
    const uid = uidOf(await api.post(`${core}/configmaps`, configMap('owner')));
    const blocking = owner('owner', uid, { blockOwnerDeletion: true });
    await api.post(`${core}/configmaps`, configMap('child', { ownerReferences: [blocking], ...held }));
    const marked = await api.delete(`${core}/configmaps/owner`, { propagationPolicy: 'Foreground' });
    expect(metaOf(marked).finalizers).toEqual(['foregroundDeletion']);
    await until(async () => metaOf(await api.get(`${core}/configmaps/child`)).deletionTimestamp, {
      what: 'the child is marked',
      ...patience,
    });
    expect((await api.get(`${core}/configmaps/owner`)).code).toBe(200);
    await api.patch(`${core}/configmaps/child`, 'merge', { metadata: { finalizers: null } });
    await until(async () => (await api.get(`${core}/configmaps/owner`)).code === 404, {
      what: 'the owner is gone',
      ...patience,
    });
  });
});
