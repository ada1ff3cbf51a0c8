/**
 * StatefulSets: Pods with ordinals, created one by one and replaced one by one, from the highest ordinal.
 *
 * The rules of Kubernetes' own controller: OrderedReady waits for each Pod before the next; a rolling update
 * deletes the highest outdated Pod and continues when its successor is Ready; ordinals below `partition` stay
 * as they are. Absent: Pods of an old template (a lost one below the partition comes back with the new
 * template), volume claims (an emptyDir stands in).
 */
import { hasCode } from '../../../src/base/errors.ts';
import { hasEnded, isDeleting, isHealthy, isTrue, type PodObject, type WorkloadObject } from '../objects.ts';
import { pods as podResource, statefulSets as resource } from '../resources.ts';
import { childrenOf, podFromTemplate, templateHash } from './pod-template.ts';
import { keepRevision } from './statefulset-revisions.ts';
import { createPod, deleteThis, type WorkloadParts, writeStatus } from './workload-parts.ts';

interface Plan {
  readonly create: readonly number[];
  readonly remove: readonly PodObject[];
}

export async function reconcileStatefulSet(
  parts: WorkloadParts,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  const set = parts.informers.statefulSets.get(key);
  if (set === undefined || isDeleting(set)) return;
  const revision = `${set.metadata.name}-${templateHash(set.spec?.template)}`;
  await keepRevision(parts, set, revision, signal);
  const owned = childrenOf(set, 'StatefulSet', parts.informers.pods.all());
  const { create, remove } = planStatefulSet(set, owned, revision);
  for (const pod of remove) await deleteThis(parts, podResource, pod, signal);
  for (const ordinal of create) await createOrdinal(parts, set, ordinal, revision, signal);
  await writeStatus(
    parts,
    resource,
    parts.informers.statefulSets,
    set,
    statefulSetStatus(set, owned, revision),
    signal,
  );
}

/** What to do next: at most one step at a time unless the set is `Parallel`. Pure. */
export function planStatefulSet(set: WorkloadObject, owned: readonly PodObject[], revision: string): Plan {
  const replicas = set.spec?.replicas ?? 1;
  const isParallel = set.spec?.podManagementPolicy === 'Parallel';
  const byOrdinal = new Map(owned.map((pod) => [ordinalOf(pod), pod]));
  const wanted = Array.from({ length: replicas }, (_, ordinal) => ordinal);

  const ended = owned.filter((pod) => hasEnded(pod) && !isDeleting(pod));
  if (ended.length > 0) return { create: [], remove: ended };
  const missing = wanted.filter((ordinal) => !byOrdinal.has(ordinal));
  const surplus = owned
    .filter((pod) => ordinalOf(pod) >= replicas)
    .sort((a, b) => ordinalOf(b) - ordinalOf(a));
  if (isParallel && (missing.length > 0 || surplus.length > 0)) return { create: missing, remove: surplus };

  const blocking = wanted.find((ordinal) => !isHealthy(byOrdinal.get(ordinal) ?? { metadata: { name: '' } }));
  if (blocking !== undefined && !isParallel) {
    const held = byOrdinal.get(blocking);
    if (held === undefined) return { create: [blocking], remove: [] };
    // A Pod of an old template that never becomes ready would block its own repair forever.
    const isStuck = !isDeleting(held) && revisionOf(held) !== revision && isUpdated(set, blocking);
    return { create: [], remove: isStuck ? [held] : [] };
  }
  const last = surplus[0];
  if (last !== undefined) return { create: [], remove: [last] };
  return { create: [], remove: nextOutdated(set, wanted, byOrdinal, revision) };
}

function nextOutdated(
  set: WorkloadObject,
  wanted: readonly number[],
  byOrdinal: ReadonlyMap<number, PodObject>,
  revision: string,
): PodObject[] {
  for (const ordinal of wanted.toReversed()) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined || !isUpdated(set, ordinal)) continue;
    if (revisionOf(pod) !== revision) return [pod];
    if (!isHealthy(pod)) return [];
  }
  return [];
}

/** Whether the rolling update concerns this ordinal. */
function isUpdated(set: WorkloadObject, ordinal: number): boolean {
  const strategy = set.spec?.updateStrategy;
  return strategy?.type !== 'OnDelete' && ordinal >= (strategy?.rollingUpdate?.partition ?? 0);
}

async function createOrdinal(
  parts: WorkloadParts,
  set: WorkloadObject,
  ordinal: number,
  revision: string,
  signal: AbortSignal,
): Promise<void> {
  const name = `${set.metadata.name}-${ordinal}`;
  const labels = {
    'statefulset.kubernetes.io/pod-name': name,
    'apps.kubernetes.io/pod-index': String(ordinal),
    'controller-revision-hash': revision,
  };
  const claims = set.spec?.volumeClaimTemplates ?? [];
  const volumes = [
    ...(set.spec?.template?.spec?.volumes ?? []),
    ...claims.map((claim) => ({ name: claim.metadata?.name ?? 'data', emptyDir: {} })),
  ];
  const extra = {
    hostname: name,
    ...(set.spec?.serviceName === undefined ? {} : { subdomain: set.spec.serviceName }),
    ...(volumes.length === 0 ? {} : { volumes }),
  };
  const pod = podFromTemplate({ owner: set, ownerKind: 'StatefulSet', name, labels }, extra);
  try {
    await createPod(parts, pod, signal);
  } catch (thrown) {
    // The predecessor is not gone yet, or our informer is behind: the next change will tell.
    if (!hasCode(thrown, 'KUBE_CONFLICT')) throw thrown;
  }
}

function statefulSetStatus(set: WorkloadObject, owned: readonly PodObject[], revision: string) {
  const updated = owned.filter((pod) => revisionOf(pod) === revision && !isDeleting(pod));
  const ready = owned.filter((pod) => isTrue(pod, 'Ready'));
  const isDone = updated.length === (set.spec?.replicas ?? 1) && updated.every(isHealthy);
  const previous = typeof set.status?.currentRevision === 'string' ? set.status.currentRevision : '';
  const current = isDone || previous === '' ? revision : previous;
  return {
    observedGeneration: set.metadata.generation ?? 0,
    replicas: owned.length,
    readyReplicas: ready.length,
    availableReplicas: ready.length,
    updatedReplicas: updated.length,
    currentReplicas: owned.filter((pod) => revisionOf(pod) === current && !isDeleting(pod)).length,
    currentRevision: current,
    updateRevision: revision,
    collisionCount: 0,
  };
}

export function ordinalOf(pod: PodObject): number {
  return Number(pod.metadata.name.slice(pod.metadata.name.lastIndexOf('-') + 1));
}

function revisionOf(pod: PodObject): string | undefined {
  return pod.metadata.labels?.['controller-revision-hash'];
}
