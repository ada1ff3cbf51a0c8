/**
 * The controller manager's part for StatefulSets, Deployments and ReplicaSets: starts their controllers on
 * shared informers and tells each what concerns it.
 *
 * They are plain clients of the API. Do not run them beside a kube-controller-manager, which does the same.
 */
import type { KubeObject, KubeResource } from '../../../src/base/kube-port.ts';
import { isDeleting, keyOf, type PodObject, replicaSets, splitKey, type WorkloadObject } from '../objects.ts';
import type { DevPart, DevParts } from '../parts.ts';
import { deployments, pods as podResource, statefulSets } from '../resources.ts';
import { reconcileDeployment } from './deployments.ts';
import { type Change, type Informer, startInformer } from './informer.ts';
import { createReconciler, type Reconciler } from './reconciler.ts';
import { reconcileReplicaSet } from './replicasets.ts';
import { reconcileStatefulSet } from './statefulsets.ts';
import { deleteThis, isOrphan, type WorkloadInformers, type WorkloadParts } from './workload-parts.ts';

export interface Workloads extends DevPart {
  readonly started: Promise<void>;
}

type Reconcile = (parts: WorkloadParts, key: string, signal: AbortSignal) => Promise<void>;

export function startWorkloads(options: DevParts): Workloads {
  const queue = (name: string, reconcile: Reconcile) =>
    createReconciler({
      ...options,
      name,
      reconcile: async (key, signal) => {
        await synced;
        await reconcile({ ...options, informers }, key, signal);
      },
    });
  const queues = {
    StatefulSet: queue('statefulset', reconcileStatefulSet),
    ReplicaSet: queue('replicaset', reconcileReplicaSet),
    Deployment: queue('deployment', reconcileDeployment),
  };
  const orphans = queue('orphan', removeOrphan);
  const wakeOwner = (object: KubeObject) => {
    const owner = object.metadata.ownerReferences?.find((reference) => reference.controller === true);
    const wanted = Object.entries(queues).find(([kind]) => kind === owner?.kind)?.[1];
    const namespace = object.metadata.namespace ?? '';
    wanted?.enqueue(`${namespace}/${String(owner?.name)}`);
  };
  const watchChildren =
    (resource: KubeResource, own?: Reconciler) =>
    ({ type, object }: Change<KubeObject>) => {
      own?.enqueue(keyOf(object));
      wakeOwner(object);
      if (type === 'set') orphans.enqueue(`${resource.plural}:${keyOf(object)}`);
    };
  const watchOwners =
    (own: Reconciler) =>
    ({ type, object }: Change<KubeObject>) => {
      own.enqueue(keyOf(object));
      if (type === 'gone') for (const key of childKeys(informers)) orphans.enqueue(key);
    };
  const start = <T extends KubeObject>(resource: KubeResource, onChange: (change: Change<T>) => void) =>
    startInformer<T>({ ...options, resource, onChange });

  const informers: WorkloadInformers = {
    pods: start<PodObject>(podResource, watchChildren(podResource)),
    statefulSets: start<WorkloadObject>(statefulSets, watchOwners(queues.StatefulSet)),
    deployments: start<WorkloadObject>(deployments, watchOwners(queues.Deployment)),
    replicaSets: start<WorkloadObject>(replicaSets, (change) => {
      watchChildren(replicaSets, queues.ReplicaSet)(change);
      if (change.type === 'gone') for (const key of childKeys(informers)) orphans.enqueue(key);
    }),
  };
  const all: Array<Informer<KubeObject>> = Object.values(informers);
  const synced = Promise.all(all.map((informer) => informer.synced)).then(() => undefined);

  return {
    started: synced,
    async stop() {
      await Promise.all(all.map((informer) => informer.stop()));
      await Promise.all([...Object.values(queues), orphans].map((each) => each.stop()));
    },
  };
}

function childKeys(informers: WorkloadInformers): string[] {
  return [
    ...informers.pods.all().map((pod) => `${podResource.plural}:${keyOf(pod)}`),
    ...informers.replicaSets.all().map((set) => `${replicaSets.plural}:${keyOf(set)}`),
  ];
}

/** The garbage collector's part for the children of these workloads. */
async function removeOrphan(parts: WorkloadParts, orphanKey: string, signal: AbortSignal): Promise<void> {
  const [plural = '', key = ''] = orphanKey.split(':');
  const { informers } = parts;
  const [resource, child] =
    plural === replicaSets.plural
      ? [replicaSets, informers.replicaSets.get(key)]
      : [podResource, informers.pods.get(key)];
  if (child === undefined || isDeleting(child)) return;
  const isLost =
    (await isOrphan(parts, child, informers.statefulSets, statefulSets, signal)) ||
    (await isOrphan(parts, child, informers.replicaSets, replicaSets, signal)) ||
    (await isOrphan(parts, child, informers.deployments, deployments, signal));
  if (!isLost) return;
  parts.log.debug({ [resource.kind.toLowerCase()]: splitKey(key).name }, 'owner is gone; deleted');
  await deleteThis(parts, resource, child, signal);
}
