/** StatefulSets and Deployments against an API server, with real backends. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startInformer } from '../../packages/dev-cluster/controllers/informer.ts';
import { controllerRevisions } from '../../packages/dev-cluster/controllers/statefulset-revisions.ts';
import {
  isHealthy,
  type PodObject,
  replicaSets,
  type WorkloadObject,
} from '../../packages/dev-cluster/objects.ts';
import { deployments, pods, statefulSets } from '../../packages/dev-cluster/resources.ts';
import type { KubeResource } from '../../src/base/kube-port.ts';
import { until } from '../until.ts';
import { container, type DevBench, gate, startBench } from './dev-parts.ts';

let bench: DevBench;
beforeEach(async () => {
  bench = await startBench();
  await bench.startControllers();
});
afterEach(() => bench.stop());

const template = (extra: object = {}) => ({
  metadata: { labels: { app: 'web' }, annotations: { 'dev.orrery.dev/drain': '50ms' } },
  spec: { containers: [container], ...extra },
});
const create = (resource: KubeResource, spec: object) =>
  bench.kube.create(
    resource,
    {
      metadata: { name: 'web', namespace: bench.namespace },
      spec: { selector: { matchLabels: { app: 'web' } }, template: template(), ...spec },
    },
    bench.signal,
  );
const patch = (resource: KubeResource, spec: object) =>
  bench.kube.patch(
    resource,
    { namespace: bench.namespace, name: 'web', type: 'merge', body: { spec } },
    bench.signal,
  );
const changeTemplate = (resource: KubeResource) =>
  patch(resource, { template: { metadata: { annotations: { version: '2' } } } });
const status = async (resource: KubeResource): Promise<Readonly<Record<string, unknown>>> => {
  const object: WorkloadObject = await bench.kube.get(resource, bench.namespace, 'web', bench.signal);
  const isSeen = object.status?.observedGeneration === object.metadata.generation;
  return isSeen ? (object.status ?? {}) : {};
};
const counts = (resource: KubeResource, wanted: Readonly<Record<string, number>>) =>
  until(
    async () => {
      const held = await status(resource);
      return Object.entries(wanted).every(([field, count]) => Number(held[field] ?? 0) === count);
    },
    { what: `${resource.kind} ${JSON.stringify(wanted)}` },
  );
const names = async () => (await bench.pods()).map((pod) => pod.metadata.name).sort();

/**
 * Follows the Pods and remembers the smallest and largest number of healthy ones, and in which order they
 * were deleted.
 */
function watchPods() {
  const seen = {
    fewest: Number.POSITIVE_INFINITY,
    most: 0,
    deleted: [] as string[],
    created: [] as string[],
  };
  const informer = bench.keep(
    startInformer<PodObject>({
      ...bench.parts,
      resource: pods,
      onChange(change) {
        const { name } = change.object.metadata;
        if (change.type === 'gone') seen.deleted.push(name);
        else if (change.previous === undefined) seen.created.push(name);
        // `onChange` may run before the informer is assigned.
        const all = informers[0]?.all() ?? [];
        if (!isWatching) return;
        seen.fewest = Math.min(seen.fewest, all.filter(isHealthy).length);
        seen.most = Math.max(seen.most, all.length);
      },
    }),
  );
  let isWatching = false;
  const informers = [informer];
  return {
    seen,
    async begin() {
      await informer.synced;
      seen.deleted.length = 0;
      seen.created.length = 0;
      isWatching = true;
    },
  };
}

describe('a StatefulSet', () => {
  test('makes its Pods in order, each after the one before is Ready', async () => {
    await bench.startKubelet();
    const gated = template({ readinessGates: [{ conditionType: gate }] });
    await create(statefulSets, { replicas: 3, serviceName: 'web', template: gated });
    for (const [index, expected] of [['web-0'], ['web-0', 'web-1'], ['web-0', 'web-1', 'web-2']].entries()) {
      await until(async () => (await names()).length === index + 1, { what: `${index + 1} Pods` });
      expect(await names()).toEqual(expected);
      await until(async () => (await bench.pod(`web-${index}`))?.status?.podIP !== undefined, {
        what: 'an address',
      });
      await bench.openGate(`web-${index}`);
    }
    await counts(statefulSets, { readyReplicas: 3, updatedReplicas: 3 });
  });

  test('names its Pods in their labels and owns them', async () => {
    await bench.startKubelet();
    const set = await create(statefulSets, { replicas: 1, serviceName: 'web' });
    await counts(statefulSets, { readyReplicas: 1 });
    const pod = await bench.pod('web-0');
    expect(pod?.metadata.labels).toMatchObject({ app: 'web', 'statefulset.kubernetes.io/pod-name': 'web-0' });
    expect(pod?.metadata.ownerReferences).toMatchObject([
      { kind: 'StatefulSet', uid: set.metadata.uid, controller: true },
    ]);
  });

  test('replaces its Pods one by one from the highest ordinal, never with two missing', async () => {
    await bench.startKubelet();
    await create(statefulSets, { replicas: 3, serviceName: 'web' });
    await counts(statefulSets, { readyReplicas: 3 });
    const watch = watchPods();
    await watch.begin();
    await changeTemplate(statefulSets);
    await counts(statefulSets, { updatedReplicas: 3, readyReplicas: 3 });
    expect(watch.seen.deleted).toEqual(['web-2', 'web-1', 'web-0']);
    expect(watch.seen.created).toEqual(['web-2', 'web-1', 'web-0']);
    expect(watch.seen.fewest).toBe(2);
  });

  test('leaves ordinals below the partition as they are', async () => {
    await bench.startKubelet();
    await create(statefulSets, { replicas: 3, serviceName: 'web' });
    await counts(statefulSets, { readyReplicas: 3 });
    await patch(statefulSets, {
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } },
      template: { metadata: { annotations: { version: '2' } } },
    });
    await counts(statefulSets, { updatedReplicas: 1, readyReplicas: 3 });
    const updated = (await bench.pods()).filter((pod) => pod.metadata.annotations?.version === '2');
    expect(updated.map((pod) => pod.metadata.name)).toEqual(['web-2']);
  });

  test('keeps its templates as numbered revisions, and one that comes back is the newest again', async () => {
    const revisions = async () => {
      const { items } = await bench.kube.list(
        controllerRevisions,
        { namespace: bench.namespace },
        bench.signal,
      );
      return items.map((item) => (item as { revision?: number }).revision).sort();
    };
    await create(statefulSets, { replicas: 0 });
    await until(async () => `${await revisions()}` === '1', { what: 'the first revision' });
    await changeTemplate(statefulSets);
    await until(async () => `${await revisions()}` === '1,2', { what: 'the second revision' });
    await patch(statefulSets, { template: { metadata: { annotations: { version: null } } } });
    await until(async () => `${await revisions()}` === '2,3', { what: 'the first template as the third' });
    await patch(statefulSets, {
      revisionHistoryLimit: 0,
      template: { metadata: { annotations: { version: '4' } } },
    });
    await until(async () => `${await revisions()}` === '4', { what: 'only the last one' });
  });

  test('is scaled down from the highest ordinal, and takes its Pods with it when it is deleted', async () => {
    await bench.startKubelet();
    await create(statefulSets, { replicas: 3, serviceName: 'web' });
    await counts(statefulSets, { readyReplicas: 3 });
    await patch(statefulSets, { replicas: 1 });
    await until(async () => (await names()).join() === 'web-0', { what: 'one Pod' });
    await bench.kube.delete(statefulSets, bench.namespace, 'web', {}, bench.signal);
    await until(async () => (await names()).length === 0, { what: 'no Pod' });
  });
});

describe('a Deployment', () => {
  test('keeps to maxSurge and maxUnavailable while it rolls, and empties the old ReplicaSet', async () => {
    await bench.startKubelet();
    const rollingUpdate = { maxSurge: 1, maxUnavailable: 1 };
    await create(deployments, { replicas: 4, strategy: { type: 'RollingUpdate', rollingUpdate } });
    await counts(deployments, { readyReplicas: 4, updatedReplicas: 4 });
    const watch = watchPods();
    await watch.begin();
    await changeTemplate(deployments);
    await counts(deployments, { readyReplicas: 4, updatedReplicas: 4, replicas: 4 });
    await until(async () => (await names()).length === 4, { what: 'the old Pods are gone' });
    expect(watch.seen.fewest).toBeGreaterThanOrEqual(3);
    const sets = (await bench.kube.list(replicaSets, { namespace: bench.namespace }, bench.signal)).items;
    const sizes = sets.map((set: WorkloadObject) => set.spec?.replicas).sort();
    expect(sizes).toEqual([0, 4]);
    const revisions = sets
      .map((set) => set.metadata.annotations?.['deployment.kubernetes.io/revision'])
      .sort();
    expect(revisions).toEqual(['1', '2']);
  });

  test('labels ReplicaSet and Pods with the hash of the template, and goes back to a ReplicaSet that fits', async () => {
    await bench.startKubelet();
    await create(deployments, { replicas: 1 });
    await counts(deployments, { readyReplicas: 1 });
    const hash = (await bench.pods())[0]?.metadata.labels?.['pod-template-hash'];
    expect(hash).toMatch(/^[0-9a-f]{10}$/);
    await changeTemplate(deployments);
    await counts(deployments, { readyReplicas: 1, updatedReplicas: 1, replicas: 1 });
    await patch(deployments, { template: { metadata: { annotations: { version: null } } } });
    await counts(deployments, { readyReplicas: 1, updatedReplicas: 1, replicas: 1 });
    const sets = (await bench.kube.list(replicaSets, { namespace: bench.namespace }, bench.signal)).items;
    expect(sets).toHaveLength(2);
    await until(
      async () => (await bench.pods()).every((pod) => pod.metadata.labels?.['pod-template-hash'] === hash),
      {
        what: 'Pods of the first template alone',
      },
    );
  });

  test('numbers its templates, and one that comes back is the newest again', async () => {
    const annotation = 'deployment.kubernetes.io/revision';
    const revisions = async () => {
      const held = await bench.kube.get(deployments, bench.namespace, 'web', bench.signal);
      const { items } = await bench.kube.list(replicaSets, { namespace: bench.namespace }, bench.signal);
      const ofSets = items.map((set) => set.metadata.annotations?.[annotation]).sort();
      return [held.metadata.annotations?.[annotation], ...ofSets].join(' ');
    };
    await create(deployments, { replicas: 1 });
    await until(async () => (await revisions()) === '1 1', { what: 'the first revision' });
    await changeTemplate(deployments);
    await until(async () => (await revisions()) === '2 1 2', { what: 'the second revision' });
    await patch(deployments, { template: { metadata: { annotations: { version: null } } } });
    await until(async () => (await revisions()) === '3 2 3', {
      what: 'the first template as the third revision',
    });
  });

  test('is Available and has progressed when its Pods are ready, and says so once', async () => {
    await bench.startKubelet();
    await create(deployments, { replicas: 2 });
    const conditions = async () => {
      const held = ((await status(deployments)).conditions ?? []) as ReadonlyArray<Record<string, string>>;
      return held.map(({ type, status: word, reason }) => `${type}=${word} ${reason}`);
    };
    const wanted = ['Available=True MinimumReplicasAvailable', 'Progressing=True NewReplicaSetAvailable'];
    await until(async () => `${await conditions()}` === `${wanted}`, { what: 'both conditions' });
    const before = await bench.kube.get(deployments, bench.namespace, 'web', bench.signal);
    await patch(deployments, { revisionHistoryLimit: 9 });
    await counts(deployments, { observedGeneration: (before.metadata.generation ?? 0) + 1 });
    expect((await status(deployments)).conditions).toEqual((before as WorkloadObject).status?.conditions);
  });

  test('takes its ReplicaSets and Pods with it when it is deleted', async () => {
    await bench.startKubelet();
    await create(deployments, { replicas: 2 });
    await counts(deployments, { readyReplicas: 2 });
    await bench.kube.delete(deployments, bench.namespace, 'web', {}, bench.signal);
    await until(async () => (await names()).length === 0, { what: 'no Pod' });
    await until(
      async () =>
        (await bench.kube.list(replicaSets, { namespace: bench.namespace }, bench.signal)).items.length === 0,
      { what: 'no ReplicaSet' },
    );
  });
});
