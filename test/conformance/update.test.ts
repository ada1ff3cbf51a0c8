import { describe, expect } from 'vitest';
import type { JsonObject } from './client.ts';
import { causeFields, configMap, metaOf, pod, test, uidOf, versionOf } from './conformance.ts';

const modified =
  'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again';

describe('update', () => {
  test('a replacement takes the place of the whole object and keeps its identity', async ({ api, core }) => {
    const old = await api.post(`${core}/configmaps`, configMap('a', { labels: { l: '1' } }, { k: 'v' }));
    const reply = await api.put(`${core}/configmaps/a`, configMap('a', {}, { other: 'w' }));
    expect(reply.code).toBe(200);
    expect(reply.body.data).toEqual({ other: 'w' });
    expect(metaOf(reply).labels).toBeUndefined();
    expect(uidOf(reply)).toBe(uidOf(old));
    expect(metaOf(reply).creationTimestamp).toBe(metaOf(old).creationTimestamp);
    expect(Number(versionOf(reply))).toBeGreaterThan(Number(versionOf(old)));
  });

  test('a replacement of an older version is refused with 409', async ({ api, core }) => {
    const old = await api.post(`${core}/configmaps`, configMap('a'));
    await api.put(`${core}/configmaps/a`, configMap('a', {}, { k: 'v' }));
    const reply = await api.put(`${core}/configmaps/a`, configMap('a', { resourceVersion: versionOf(old) }));
    expect(reply.code).toBe(409);
    expect(reply.body).toMatchObject({
      reason: 'Conflict',
      message: modified,
      details: { name: 'a', kind: 'configmaps' },
    });
  });

  test('a replacement of another object (uid) is refused with 409', async ({ api, core }) => {
    const old = await api.post(`${core}/configmaps`, configMap('a'));
    const reply = await api.put(`${core}/configmaps/a`, configMap('a', { uid: 'another' }));
    expect(reply.code).toBe(409);
    expect(reply.body.reason).toBe('Conflict');
    expect(String(reply.body.message)).toContain(
      `Precondition failed: UID in precondition: another, UID in object meta: ${uidOf(old)}`,
    );
  });

  test('an object that does not exist cannot be replaced', async ({ api, core }) => {
    const reply = await api.put(`${core}/configmaps/a`, configMap('a'));
    expect(reply.code).toBe(404);
    expect(reply.body).toMatchObject({ reason: 'NotFound', message: 'configmaps "a" not found' });
  });

  test('the name in the object must be the one in the path', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a'));
    const reply = await api.put(`${core}/configmaps/a`, configMap('b'));
    expect(reply.code).toBe(400);
    expect(reply.body.message).toBe('the name of the object (b) does not match the name on the URL (a)');
  });

  test('a write that changes nothing makes no new version', async ({ api, core }) => {
    const old = await api.post(`${core}/configmaps`, configMap('a', { labels: { l: '1' } }, { k: 'v' }));
    const put = await api.put(`${core}/configmaps/a`, configMap('a', { labels: { l: '1' } }, { k: 'v' }));
    const patch = await api.patch(`${core}/configmaps/a`, 'merge', { data: { k: 'v' } });
    expect(versionOf(put)).toBe(versionOf(old));
    expect(versionOf(patch)).toBe(versionOf(old));
  });

  test('what the server owns cannot be changed by a client', async ({ api, core }) => {
    const old = await api.post(`${core}/configmaps`, configMap('a'));
    const reply = await api.patch(`${core}/configmaps/a`, 'merge', {
      metadata: { creationTimestamp: '2020-01-01T00:00:00Z', generation: 7 },
    });
    expect(reply.code).toBe(200);
    expect(metaOf(reply).creationTimestamp).toBe(metaOf(old).creationTimestamp);
    expect(metaOf(reply).generation).toBeUndefined();
  });

  test('a dry run of an update stores nothing', async ({ api, core }) => {
    const old = await api.post(`${core}/configmaps`, configMap('a'));
    const reply = await api.put(`${core}/configmaps/a?dryRun=All`, configMap('a', {}, { k: 'v' }));
    expect(reply.body.data).toEqual({ k: 'v' });
    const now = await api.get(`${core}/configmaps/a`);
    expect(versionOf(now)).toBe(versionOf(old));
    expect(now.body.data).toBeUndefined();
  });

  test('a Lease is replaced only by who names its version, and made by a PUT if there is none', async ({
    api,
    namespace,
  }) => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/a`;
    const lease: JsonObject = { metadata: { name: 'a' }, spec: { holderIdentity: 'x' } };
    const made = await api.put(path, lease);
    expect(made.code).toBe(201);
    const blind = await api.put(path, lease);
    expect(blind.code).toBe(422);
    expect(blind.body.message).toBe(
      'leases.coordination.k8s.io "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    );
    const seen = await api.put(path, {
      metadata: { name: 'a', resourceVersion: versionOf(made) },
      spec: { holderIdentity: 'y' },
    });
    expect(seen.code).toBe(200);
    const again = await api.put(path, {
      metadata: { name: 'a', resourceVersion: versionOf(made) },
      spec: { holderIdentity: 'z' },
    });
    expect(again.code).toBe(409);
  });
});

describe('status', () => {
  test('the object is written without its status', async ({ api, core }) => {
    await api.post(`${core}/pods`, { ...pod('a'), status: { phase: 'Running' } });
    const reply = await api.patch(`${core}/pods/a`, 'merge', {
      metadata: { labels: { l: '1' } },
      status: { phase: 'Failed' },
    });
    expect(reply.body).toMatchObject({ metadata: { labels: { l: '1' } }, status: { phase: 'Pending' } });
  });

  test('the status is written without the specification', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a'));
    const reply = await api.patch(`${core}/pods/a/status`, 'merge', {
      spec: { nodeName: 'n', containers: [] },
      status: { phase: 'Running', podIPs: [{ ip: '10.1.2.3' }] },
    });
    expect(reply.code).toBe(200);
    expect(reply.body).toMatchObject({
      status: { phase: 'Running', podIP: '10.1.2.3', podIPs: [{ ip: '10.1.2.3' }] },
    });
    expect((reply.body.spec as JsonObject).nodeName).toBeUndefined();
  });

  test('a status can be replaced by PUT, with the version checked', async ({ api, core }) => {
    const old = await api.post(`${core}/pods`, pod('a'));
    const reply = await api.put(`${core}/pods/a/status`, { ...old.body, status: { phase: 'Running' } });
    expect(reply.body).toMatchObject({ status: { phase: 'Running' } });
    const late = await api.put(`${core}/pods/a/status`, { ...old.body, status: { phase: 'Failed' } });
    expect(late.code).toBe(409);
  });

  test('GET of the status answers with the whole object', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a'));
    const reply = await api.get(`${core}/pods/a/status`);
    expect(reply.body).toMatchObject({ kind: 'Pod', spec: { schedulerName: 'nobody' } });
  });

  test('a kind without status has no such part', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a'));
    expect((await api.get(`${core}/configmaps/a/status`)).code).toBe(404);
  });
});

describe('metadata that is fixed', () => {
  test('a patch that names another uid is refused and names the field', async ({ api, core }) => {
    await api.post(`${core}/pods`, pod('a'));
    for (const path of [`${core}/pods/a`, `${core}/pods/a/status`]) {
      const reply = await api.patch(path, 'strategic', { metadata: { uid: 'another' } });
      expect(reply.code).toBe(422);
      expect(causeFields(reply)).toEqual(['metadata.uid']);
      expect(String(reply.body.message)).toContain(
        'metadata.uid: Invalid value: "another": field is immutable',
      );
    }
  });

  test('a patch that names the right uid is applied', async ({ api, core }) => {
    const old = await api.post(`${core}/pods`, pod('a'));
    const reply = await api.patch(`${core}/pods/a/status`, 'strategic', {
      metadata: { uid: uidOf(old) },
      status: { phase: 'Running' },
    });
    expect(reply.code).toBe(200);
  });

  test('a patch of another version is refused with 409', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a'));
    const reply = await api.patch(`${core}/configmaps/a`, 'merge', { metadata: { resourceVersion: '1' } });
    expect(reply.code).toBe(409);
    expect(reply.body.message).toBe(modified);
  });

  test('an object cannot be renamed', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a'));
    const reply = await api.patch(`${core}/configmaps/a`, 'merge', { metadata: { name: 'b' } });
    expect(reply.code).toBe(400);
    expect(reply.body.message).toBe('the name of the object (b) does not match the name on the URL (a)');
  });
});
