/**
 * ReplicaSets: the requested number of Pods of one template.
 *
 * Surplus Pods are chosen as in Kubernetes: those not scheduled or not ready first, then the youngest.
 */

import {
  hasEnded,
  isDeleting,
  isTrue,
  type PodObject,
  replicaSets as resource,
  type WorkloadObject,
} from '../objects.ts';
import { pods as podResource } from '../resources.ts';
import { childrenOf, podFromTemplate } from './pod-template.ts';
import { createPod, deleteThis, type WorkloadParts, writeStatus } from './workload-parts.ts';

export async function reconcileReplicaSet(
  parts: WorkloadParts,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  const set = parts.informers.replicaSets.get(key);
  if (set === undefined || isDeleting(set)) return;
  const owned = childrenOf(set, 'ReplicaSet', parts.informers.pods.all());
  const living = owned.filter((pod) => !isDeleting(pod) && !hasEnded(pod));
  const wanted = set.spec?.replicas ?? 1;
  for (let count = living.length; count < wanted; count += 1) {
    const name = `${set.metadata.name}-${suffix(parts)}`;
    const pod = podFromTemplate({ owner: set, ownerKind: 'ReplicaSet', name, labels: {} });
    await createPod(parts, pod, signal);
  }
  const surplus = living.toSorted(byExpendability).slice(0, Math.max(0, living.length - wanted));
  const ended = owned.filter((pod) => hasEnded(pod));
  for (const pod of [...surplus, ...ended]) await deleteThis(parts, podResource, pod, signal);
  const ready = living.filter((pod) => isTrue(pod, 'Ready')).length;
  const status = {
    observedGeneration: set.metadata.generation ?? 0,
    replicas: living.length,
    fullyLabeledReplicas: living.length,
    readyReplicas: ready,
    availableReplicas: ready,
  };
  await writeStatus(parts, resource, parts.informers.replicaSets, set, status, signal);
}

function byExpendability(a: PodObject, b: PodObject): number {
  const rank = (pod: PodObject) =>
    ((pod.spec?.nodeName ?? '') === '' ? 0 : 4) +
    (pod.status?.phase === 'Running' ? 2 : 0) +
    (isTrue(pod, 'Ready') ? 1 : 0);
  const younger = createdAt(b).localeCompare(createdAt(a));
  return rank(a) - rank(b) || younger || a.metadata.name.localeCompare(b.metadata.name);
}

function createdAt(pod: WorkloadObject | PodObject): string {
  return pod.metadata.creationTimestamp ?? '';
}

/** Five characters that cannot spell anything: the alphabet of Kubernetes' generated names. */
function suffix(parts: WorkloadParts): string {
  const alphabet = 'bcdfghjklmnpqrstvwxz2456789';
  return Array.from({ length: 5 }, () => alphabet[Math.floor(parts.random.next() * alphabet.length)]).join(
    '',
  );
}
