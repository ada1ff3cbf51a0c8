/**
 * Deployments: one ReplicaSet for each template, and a rolling update between them.
 *
 * The arithmetic of Kubernetes' own controller: never more Pods than replicas + maxSurge, never fewer
 * available ones than replicas − maxUnavailable; unhealthy old Pods go first. `Recreate` empties the old
 * ReplicaSets first. Absent: progress deadlines, proportional scaling in the middle of a rollout.
 */
import { hasCode } from '../../../src/base/errors.ts';
import {
  isDeleting,
  type PodObject,
  replicaSets as replicaSetResource,
  type WorkloadObject,
} from '../objects.ts';
import { deployments as resource } from '../resources.ts';
import { deploymentConditions } from './deployment-conditions.ts';
import { numberRevisions, revisionAnnotation, revisionOf } from './deployment-revisions.ts';
import { childMeta, childrenOf, templateHash } from './pod-template.ts';
import { deleteThis, type WorkloadParts, writeStatus } from './workload-parts.ts';

export async function reconcileDeployment(
  parts: WorkloadParts,
  key: string,
  signal: AbortSignal,
): Promise<void> {
  const deployment = parts.informers.deployments.get(key);
  if (deployment === undefined || isDeleting(deployment)) return;
  const hash = templateHash(deployment.spec?.template);
  const owned = childrenOf(deployment, 'Deployment', parts.informers.replicaSets.all());
  const current =
    owned.find((set) => hashOf(set) === hash) ??
    (await createReplicaSet(parts, deployment, owned, hash, signal));
  const old = owned.filter((set) => hashOf(set) !== hash && !isDeleting(set));
  await numberRevisions(parts, deployment, current, old, signal);
  if (deployment.spec?.paused !== true) {
    const scales = planRollout(deployment, current, old, podsOf(parts, old));
    for (const [set, replicas] of scales) await scale(parts, set, replicas, signal);
    await prune(parts, deployment, old, signal);
  }
  const status = deploymentStatus(deployment, current, old, parts.clock.now());
  await writeStatus(parts, resource, parts.informers.deployments, deployment, status, signal);
}

/** The next sizes of ReplicaSets, only those that change. Pure. */
export function planRollout(
  deployment: WorkloadObject,
  current: WorkloadObject,
  old: readonly WorkloadObject[],
  oldPods: readonly PodObject[],
): Array<[WorkloadObject, number]> {
  const replicas = deployment.spec?.replicas ?? 1;
  const sizes = new Map([current, ...old].map((set) => [set, sizeOf(set)]));
  const total = () => [...sizes.values()].reduce((sum, size) => sum + size, 0);
  if (deployment.spec?.strategy?.type === 'Recreate') {
    for (const set of old) sizes.set(set, 0);
    if (oldPods.length === 0) sizes.set(current, replicas);
    return changed(sizes);
  }
  const { surge, unavailable } = roomOf(deployment, replicas);
  if (sizeOf(current) > replicas) sizes.set(current, replicas);
  const room = Math.min(replicas + surge - total(), replicas - sizeOf(current));
  if (room > 0) sizes.set(current, sizeOf(current) + room);

  const pendingNew = Math.max(0, (sizes.get(current) ?? 0) - available(current));
  let removable = total() - (replicas - unavailable) - pendingNew;
  for (const set of old) {
    const ill = Math.max(0, Math.min(sizeOf(set) - available(set), removable));
    sizes.set(set, sizeOf(set) - ill);
    removable -= ill;
  }
  let spare = [current, ...old].reduce((sum, set) => sum + available(set), 0) - (replicas - unavailable);
  for (const set of old) {
    const healthy = Math.max(0, Math.min(sizes.get(set) ?? 0, spare));
    sizes.set(set, (sizes.get(set) ?? 0) - healthy);
    spare -= healthy;
  }
  return changed(sizes);
}

function changed(sizes: ReadonlyMap<WorkloadObject, number>): Array<[WorkloadObject, number]> {
  return [...sizes].filter(([set, size]) => size !== sizeOf(set));
}

/** Percentages rounded as in Kubernetes: surge up, unavailable down, and never both zero. */
function roomOf(deployment: WorkloadObject, replicas: number): { surge: number; unavailable: number } {
  const rolling = deployment.spec?.strategy?.rollingUpdate;
  const share = (value: number | string, round: (n: number) => number) =>
    typeof value === 'number' ? value : round((Number.parseFloat(value) / 100) * replicas);
  const surge = share(rolling?.maxSurge ?? '25%', Math.ceil);
  const unavailable = share(rolling?.maxUnavailable ?? '25%', Math.floor);
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

async function createReplicaSet(
  parts: WorkloadParts,
  deployment: WorkloadObject,
  owned: readonly WorkloadObject[],
  hash: string,
  signal: AbortSignal,
): Promise<WorkloadObject> {
  const label = { 'pod-template-hash': hash };
  const template = deployment.spec?.template ?? {};
  const labels = { ...template.metadata?.labels, ...label };
  const revision = String(1 + Math.max(0, ...owned.map(revisionOf)));
  const name = `${deployment.metadata.name}-${hash}`;
  const set: WorkloadObject = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      ...childMeta({ owner: deployment, ownerKind: 'Deployment', name, labels }),
      labels,
      annotations: { [revisionAnnotation]: revision },
    },
    spec: {
      replicas: 0,
      selector: {
        ...deployment.spec?.selector,
        matchLabels: { ...deployment.spec?.selector?.matchLabels, ...label },
      },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
  const { replicaSets } = parts.informers;
  try {
    replicaSets.put(await parts.kube.create(replicaSetResource, set, signal));
  } catch (thrown) {
    if (!hasCode(thrown, 'KUBE_CONFLICT')) throw thrown;
    const { namespace, name: setName } = set.metadata;
    replicaSets.put(await parts.kube.get(replicaSetResource, namespace, setName, signal));
  }
  return replicaSets.get(`${deployment.metadata.namespace}/${name}`) ?? set;
}

async function scale(
  parts: WorkloadParts,
  set: WorkloadObject,
  replicas: number,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace = '', uid } = set.metadata;
  const body = { metadata: { uid }, spec: { replicas } };
  parts.informers.replicaSets.put(
    await parts.kube.patch(replicaSetResource, { namespace, name, type: 'merge', body }, signal),
  );
}

/** Old, empty ReplicaSets are kept for a rollback, up to a bound. */
async function prune(
  parts: WorkloadParts,
  deployment: WorkloadObject,
  old: readonly WorkloadObject[],
  signal: AbortSignal,
): Promise<void> {
  const empty = old.filter((set) => sizeOf(set) === 0 && Number(set.status?.replicas ?? 0) === 0);
  const kept = deployment.spec?.revisionHistoryLimit ?? 10;
  const oldestFirst = empty.toSorted((a, b) => revisionOf(a) - revisionOf(b));
  for (const set of oldestFirst.slice(0, Math.max(0, empty.length - kept)))
    await deleteThis(parts, replicaSetResource, set, signal);
}

function deploymentStatus(
  deployment: WorkloadObject,
  current: WorkloadObject,
  old: readonly WorkloadObject[],
  nowMs: number,
) {
  const sum = (field: string) =>
    [current, ...old].reduce((total, set) => total + Number(set.status?.[field] ?? 0), 0);
  const replicas = deployment.spec?.replicas ?? 1;
  const ready = sum('readyReplicas');
  const updated = Number(current.status?.replicas ?? 0);
  const facts = {
    replicas,
    available: ready,
    updated,
    total: sum('replicas'),
    unavailableMax: roomOf(deployment, replicas).unavailable,
    current: current.metadata.name,
  };
  return {
    observedGeneration: deployment.metadata.generation ?? 0,
    replicas: sum('replicas'),
    updatedReplicas: updated,
    readyReplicas: ready,
    availableReplicas: ready,
    unavailableReplicas: Math.max(0, replicas - ready),
    conditions: deploymentConditions(deployment, facts, nowMs),
  };
}

function podsOf(parts: WorkloadParts, sets: readonly WorkloadObject[]): PodObject[] {
  const pods = parts.informers.pods.all();
  return sets.flatMap((set) => childrenOf(set, 'ReplicaSet', pods));
}

function hashOf(set: WorkloadObject): string | undefined {
  return set.metadata.labels?.['pod-template-hash'];
}

function sizeOf(set: WorkloadObject): number {
  return set.spec?.replicas ?? 1;
}

function available(set: WorkloadObject): number {
  return Math.min(sizeOf(set), Number(set.status?.availableReplicas ?? 0));
}
