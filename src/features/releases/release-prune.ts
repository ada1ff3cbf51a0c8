/**
 * Deletes what an older bundle made and the present one no longer has.
 *
 * Promises: only objects with the label are looked at, only of the kinds that are named; one is deleted on condition that it is still
 * that very object as it was seen.
 */

import { hasCode } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { KubeObject, KubePort, KubeResource } from '../../kube/api/port.ts';
import { builtinLabel } from './bundle.ts';
import { preconditions } from './release-apply.ts';

export const builtinSelector = `${builtinLabel}=true`;

/** @param isWanted whether the bundle has the object @param onError told of each that could not be deleted */
export async function pruneKind(
  kube: KubePort,
  resource: KubeResource,
  isWanted: (object: KubeObject) => boolean,
  onError: (object: KubeObject, error: unknown) => void,
  signal: AbortSignal,
): Promise<number> {
  let pruned = 0;
  for (const object of await listAll(kube, resource, signal)) {
    const { name, namespace, uid, resourceVersion, deletionTimestamp } = object.metadata;
    if (isWanted(object) || deletionTimestamp !== undefined) continue;
    try {
      await kube.delete(resource, namespace, name, preconditions({ uid, resourceVersion }), signal);
      pruned++;
    } catch (thrown) {
      if (!hasCode(thrown, 'KUBE_NOT_FOUND')) onError(object, thrown);
    }
  }
  return pruned;
}

async function listAll(kube: KubePort, resource: KubeResource, signal: AbortSignal): Promise<KubeObject[]> {
  const objects: KubeObject[] = [];
  for (let page = ''; ; ) {
    const answer = await kube.list(
      resource,
      {
        labelSelector: builtinSelector,
        limit: limits.kubePageObjects,
        ...(page === '' ? {} : { continue: page }),
      },
      signal,
    );
    objects.push(...answer.items);
    page = answer.continue;
    if (page === '') return objects;
  }
}
