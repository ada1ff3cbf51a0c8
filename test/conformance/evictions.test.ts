/** Evictions: what a PodDisruptionBudget allows, refuses, and counts. */
import { describe, expect } from 'vitest';
import { until } from '../until.ts';
import type { Client, JsonObject, Reply } from './client.ts';
import { causeFields, metaOf, pod, test, uidOf, versionOf } from './conformance.ts';

const patience = { timeoutMs: 30_000 };
const labels = { app: 'web' };

const budgets = (namespace: string) => `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`;
const budget = (name: string, spec: JsonObject) => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name },
  spec: { selector: { matchLabels: labels }, ...spec },
});
const eviction = (name: string, more: JsonObject = {}) => ({
  apiVersion: 'policy/v1',
  kind: 'Eviction',
  metadata: { name },
  ...more,
});

/** Pods that nobody schedules, and that say of themselves that they run. */
async function running(api: Client, core: string, names: readonly string[], ready = true): Promise<void> {
  for (const name of names) {
    await api.post(`${core}/pods`, pod(name, { labels }));
    await say(api, core, name, ready);
  }
}

async function say(api: Client, core: string, name: string, ready: boolean): Promise<void> {
  const condition = { type: 'Ready', status: ready ? 'True' : 'False' };
  const status = { phase: 'Running', conditions: [condition] };
  expect((await api.patch(`${core}/pods/${name}/status`, 'merge', { status })).code).toBe(200);
}

async function counted(api: Client, path: string, status: JsonObject): Promise<void> {
  await until(
    async () => {
      const said = (await api.get(path)).body.status as JsonObject;
      return Object.entries(status).every(([field, value]) => said[field] === value);
    },
    { what: `the budget says ${JSON.stringify(status)}`, ...patience },
  );
}

const evict = (api: Client, core: string, name: string, more: JsonObject = {}): Promise<Reply> =>
  api.post(`${core}/pods/${name}/eviction`, eviction(name, more));

describe('evictions', () => {
  test('a Pod without a budget is deleted, and the answer is a Status', async ({ api, core }) => {
    await running(api, core, ['free']);
    const reply = await evict(api, core, 'free');
    expect(reply.code).toBe(201);
    expect(reply.body).toMatchObject({ kind: 'Status', status: 'Success', code: 201 });
    expect((await api.get(`${core}/pods/free`)).code).toBe(404);
  });

  test('a budget is counted, lets one go, and refuses the next with 429', async ({
    api,
    core,
    namespace,
  }) => {
    const path = `${budgets(namespace)}/web`;
    await running(api, core, ['web-0', 'web-1']);
    const made = await api.post(budgets(namespace), budget('web', { minAvailable: 1 }));
    expect(made.code).toBe(201);
    expect(metaOf(made).generation).toBe(1);
    await counted(api, path, {
      currentHealthy: 2,
      desiredHealthy: 1,
      expectedPods: 2,
      disruptionsAllowed: 1,
      observedGeneration: 1,
    });
    expect((await evict(api, core, 'web-0')).code).toBe(201);
    expect((await api.get(`${core}/pods/web-0`)).code).toBe(404);
    await counted(api, path, { currentHealthy: 1, disruptionsAllowed: 0 });
    const refused = await evict(api, core, 'web-1');
    expect(refused.code).toBe(429);
    expect(refused.body).toMatchObject({
      kind: 'Status',
      reason: 'TooManyRequests',
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      details: {
        causes: [
          {
            reason: 'DisruptionBudget',
            message: 'The disruption budget web needs 1 healthy pods and has 1 currently',
          },
        ],
      },
    });
    expect((await api.get(`${core}/pods/web-1`)).code).toBe(200);
    const { body } = await api.get(path);
    expect(body.status).toMatchObject({
      conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods' }],
    });
  });

  test('a dry run asks the budget and takes nothing', async ({ api, core, namespace }) => {
    await running(api, core, ['web-0', 'web-1']);
    await api.post(budgets(namespace), budget('web', { minAvailable: 1 }));
    await counted(api, `${budgets(namespace)}/web`, { disruptionsAllowed: 1 });
    const deleteOptions = { dryRun: ['All'] };
    for (const name of ['web-0', 'web-1'])
      expect((await evict(api, core, name, { deleteOptions })).code).toBe(201);
    expect((await api.get(`${core}/pods/web-0`)).code).toBe(200);
    await counted(api, `${budgets(namespace)}/web`, { disruptionsAllowed: 1 });
  });

  test('a Pod that does not run needs no budget, and one that is not ready by the policy', async ({
    api,
    core,
    namespace,
  }) => {
    await api.post(`${core}/pods`, pod('pending', { labels }));
    await running(api, core, ['unready'], false);
    await api.post(budgets(namespace), budget('web', { minAvailable: 3 }));
    await counted(api, `${budgets(namespace)}/web`, { desiredHealthy: 3, disruptionsAllowed: 0 });
    expect((await evict(api, core, 'pending')).code).toBe(201);
    expect((await evict(api, core, 'unready')).code).toBe(429);
    const spec = { unhealthyPodEvictionPolicy: 'AlwaysAllow' };
    await api.patch(`${budgets(namespace)}/web`, 'merge', { spec });
    await counted(api, `${budgets(namespace)}/web`, { observedGeneration: 2 });
    expect((await evict(api, core, 'unready')).code).toBe(201);
  });

  test('preconditions are kept', async ({ api, core }) => {
    await running(api, core, ['one']);
    const uid = uidOf(await api.get(`${core}/pods/one`));
    const other = { preconditions: { uid: `${uid.slice(0, -1)}x` } };
    expect((await evict(api, core, 'one', { deleteOptions: other })).code).toBe(409);
    expect((await evict(api, core, 'one', { deleteOptions: { preconditions: { uid } } })).code).toBe(201);
  });

  test('two budgets of one Pod are an error of the server, and none is spent', async ({
    api,
    core,
    namespace,
  }) => {
    await running(api, core, ['web-0', 'web-1']);
    for (const name of ['one', 'two']) {
      await api.post(budgets(namespace), budget(name, { minAvailable: 1 }));
      await counted(api, `${budgets(namespace)}/${name}`, { disruptionsAllowed: 1 });
    }
    const reply = await evict(api, core, 'web-0');
    expect(reply.code).toBe(500);
    expect(reply.body.message).toBe(
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  });

  test('a Pod that is not there, and a name that is another one', async ({ api, core }) => {
    expect((await evict(api, core, 'nobody')).code).toBe(404);
    await running(api, core, ['one']);
    const reply = await api.post(`${core}/pods/one/eviction`, eviction('two'));
    expect(reply.code).toBe(400);
    expect(reply.body.message).toBe('name in URL does not match name in Eviction object');
    expect((await api.get(`${core}/pods/one/eviction`)).code).toBe(405);
  });

  test('maxUnavailable and percentages count from what the owner asks for', async ({
    api,
    core,
    namespace,
  }) => {
    const sets = `/apis/apps/v1/namespaces/${namespace}/replicasets`;
    const template = { metadata: { labels }, spec: pod('x').spec ?? {} };
    const names = ['web-0', 'web-1', 'web-2'];
    // They are there before their owner: a real one adopts them, and creates none of its own.
    for (const name of names) {
      await api.post(`${core}/pods`, pod(name, { labels }));
      await say(api, core, name, true);
    }
    const set = await api.post(sets, {
      metadata: { name: 'web' },
      spec: { replicas: 3, selector: { matchLabels: labels }, template },
    });
    const owner = {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      name: 'web',
      uid: uidOf(set),
      controller: true,
    };
    for (const name of names)
      await api.patch(`${core}/pods/${name}`, 'merge', { metadata: { ownerReferences: [owner] } });
    await api.post(budgets(namespace), budget('web', { maxUnavailable: '34%' }));
    const path = `${budgets(namespace)}/web`;
    // A third of three, rounded up, is two.
    await counted(api, path, { expectedPods: 3, desiredHealthy: 1, disruptionsAllowed: 2 });
    const version = versionOf(await api.get(path));
    const spec = { selector: { matchLabels: labels }, minAvailable: '50%' };
    const replaced = { ...budget('web', spec), metadata: { name: 'web', resourceVersion: version } };
    const written = await api.put(path, replaced);
    if (written.code === 409) await api.patch(path, 'merge', { spec: { ...spec, maxUnavailable: null } });
    await counted(api, path, { expectedPods: 3, desiredHealthy: 2, disruptionsAllowed: 1 });
  });
});

describe('disruption budgets', () => {
  test('rules of the kind', async ({ api, namespace }) => {
    const post = (spec: JsonObject) => api.post(budgets(namespace), budget('web', spec));
    const both = await post({ minAvailable: 1, maxUnavailable: 1 });
    expect(both.code).toBe(422);
    expect(causeFields(both)).toEqual(['spec']);
    expect(causeFields(await post({ minAvailable: -1 }))).toEqual(['spec.minAvailable']);
    expect(causeFields(await post({ maxUnavailable: '101%' }))).toEqual(['spec.maxUnavailable']);
    expect(causeFields(await post({ unhealthyPodEvictionPolicy: 'Never' }))).toEqual([
      'spec.unhealthyPodEvictionPolicy',
    ]);
    const unversioned = budget('web', { minAvailable: 1 });
    expect((await api.post(budgets(namespace), unversioned)).code).toBe(201);
    expect((await api.put(`${budgets(namespace)}/web`, unversioned)).code).toBe(422);
  });

  test('discovery tells of evictions and budgets', async ({ api }) => {
    const { body } = await api.get('/api/v1');
    expect(body.resources).toContainEqual({
      name: 'pods/eviction',
      singularName: '',
      namespaced: true,
      group: 'policy',
      version: 'v1',
      kind: 'Eviction',
      verbs: ['create'],
    });
    const policy = await api.get('/apis/policy/v1');
    expect(policy.body.resources).toContainEqual(
      expect.objectContaining({ name: 'poddisruptionbudgets', shortNames: ['pdb'], namespaced: true }),
    );
  });
});
