/**
 * Deletes objects of an older bundle that the present one no longer contains.
 *
 * Promises: only objects that have this bundle's own label from our own apply are deleted, of the named kinds
 * only, and on condition that they are unchanged since they were read. Anybody may copy an object with its
 * labels, or write the label on his own.
 */

import { hasCode } from '../../base/errors.ts';
import type { KubeObject, KubePort, KubeResource } from '../../base/kube-port.ts';
import { limits } from '../../base/limits.ts';
import { record } from '../../kube/api/fields.ts';
import { preconditions } from '../../kube/effects/object-edit.ts';
import { type Bundle, bundleLabel } from './bundle.ts';
import { fieldManager } from './release-apply.ts';

export const selectorOf = ({ id }: Pick<Bundle, 'id'>): string => `${bundleLabel}=${id}`;

/** Whether it was we who gave the object its label: `managedFields` says so. */
export function isAppliedByUs({ metadata }: KubeObject): boolean {
  return (metadata.managedFields ?? []).some(({ manager, operation, fieldsV1 }) => {
    if (manager !== fieldManager || operation !== 'Apply') return false;
    return `f:${bundleLabel}` in record(record(record(fieldsV1)['f:metadata'])['f:labels']);
  });
}

export interface PruneParts {
  readonly kube: KubePort;
  readonly bundle: Bundle;
  /** Whether the bundle has the object. */
  readonly isWanted: (object: KubeObject) => boolean;
  /** Whether the time is over: nothing more is deleted. */
  readonly isOver: () => boolean;
  readonly onPruned: (object: KubeObject) => void;
  /** Called for each object with our label that we did not apply: it stays. */
  readonly onLeft: (object: KubeObject) => void;
  /** Called for each object that could not be deleted. */
  readonly onError: (object: KubeObject, error: unknown) => void;
}

/**
 * @returns false: the time was over before all were deleted
 * @throws OrreryError if the objects cannot be listed
 */
export async function pruneKind(
  { kube, bundle, isWanted, isOver, onPruned, onLeft, onError }: PruneParts,
  resource: KubeResource,
  signal: AbortSignal,
): Promise<boolean> {
  for (const object of await listAll(kube, resource, selectorOf(bundle), signal)) {
    const { name, namespace, deletionTimestamp } = object.metadata;
    if (isWanted(object) || deletionTimestamp !== undefined) continue;
    if (!isAppliedByUs(object)) {
      onLeft(object);
      continue;
    }
    if (isOver()) return false;
    try {
      await kube.delete(resource, namespace, name, preconditions(object.metadata), signal);
      onPruned(object);
    } catch (thrown) {
      if (!hasCode(thrown, 'KUBE_NOT_FOUND')) onError(object, thrown);
    }
  }
  return true;
}

async function listAll(
  kube: KubePort,
  resource: KubeResource,
  labelSelector: string,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const objects: KubeObject[] = [];
  for (let page = ''; ; ) {
    const answer = await kube.list(
      resource,
      {
        labelSelector,
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
