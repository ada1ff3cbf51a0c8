/**
 * Numbers of a Deployment's templates: which ReplicaSet is the newest, for `kubectl rollout history` and
 * `undo`.
 *
 * Promises: the current ReplicaSet has the highest number, even when an old template comes back; the
 * Deployment carries the same number. They are annotations, as in Kubernetes' own controller.
 */
import type { KubeResource } from '../../../src/base/kube-port.ts';
import { replicaSets as replicaSetResource, type WorkloadObject } from '../objects.ts';
import { deployments as deploymentResource } from '../resources.ts';
import type { Informer } from './informer.ts';
import type { WorkloadParts } from './workload-parts.ts';

export const revisionAnnotation = 'deployment.kubernetes.io/revision';

export function revisionOf(object: WorkloadObject): number {
  return Number(object.metadata.annotations?.[revisionAnnotation] ?? 0);
}

export async function numberRevisions(
  parts: WorkloadParts,
  deployment: WorkloadObject,
  current: WorkloadObject,
  old: readonly WorkloadObject[],
  signal: AbortSignal,
): Promise<void> {
  const newest = Math.max(0, ...old.map(revisionOf));
  const revision = revisionOf(current) > newest ? revisionOf(current) : newest + 1;
  await note(parts, replicaSetResource, parts.informers.replicaSets, current, revision, signal);
  await note(parts, deploymentResource, parts.informers.deployments, deployment, revision, signal);
}

async function note(
  parts: WorkloadParts,
  resource: KubeResource,
  informer: Informer<WorkloadObject>,
  object: WorkloadObject,
  revision: number,
  signal: AbortSignal,
): Promise<void> {
  if (revisionOf(object) === revision) return;
  const { name, namespace = '', uid } = object.metadata;
  const body = { metadata: { uid, annotations: { [revisionAnnotation]: String(revision) } } };
  informer.put(await parts.kube.patch(resource, { namespace, name, type: 'merge', body }, signal));
}
