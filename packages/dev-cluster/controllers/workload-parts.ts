/**
 * What the workload controllers share: their informers, writes that show in them at once, and the removal of
 * children whose owner is gone (nobody else does that without a controller manager).
 */
import { hasCode } from '../../../src/base/errors.ts';
import type { KubeObject, KubeResource } from '../../../src/base/kube-port.ts';
import { controllerUid, isDeleting, keyOf, type PodObject, type WorkloadObject } from '../objects.ts';
import type { DevParts } from '../parts.ts';
import { pods } from '../resources.ts';
import type { Informer } from './informer.ts';

export interface WorkloadInformers {
  readonly pods: Informer<PodObject>;
  readonly statefulSets: Informer<WorkloadObject>;
  readonly replicaSets: Informer<WorkloadObject>;
  readonly deployments: Informer<WorkloadObject>;
}

export interface WorkloadParts extends DevParts {
  readonly informers: WorkloadInformers;
}

export async function createPod(parts: WorkloadParts, pod: PodObject, signal: AbortSignal): Promise<void> {
  parts.informers.pods.put(await parts.kube.create(pods, pod, signal));
}

/** Deletes this very object; it is fine if it is already gone. */
export async function deleteThis(
  parts: DevParts,
  resource: KubeResource,
  object: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  if (isDeleting(object)) return;
  const { name, namespace, uid } = object.metadata;
  try {
    await parts.kube.delete(resource, namespace, name, uid === undefined ? {} : { uid }, signal);
  } catch (thrown) {
    if (!hasCode(thrown, 'KUBE_NOT_FOUND')) throw thrown;
  }
}

/**
 * Writes the status if it changes. An object that is deleted meanwhile needs none: what becomes of it is
 * observed.
 */
export async function writeStatus(
  parts: DevParts,
  resource: KubeResource,
  informer: Informer<WorkloadObject>,
  object: WorkloadObject,
  status: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<void> {
  const held = object.status ?? {};
  const isCurrent = Object.entries(status).every(
    ([field, value]) => JSON.stringify(held[field]) === JSON.stringify(value),
  );
  if (isCurrent) return;
  const { name, namespace = '', uid } = object.metadata;
  const body = { metadata: { uid }, status };
  const patch = { namespace, name, subresource: 'status', type: 'merge', body } as const;
  try {
    informer.put(await parts.kube.patch(resource, patch, signal));
  } catch (thrown) {
    if (!hasCode(thrown, 'KUBE_NOT_FOUND')) throw thrown;
  }
}

/**
 * Whether the object's controller (of that kind) is gone. The informer may be behind, so the API server has
 * the last word.
 */
export async function isOrphan(
  parts: DevParts,
  child: KubeObject,
  owners: Informer<WorkloadObject>,
  resource: KubeResource,
  signal: AbortSignal,
): Promise<boolean> {
  const uid = controllerUid(child, resource.kind);
  const reference = child.metadata.ownerReferences?.find((candidate) => candidate.uid === uid);
  if (uid === undefined || reference === undefined) return false;
  const namespace = child.metadata.namespace ?? '';
  const held = owners.get(keyOf({ metadata: { namespace, name: String(reference.name) } }));
  if (held?.metadata.uid === uid) return false;
  try {
    const found = await parts.kube.get(resource, namespace, String(reference.name), signal);
    return found.metadata.uid !== uid;
  } catch (thrown) {
    if (hasCode(thrown, 'KUBE_NOT_FOUND')) return true;
    throw thrown;
  }
}
