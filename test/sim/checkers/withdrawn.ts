/**
 * "No order of events leaves a True condition beside an unproven Pod for longer" than 31 s, where the gate
 * withdraws (docs/features/routes.md §6.5).
 *
 * Judged by what the actor itself knows to be owed, and by the condition in the API server; each route counts
 * separately. While there are faults a replica may be away for any time, so the 31 s count from the last of
 * them.
 */

import type { CheckerKind } from '../../../packages/testing/checkers/checker.ts';
import type { ActorRecord } from '../../../src/actors/host/records.ts';
import { type PodContext, unproven } from '../../../src/machines/pod/pod-context.ts';
import { conditionType, namespace } from '../objects.ts';
import type { RoutesScene } from '../routes-scene.ts';
import { neverForLong } from './never-for-long.ts';

export const withdrawn: CheckerKind<RoutesScene> = {
  name: 'no True condition beside an unproven Pod',
  create: neverForLong(31_000, trueAndUnproven),
};

/** Pods that are True although they know that they are not proven, in words. */
export function trueAndUnproven(
  { kube }: Pick<RoutesScene, 'kube'>,
  records: ReadonlyMap<string, ActorRecord>,
): string[] {
  return kube.entries('pods').flatMap(({ name, digest }) => {
    const record = records.get(`pod/${namespace}/${name}`);
    if (digest.conditions[conditionType] !== 'True' || digest.deleting || !record || record.gone) return [];
    const context = record.snapshot.context as PodContext;
    if (context.facts?.uid !== digest.uid || context.facts.gate.whenRouteIsLost !== 'withdraw') return [];
    const owed = unproven(context);
    return owed.map((service) => `${name} (${digest.uid}) is True beside ${service}`);
  });
}
