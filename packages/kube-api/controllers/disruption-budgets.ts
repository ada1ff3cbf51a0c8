/**
 * Keeps the numbers of PodDisruptionBudgets: how many Pods there should be, how many are healthy, and how
 * many may be evicted.
 *
 * Promises: a Pod whose eviction was allowed counts as gone, for at most two minutes. A budget allows nothing
 * if the owners of its Pods are unknown. Source: the disruption controller of Kubernetes 1.36. Owners that
 * count: ReplicaSets, Deployments, StatefulSets, and custom resources with a scale.
 */
import type { Timer } from '../../../src/base/clock.ts';
import { kubeTime } from '../../../src/base/kube-time.ts';
import { at, type Json, type JsonObject, objectAt, objectsAt, textAt } from '../json.ts';
import { pathOf } from '../resources/resource.ts';
import type { Change } from '../storage/version.ts';
import type { StoredObject } from '../stored-object.ts';
import type { Cluster } from '../verb-parts.ts';
import { budgetSelects, budgetStorage, isReady } from '../verbs/evict.ts';
import { save } from '../writing/replace.ts';
import { WorkQueue } from './work-queue.ts';

/** How long an allowed eviction counts although its Pod is still there. */
const evictionMs = 120_000;

export class DisruptionBudgets {
  readonly #cluster: Cluster;
  readonly #queue: WorkQueue;
  readonly #timers = new Map<string, Timer>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#queue = new WorkQueue('disruption budgets', cluster.log, (key) => this.#count(key));
  }

  note({ storage, namespace, name, current, previous }: Change): void {
    if (storage === budgetStorage && current !== null) this.#queue.add(`${namespace}/${name}`);
    const isPod = storage === 'pods';
    // A changed scale changes the number of Pods that there should be.
    if (!isPod && this.#cluster.registry.findStorage(storage)?.scale == null) return;
    for (const { object } of this.#cluster.store.collection(budgetStorage).list(namespace)) {
      const seen = [current, previous].some(
        (version) => version !== null && budgetSelects(object, version.object.metadata.labels ?? {}),
      );
      if (!isPod || seen) this.#queue.add(`${namespace}/${object.metadata.name}`);
    }
  }

  stop(): void {
    this.#queue.stop();
    for (const timer of this.#timers.values()) timer.cancel();
  }

  #count(key: string): void {
    const [namespace = '', name = ''] = key.split('/');
    const { store, registry, clock } = this.#cluster;
    const budget = store.collection(budgetStorage).get({ namespace, name });
    const resource = registry.findStorage(budgetStorage);
    this.#timers.get(key)?.cancel();
    this.#timers.delete(key);
    if (budget === undefined || resource === undefined) return;
    const pods = store
      .collection('pods')
      .list(namespace)
      .map(({ object }) => object)
      .filter(({ metadata }) => budgetSelects(budget.object, metadata.labels ?? {}));
    const disrupted = stillDisrupted(budget.object, pods, clock.now());
    const status = statusOf(this.#cluster, budget.object, pods, disrupted);
    save(this.#cluster, resource, budget, { ...budget.object, status }, false);
    const ends = Object.values(disrupted).map((since) => Date.parse(String(since)) + evictionMs);
    if (ends.length === 0) return;
    const waitMs = Math.max(1_000, Math.min(...ends) - clock.now());
    this.#timers.set(
      key,
      clock.after(waitMs, () => this.#queue.add(key)),
    );
  }
}

/** Pods whose eviction was allowed and that still exist. */
function stillDisrupted(budget: StoredObject, pods: readonly StoredObject[], now: number): JsonObject {
  const there = new Set(pods.filter(isStaying).map(({ metadata }) => metadata.name));
  const noted = Object.entries(objectAt(budget, 'status', 'disruptedPods') ?? {});
  return Object.fromEntries(
    noted.filter(([pod, since]) => there.has(pod) && Date.parse(String(since)) + evictionMs > now),
  );
}

const isStaying = ({ metadata }: StoredObject) => metadata.deletionTimestamp === undefined;

function statusOf(
  cluster: Cluster,
  budget: StoredObject,
  pods: readonly StoredObject[],
  disruptedPods: JsonObject,
): JsonObject {
  const healthy = pods.filter(
    (pod) => isStaying(pod) && !Object.hasOwn(disruptedPods, pod.metadata.name) && isReady(pod),
  ).length;
  const counted = expectation(cluster, objectAt(budget, 'spec') ?? {}, pods);
  const { expected, desired } = counted ?? { expected: 0, desired: 0 };
  const allowed = expected <= 0 ? 0 : Math.max(0, healthy - desired);
  const reason = allowed > 0 ? 'SufficientPods' : 'InsufficientPods';
  const { disruptedPods: _, ...before } = objectAt(budget, 'status') ?? {};
  return {
    ...before,
    ...(Object.keys(disruptedPods).length === 0 ? {} : { disruptedPods }),
    conditions: [conditionOf(cluster, budget, allowed > 0, counted === null ? 'SyncFailed' : reason)],
    ...(counted === null ? {} : { currentHealthy: healthy, desiredHealthy: desired, expectedPods: expected }),
    disruptionsAllowed: allowed,
    observedGeneration: budget.metadata.generation ?? 0,
  };
}

/** null: the number that there should be is unknown. */
function expectation(
  cluster: Cluster,
  spec: JsonObject,
  pods: readonly StoredObject[],
): { readonly expected: number; readonly desired: number } | null {
  const { minAvailable, maxUnavailable } = spec;
  const bound = maxUnavailable ?? minAvailable;
  if (bound === undefined) return { expected: 0, desired: 0 };
  if (maxUnavailable === undefined && typeof bound === 'number')
    return { expected: pods.length, desired: bound };
  const expected = expectedScale(cluster, pods);
  if (expected === null) return null;
  const part = partOf(bound, expected);
  return { expected, desired: maxUnavailable === undefined ? part : Math.max(0, expected - part) };
}

function partOf(bound: Json, whole: number): number {
  if (typeof bound === 'number') return bound;
  return Math.ceil((Number.parseInt(String(bound), 10) * whole) / 100);
}

/** The sum of what the Pods' owners request; Pods without an owner do not count. */
function expectedScale(cluster: Cluster, pods: readonly StoredObject[]): number | null {
  const scales = new Map<string, number>();
  for (const pod of pods) {
    const owner = controllerOf(pod);
    if (owner === undefined) continue;
    const scale = scaleOf(cluster, pod.metadata.namespace ?? '', owner);
    if (scale === null) return null;
    scales.set(scale.uid, scale.replicas);
  }
  return [...scales.values()].reduce((sum, replicas) => sum + replicas, 0);
}

function controllerOf(object: StoredObject): JsonObject | undefined {
  return objectsAt(object, 'metadata', 'ownerReferences').find(({ controller }) => controller === true);
}

/** A ReplicaSet of a Deployment requests what the Deployment requests. */
function scaleOf(
  cluster: Cluster,
  namespace: string,
  reference: JsonObject,
): { readonly uid: string; readonly replicas: number } | null {
  const [version = '', group = ''] = textAt(reference, 'apiVersion').split('/').reverse();
  const resource = cluster.registry
    .all()
    .find((one) => one.group === group && one.version === version && one.kind === reference.kind);
  if (resource?.scale == null) return null;
  const name = textAt(reference, 'name');
  const found = cluster.store.collection(resource.storage).get({ namespace, name })?.object;
  if (found === undefined || found.metadata.uid !== reference.uid) return null;
  const owner = controllerOf(found);
  const above = owner === undefined ? null : scaleOf(cluster, namespace, owner);
  if (above !== null) return above;
  const replicas = at(found, ...pathOf(resource.scale.spec));
  return { uid: found.metadata.uid, replicas: typeof replicas === 'number' ? replicas : 0 };
}

function conditionOf(cluster: Cluster, budget: StoredObject, isAllowed: boolean, reason: string): JsonObject {
  const status = isAllowed ? 'True' : 'False';
  const before = objectsAt(budget, 'status', 'conditions').find(({ type }) => type === 'DisruptionAllowed');
  const isSame = before?.status === status;
  const since = textAt(before, 'lastTransitionTime');
  return {
    type: 'DisruptionAllowed',
    status,
    observedGeneration: budget.metadata.generation ?? 0,
    lastTransitionTime: isSame && since !== '' ? since : kubeTime(cluster.clock.now()),
    reason,
    message: '',
  };
}
