/** Services that wait for the Pods that wait for them: docs/features/routes.md §7.4. Pure. */
import { selects } from '../../base/digests.ts';
import type { Deadlock, Hindrance } from '../../machines/pod/pod-facts.ts';
import type { PodDigest, ServiceDigest } from './digests.ts';

/** What keeps the Service from leading to one Pod of its group. @param groupSize as below */
export function hindrancesOf(
  service: ServiceDigest,
  pod: PodDigest,
  groupSize: number,
): readonly Hindrance[] {
  const { selector, readyOnly } = service.routing ?? {};
  const matchLabels = selector ?? readyOnly;
  const isSelected = matchLabels === undefined || selects({ matchLabels }, pod.labels);
  return [
    ...(isSelected ? [] : (['unselected'] as const)),
    ...deadlocksOf(service, [pod], groupSize),
    // No deadlock of the gate: where all nodes are in one zone, this holds up nobody.
    ...(service.routing?.near ? (['near'] as const) : []),
  ];
}

/**
 * @param pods of the Service's group, all or one of them
 * @param groupSize number of the group's Pods
 */
export function deadlocksOf(
  { routing }: ServiceDigest,
  pods: Iterable<PodDigest>,
  groupSize: number,
): readonly Deadlock[] {
  if (routing === undefined) return [];
  const { readyOnly } = routing;
  const found: Deadlock[] = [];
  // Most Services publish all of their Pods; thousands of Pods are not looked at for those.
  if (readyOnly !== undefined && [...pods].some(({ labels }) => selects({ matchLabels: readyOnly }, labels)))
    found.push('notPublished');
  if (routing.affine && groupSize > 1) found.push('affine');
  if (routing.local) found.push('local');
  return found;
}
