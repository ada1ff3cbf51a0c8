import { describe, expect } from 'vitest';
import type { JsonObject } from './client.ts';
import { causeFields, metaOf, test, versionOf } from './conformance.ts';

const labels = { app: 'a' };
const template = {
  metadata: { labels },
  spec: { containers: [{ name: 'main', image: 'example.com/app:1' }] },
};

const workload = (spec: JsonObject = {}): JsonObject => ({
  metadata: { name: 'a' },
  spec: { replicas: 0, selector: { matchLabels: labels }, template, ...spec },
});

const path = (namespace: string, plural: string) => `/apis/apps/v1/namespaces/${namespace}/${plural}`;

describe('workloads', () => {
  test('a Deployment has defaults of its roll-out', async ({ api, namespace }) => {
    const reply = await api.post(path(namespace, 'deployments'), { ...workload(), status: { replicas: 7 } });
    expect(reply.code).toBe(201);
    expect(reply.body).toMatchObject({
      metadata: { generation: 1 },
      spec: {
        replicas: 0,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
        revisionHistoryLimit: 10,
        progressDeadlineSeconds: 600,
        template: { spec: { restartPolicy: 'Always' } },
      },
      status: {},
    });
    expect((reply.body.status as JsonObject).replicas).toBeUndefined();
  });

  test('a StatefulSet has defaults of its order', async ({ api, namespace }) => {
    const reply = await api.post(path(namespace, 'statefulsets'), workload({ serviceName: 's' }));
    expect(reply.body).toMatchObject({
      metadata: { generation: 1 },
      spec: {
        podManagementPolicy: 'OrderedReady',
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      },
      status: { replicas: 0, availableReplicas: 0 },
    });
  });

  test('what a StatefulSet claims is a volume of its Pods, and nothing else is', async ({
    api,
    namespace,
  }) => {
    const mounting = (name: string) => {
      const [main] = template.spec.containers;
      const containers = [{ ...main, volumeMounts: [{ name, mountPath: '/data' }] }];
      const claim = {
        metadata: { name: 'data' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      };
      const pods = { ...template, spec: { ...template.spec, containers } };
      return workload({ serviceName: 's', volumeClaimTemplates: [claim], template: pods });
    };
    const post = (name: string) => api.post(path(namespace, 'statefulsets'), mounting(name));
    expect(causeFields(await post('other'))).toEqual([
      'spec.template.spec.containers[0].volumeMounts[0].name',
    ]);
    expect((await post('data')).code).toBe(201);
  });

  test('a change of the specification is a new generation; labels and status are none', async ({
    api,
    namespace,
  }) => {
    const all = path(namespace, 'replicasets');
    await api.post(all, workload());
    const generation = async (part: string, body: JsonObject) =>
      metaOf(await api.patch(`${all}/a${part}`, 'merge', body)).generation;
    expect(await generation('', { metadata: { labels: { l: 'v' } } })).toBe(1);
    expect(await generation('/status', { status: { replicas: 0, observedGeneration: 1 } })).toBe(1);
    expect(await generation('', { spec: { minReadySeconds: 1 } })).toBe(2);
  });

  test('without a selector, or with one that does not fit the template, are refused', async ({
    api,
    namespace,
  }) => {
    const none = await api.post(path(namespace, 'deployments'), workload({ selector: null }));
    expect(none.code).toBe(422);
    expect(causeFields(none)).toContain('spec.selector');
    const other = await api.post(
      path(namespace, 'deployments'),
      workload({ selector: { matchLabels: { app: 'b' } } }),
    );
    expect(other.code).toBe(422);
    expect(causeFields(other)).toEqual(['spec.template.metadata.labels']);
  });

  test('the selector cannot change', async ({ api, namespace }) => {
    await api.post(path(namespace, 'deployments'), workload());
    const reply = await api.patch(`${path(namespace, 'deployments')}/a`, 'merge', {
      spec: { selector: { matchLabels: { app: 'b' } }, template: { metadata: { labels: { app: 'b' } } } },
    });
    expect(reply.code).toBe(422);
    expect(causeFields(reply)).toContain('spec.selector');
  });

  test('a template whose containers lack an image is refused', async ({ api, namespace }) => {
    const bad = { metadata: { labels }, spec: { containers: [{ name: 'main' }] } };
    const reply = await api.post(path(namespace, 'replicasets'), workload({ template: bad }));
    expect(causeFields(reply)).toEqual(['spec.template.spec.containers[0].image']);
  });
});

describe('scale', () => {
  test('shows and sets the number of replicas', async ({ api, namespace }) => {
    const all = path(namespace, 'statefulsets');
    const made = await api.post(all, workload({ serviceName: 's', template, replicas: 0 }));
    const scale = await api.get(`${all}/a/scale`);
    expect(scale.body).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name: 'a', namespace },
      status: { replicas: 0, selector: 'app=a' },
    });
    const refused = await api.patch(`${all}/a/scale`, 'merge', { spec: { replicas: -1 } });
    expect(refused.code).toBe(422);
    const stale = await api.put(`${all}/a/scale`, {
      ...scale.body,
      metadata: { name: 'a', namespace, resourceVersion: '1' },
      spec: { replicas: 1 },
    });
    expect(stale.code).toBe(409);
    const reply = await api.patch(`${all}/a/scale`, 'merge', { spec: { replicas: 2 } });
    expect(reply.body.spec).toEqual({ replicas: 2 });
    const after = await api.get(`${all}/a`);
    expect((after.body.spec as JsonObject).replicas).toBe(2);
    expect(metaOf(after).generation).toBe(2);
    expect(Number(versionOf(after))).toBeGreaterThan(Number(versionOf(made)));
    await api.delete(`${all}/a`, { propagationPolicy: 'Background' });
  });
});

describe('a ControllerRevision', () => {
  test('keeps its data, and may get another number', async ({ api, namespace }) => {
    const path = `/apis/apps/v1/namespaces/${namespace}/controllerrevisions`;
    const data = { spec: { template: { $patch: 'replace', metadata: { labels: { a: 'b' } } } } };
    const made = await api.post(path, { metadata: { name: 'r' }, data, revision: 1 });
    expect(made.code).toBe(201);
    expect(made.body).toMatchObject({ data, revision: 1 });
    expect((await api.patch(`${path}/r`, 'merge', { revision: 2 })).body).toMatchObject({
      data,
      revision: 2,
    });
    const changed = await api.patch(`${path}/r`, 'merge', { data: { spec: null } });
    expect(changed.code).toBe(422);
    expect(causeFields(changed)).toEqual(['data']);
  });

  test('needs data, and a number that is not negative', async ({ api, namespace }) => {
    const path = `/apis/apps/v1/namespaces/${namespace}/controllerrevisions`;
    const refused = await api.post(path, { metadata: { name: 'r' }, revision: -1 });
    expect(refused.code).toBe(422);
    expect(causeFields(refused)).toEqual(['data', 'revision']);
  });
});
