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
 * A JSON patch that gives the present slice, in exactly that version, its new content. Annotations and
 * finalizers of others stay. It costs the API server a third less than a merge patch of 100 endpoints, which
 * is compared member by member.
 */
export function slicePatch(
  frame: SliceFrame,
  { slice, ports, endpoints }: Update,
  triggeredAt: number | null,
) {
  const { uid, resourceVersion, annotations } = slice;
  const members = {
    'metadata/uid': uid,
    'metadata/resourceVersion': resourceVersion,
    'metadata/labels': frame.labels,
    'metadata/ownerReferences': ownerReferences(frame),
    ...(annotations && { 'metadata/annotations': annotationsAfter(annotations, triggeredAt) }),
    ports,
    endpoints,
  };
  // `add` replaces what is there.
  return Object.entries(members).map(([path, value]) => ({ op: 'add', path: `/${path}`, value }));
}

function annotationsAfter(before: Labels, triggeredAt: number | null): Labels {
  const { [triggerTimeAnnotation]: _, ...others } = before;
  return triggeredAt === null ? others : { ...others, [triggerTimeAnnotation]: kubeNanoTime(triggeredAt) };
}
