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
 * A new slice. Its name looks as if the API server had made it from `generateName`, but it follows from
 * `suffix`: a second attempt after a crash finds the slice under it.
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
 * A JSON merge patch that gives the present slice, in exactly that version, its new content. Annotations and
 * finalizers of others stay.
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

/** The labels to remove: null does that in a merge patch. */
function absentLabels(before: Labels, after: Labels): Record<string, null> {
  const gone = Object.keys(before).filter((key) => !(key in after));
  return Object.fromEntries(gone.map((key) => [key, null]));
}
