/** The definition of Election in deploy/crds, on an API server. */
import { readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { parse } from 'yaml';
import { until } from '../until.ts';
import type { JsonObject } from './client.ts';
import { test as base, causeFields, metaOf } from './conformance.ts';

const definition = parse(
  readFileSync(new URL('../../deploy/crds/orrery.dev_elections.yaml', import.meta.url), 'utf8'),
) as JsonObject;
const path = (namespace: string) => `/apis/orrery.dev/v1alpha1/namespaces/${namespace}/elections`;
const election = (spec?: JsonObject): JsonObject => ({
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'Election',
  metadata: { name: 'a' },
  ...(spec === undefined ? {} : { spec }),
});

const test = base.extend<{ served: true }>({
  // The definition is for the whole cluster and is left there: other users of a real cluster may rely on it.
  served: [
    async ({ api }, use) => {
      const name = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/elections.orrery.dev';
      const applied = await api.patch(`${name}?fieldManager=conformance&force=true`, 'apply', definition);
      if (applied.code > 201) throw new Error(applied.text);
      await until(async () => (await api.get(path('default'))).code === 200, {
        what: 'Elections are served',
      });
      await use(true);
    },
    { auto: true },
  ],
});

describe('Election', () => {
  test('without a specification gets the defaults, one that is partly given the rest', async ({
    api,
    namespace,
  }) => {
    const bare = await api.post(path(namespace), election());
    expect(bare.body.spec).toEqual({
      leaseDurationSeconds: 15,
      renewDeadlineSeconds: 10,
      retryPeriodSeconds: 2,
      releaseOnCancel: true,
    });
    const given = await api.post(path(namespace), {
      ...election({ leaseDurationSeconds: 30, lease: { name: 'till' } }),
      metadata: { name: 'b' },
    });
    expect(given.body.spec).toMatchObject({
      leaseDurationSeconds: 30,
      renewDeadlineSeconds: 10,
      lease: { name: 'till' },
    });
  });

  const refused: ReadonlyArray<readonly [JsonObject, string]> = [
    [{ leaseDurationSeconds: 10 }, 'spec'],
    [{ retryPeriodSeconds: 9 }, 'spec'],
    [{ retryPeriodSeconds: 0 }, 'spec.retryPeriodSeconds'],
    [{ lease: { name: 'No Name' } }, 'spec.lease.name'],
    [{ lease: {} }, 'spec.lease.name'],
  ];
  for (const [spec, field] of refused) {
    test(`${JSON.stringify(spec)} is refused by the field ${field}`, async ({ api, namespace }) => {
      const answer = await api.post(path(namespace), election(spec));
      expect([answer.code, causeFields(answer)]).toEqual([422, expect.arrayContaining([field])]);
    });
  }

  test('status is written by itself, and a holder that is null is taken out', async ({ api, namespace }) => {
    const created = await api.post(path(namespace), election());
    const { uid } = metaOf(created.body);
    const patch = (status: JsonObject) =>
      api.patch(`${path(namespace)}/a/status`, 'merge', { metadata: { uid }, status } as JsonObject);
    const time = '2026-01-01T00:00:00.123000Z';
    const led = await patch({
      holder: 'x',
      term: 3,
      acquireTime: time,
      renewTime: time,
      transitions: 2,
      candidates: ['x'],
    });
    expect(led.body.status).toMatchObject({ holder: 'x', term: 3, acquireTime: time });
    expect((await patch({ holder: null, acquireTime: null })).body.status).toEqual({
      term: 3,
      renewTime: time,
      transitions: 2,
      candidates: ['x'],
    });
  });
});
