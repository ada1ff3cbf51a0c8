/**
 * Makes the fixed part of a digest from an object; each feature adds what it keeps (I10).
 *
 * Promise: fields of a wrong type count as absent, so one broken object hurts no other (I8).
 */
import type { DigestBase } from '../../base/digests.ts';
import { OrreryError } from '../../base/errors.ts';
import type { KubeObject } from '../../base/kube-port.ts';
import { textMap } from '../api/fields.ts';

/** @throws OrreryError INVARIANT if the object has no uid or no resourceVersion */
export function digestBase(object: KubeObject): DigestBase {
  const { uid, resourceVersion, creationTimestamp, deletionTimestamp, labels } = object.metadata;
  if (!uid || !resourceVersion) {
    throw new OrreryError('INVARIANT', 'an object of the Kubernetes API has a uid and a resourceVersion', {
      facts: { name: object.metadata.name, namespace: object.metadata.namespace },
    });
  }
  const createdAt = Date.parse(creationTimestamp ?? '');
  return {
    uid,
    resourceVersion,
    createdAt: Number.isNaN(createdAt) ? 0 : createdAt,
    deleting: Boolean(deletionTimestamp),
    labels: textMap(labels),
  };
}

/** Of an object of one of our own resources; 0 if it has none. */
export function generationOf({ metadata: { generation } }: KubeObject): number {
  return typeof generation === 'number' ? generation : 0;
}
