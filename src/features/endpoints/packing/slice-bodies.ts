/**
 * Converts planned writes to request bodies: a new slice, or the patch of an existing one. Pure.
 */

import type { Labels } from '../../../base/digests.ts';
import { kubeNanoTime } from '../../../base/kube-time.ts';
import { triggerTimeAnnotation } from '../slice-labels.ts';
import type { PlannedWrite } from './order.ts';
import { ownerReferences, type SliceFrame } from './slices.ts';

export type Create = Extract<PlannedWrite, { operation: 'create' }>;
export type Update = Extract<PlannedWrite, { operation: 'update' }>;

/**
 * A new slice. It has the name that the API server would make from `generateName`, but one that follows from
 * `suffix`: who makes it again after a crash finds it there.
 *
 * @param triggeredAt ms since the epoch; null: not known
 */
export function newSlice(
  frame: SliceFrame,
  { addressType, ports, endpoints }: Create,
  { namespace, suffix, triggeredAt }: { namespace: string; suffix: string; triggeredAt: number | null },
) {
  const generateName = `orrery-${frame.owner.name}-`;
  return {
    metadata: {
      name: `${generateName}${suffix}`,
      generateName,
      namespace,
      labels: frame.labels,
      ownerReferences: ownerReferences(frame),
      ...(triggeredAt === null
        ? {}
        : { annotations: { [triggerTimeAnnotation]: kubeNanoTime(triggeredAt) } }),
    },
    addressType,
    ports,
    endpoints,
  };
}

/**
 * What makes the standing slice, in exactly that version, say what it must: a JSON merge patch. Annotations
 * and finalizers of others stay.
 */
export function slicePatch(
  frame: SliceFrame,
  { slice, ports, endpoints }: Update,
  triggeredAt: number | null,
) {
  return {
    metadata: {
      uid: slice.uid,
      resourceVersion: slice.resourceVersion,
      labels: { ...absentLabels(slice.labels, frame.labels), ...frame.labels },
      ownerReferences: ownerReferences(frame),
      annotations: { [triggerTimeAnnotation]: triggeredAt === null ? null : kubeNanoTime(triggeredAt) },
    },
    ports,
    endpoints,
  };
}

/** In a merge patch null removes. */
function absentLabels(before: Labels, after: Labels): Record<string, null> {
  const gone = Object.keys(before).filter((key) => !(key in after));
  return Object.fromEntries(gone.map((key) => [key, null]));
}
