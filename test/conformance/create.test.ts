import { describe, expect } from 'vitest';
import { causeFields, configMap, metaOf, namesOf, test, uidOf, versionOf } from './conformance.ts';

describe('create', () => {
  test('a new object gets an identity: uid, version, creation time in whole seconds', async ({
    api,
    core,
    namespace,
  }) => {
    const reply = await api.post(`${core}/configmaps`, configMap('a', { labels: { l: 'v' } }, { k: 'v' }));
    expect(reply.code).toBe(201);
    expect(reply.body).toMatchObject({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name: 'a', namespace, labels: { l: 'v' } },
      data: { k: 'v' },
    });
    expect(uidOf(reply)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(versionOf(reply)).toMatch(/^[1-9]\d*$/);
    expect(String(metaOf(reply).creationTimestamp)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  test('identity and deletion that a client sends are not taken over', async ({ api, core }) => {
    const reply = await api.post(
      `${core}/configmaps`,
      configMap('a', {
        uid: 'mine',
        creationTimestamp: '2020-01-01T00:00:00Z',
        deletionTimestamp: '2020-01-01T00:00:00Z',
      }),
    );
    expect(reply.code).toBe(201);
    expect(uidOf(reply)).not.toBe('mine');
    expect(metaOf(reply).creationTimestamp).not.toBe('2020-01-01T00:00:00Z');
    expect(metaOf(reply).deletionTimestamp).toBeUndefined();
  });

  test('apiVersion and kind may be left out of built-in objects', async ({ api, core }) => {
    const reply = await api.post(`${core}/configmaps`, { metadata: { name: 'a' } });
    expect(reply.code).toBe(201);
    expect(reply.body).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1' });
  });

  test('generateName makes names that start with it and end with five characters', async ({ api, core }) => {
    const first = await api.post(`${core}/configmaps`, { metadata: { generateName: 'gen-' } });
    const second = await api.post(`${core}/configmaps`, { metadata: { generateName: 'gen-' } });
    for (const reply of [first, second])
      expect(String(metaOf(reply).name)).toMatch(/^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(metaOf(first).name).not.toBe(metaOf(second).name);
    expect(metaOf(first).generateName).toBe('gen-');
  });

  test('a long generateName is cut so that the name fits', async ({ api, core }) => {
    const reply = await api.post(`${core}/configmaps`, { metadata: { generateName: 'a'.repeat(100) } });
    expect(String(metaOf(reply).name)).toHaveLength(63);
  });

  test('a name that is taken is refused with 409 AlreadyExists', async ({ api, core }) => {
    await api.post(`${core}/configmaps`, configMap('a'));
    const reply = await api.post(`${core}/configmaps`, configMap('a'));
    expect(reply.code).toBe(409);
    expect(reply.body).toMatchObject({
      status: 'Failure',
      reason: 'AlreadyExists',
      message: 'configmaps "a" already exists',
      details: { name: 'a', kind: 'configmaps' },
      code: 409,
    });
  });

  test('a resource of a group is named with its group in errors', async ({ api, namespace }) => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    await api.post(path, { metadata: { name: 'a' } });
    const reply = await api.post(path, { metadata: { name: 'a' } });
    expect(reply.body).toMatchObject({
      message: 'leases.coordination.k8s.io "a" already exists',
      details: { name: 'a', group: 'coordination.k8s.io', kind: 'leases' },
    });
  });

  test('nothing is created in a namespace that does not exist', async ({ api }) => {
    const reply = await api.post('/api/v1/namespaces/does-not-exist/configmaps', configMap('a'));
    expect(reply.code).toBe(404);
    expect(reply.body).toMatchObject({
      reason: 'NotFound',
      message: 'namespaces "does-not-exist" not found',
    });
  });

  test('an object of another namespace than the path is refused with 400', async ({ api, core }) => {
    const reply = await api.post(`${core}/configmaps`, configMap('a', { namespace: 'kube-system' }));
    expect(reply.code).toBe(400);
    expect(reply.body.message).toBe(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  });

  test('an object of another kind than the path is refused with 400', async ({ api, core }) => {
    const reply = await api.post(`${core}/configmaps`, { ...configMap('a'), kind: 'Pod' });
    expect(reply.code).toBe(400);
    expect(String(reply.body.message)).toContain('Pod in version "v1" cannot be handled as a ConfigMap');
  });

  test('a new object with a resourceVersion is refused', async ({ api, core }) => {
    const reply = await api.post(`${core}/configmaps`, configMap('a', { resourceVersion: '5' }));
    expect(reply.code).toBeGreaterThanOrEqual(400);
    expect(reply.body.message).toBe('resourceVersion should not be set on objects to be created');
  });

  test('an object without a name is refused with 422', async ({ api, core }) => {
    const reply = await api.post(`${core}/configmaps`, { metadata: {} });
    expect(reply.code).toBe(422);
    expect(reply.body).toMatchObject({
      reason: 'Invalid',
      message: 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
      details: {
        kind: 'ConfigMap',
        causes: [
          {
            reason: 'FieldValueRequired',
            message: 'Required value: name or generateName is required',
            field: 'metadata.name',
          },
        ],
      },
    });
  });

  test.for(['Upper', 'under_score', '-dash', 'dot.', 'a'.repeat(254), 'sp ace'])(
    'the name "%s" is refused with 422',
    async (name, { api, core }) => {
      const reply = await api.post(`${core}/configmaps`, configMap(name));
      expect(reply.code).toBe(422);
      expect(causeFields(reply)).toEqual(['metadata.name']);
    },
  );

  test('labels, annotations, finalizers and owners that break the rules are all named', async ({
    api,
    core,
  }) => {
    const reply = await api.post(
      `${core}/configmaps`,
      configMap('a', {
        labels: { 'a b': 'x', ok: 'not ok' },
        annotations: { 'c d': 'anything at all' },
        finalizers: ['no spaces'],
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: '', uid: '' }],
      }),
    );
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toEqual([
      'metadata.annotations',
      'metadata.finalizers',
      'metadata.finalizers[0]',
      'metadata.labels',
      'metadata.ownerReferences.name',
      'metadata.ownerReferences.uid',
    ]);
  });

  test('two controllers of one object are refused', async ({ api, core }) => {
    const owner = (name: string) => ({ apiVersion: 'v1', kind: 'Pod', name, uid: name, controller: true });
    const reply = await api.post(
      `${core}/configmaps`,
      configMap('a', { ownerReferences: [owner('x'), owner('y')] }),
    );
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toEqual(['metadata.ownerReferences']);
  });

  test('a field of the wrong type is refused with 400', async ({ api, core }) => {
    const reply = await api.post(`${core}/configmaps`, configMap('a', {}, { k: 1 }));
    expect(reply.code).toBe(400);
    expect(reply.body.message).toBe(
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
    );
  });

  test('unknown fields fall away with a warning', async ({ api, core }) => {
    const reply = await api.post(`${core}/configmaps`, { metadata: { name: 'a', zone: 1 }, colour: 'red' });
    expect(reply.code).toBe(201);
    expect(reply.body.colour).toBeUndefined();
    expect(reply.warnings.join()).toContain('unknown field \\"colour\\"');
    expect(reply.warnings.join()).toContain('unknown field \\"metadata.zone\\"');
  });

  test('unknown fields are refused if the client asks for it', async ({ api, core }) => {
    const reply = await api.post(`${core}/configmaps?fieldValidation=Strict`, {
      metadata: { name: 'a' },
      colour: 'red',
    });
    expect(reply.code).toBe(400);
    expect(reply.body.message).toBe(
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "colour"',
    );
  });

  test('a dry run answers as if, and stores nothing', async ({ api, core }) => {
    const reply = await api.post(`${core}/configmaps?dryRun=All`, configMap('a'));
    expect(reply.code).toBe(201);
    expect(uidOf(reply)).not.toBe('undefined');
    expect((await api.get(`${core}/configmaps/a`)).code).toBe(404);
  });

  test('a dry run is judged like a real one', async ({ api, core }) => {
    const invalid = await api.post(`${core}/configmaps?dryRun=All`, configMap('A'));
    expect(invalid.code).toBe(422);
    const unknown = await api.post(`${core}/configmaps?dryRun=Some`, configMap('a'));
    expect(unknown.code).toBe(422);
    expect(unknown.body.message).toBe(
      'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"',
    );
  });

  test('versions grow with every write, across resources', async ({ api, core }) => {
    const first = await api.post(`${core}/configmaps`, configMap('a'));
    const second = await api.post(`${core}/secrets`, { metadata: { name: 'b' } });
    const third = await api.post(`${core}/configmaps`, configMap('c'));
    expect(Number(versionOf(second))).toBeGreaterThan(Number(versionOf(first)));
    expect(Number(versionOf(third))).toBeGreaterThan(Number(versionOf(second)));
    expect(namesOf(await api.get(`${core}/configmaps`))).toEqual(expect.arrayContaining(['a', 'c']));
  });

  test('a body beyond 3 MiB is refused', async ({ api, core }) => {
    const reply = await api.post(
      `${core}/configmaps`,
      configMap('a', {}, { k: 'x'.repeat(3 * 1024 * 1024) }),
    );
    expect(reply.code).toBe(413);
    expect(reply.body.reason).toBe('RequestEntityTooLarge');
  });
});
