/**
 * Where the gate withdraws, each Service that has proven a Pod watches it, or the Pod knows that it may not:
 * otherwise nobody would ever say that the route is lost (docs/features/routes.md §6.7).
 *
 * Judged by the records of both. A word of either may be under way, and while there are faults for any time.
 */

import type { CheckerKind } from '../../../packages/testing/checkers/checker.ts';
import type { ActorRecord } from '../../../src/actors/host/records.ts';
import type { PodContext } from '../../../src/machines/pod/pod-context.ts';
import { isWatched } from '../../../src/machines/pod/pod-watches.ts';
import type { ServiceContext } from '../../../src/machines/service/service-context.ts';
import { conditionType, namespace } from '../objects.ts';
import type { RoutesScene } from '../routes-scene.ts';
import { neverForLong } from './never-for-long.ts';

export const watchedByAll: CheckerKind<RoutesScene> = {
  name: 'each Service that has proven a Pod watches it',
  create: neverForLong(31_000, unwatched),
};

function unwatched({ kube }: Pick<RoutesScene, 'kube'>, records: ReadonlyMap<string, ActorRecord>): string[] {
  return kube.entries('pods').flatMap(({ name, digest }) => {
    const record = records.get(`pod/${namespace}/${name}`);
    if (digest.conditions[conditionType] !== 'True' || digest.deleting || !record || record.gone) return [];
    const context = record.snapshot.context as PodContext;
    const { facts, proofs, watches = {} } = context;
    if (facts?.uid !== digest.uid || !isWatched(context)) return [];
    return Object.keys(proofs).flatMap((service) => {
      const isProven = facts.services[service] === proofs[service];
      const isKnown = typeof watches[service] === 'number';
      if (!isProven || isKnown || isWatchedBy(records.get(`service/${namespace}/${service}`), digest.uid))
        return [];
      return [`${name} (${digest.uid}) is True, and ${service}, which has proven it, does not watch it`];
    });
  });
}

function isWatchedBy(record: ActorRecord | undefined, uid: string): boolean {
  if (record === undefined || record.gone) return false;
  const { watched } = record.snapshot.context as ServiceContext;
  return watched.some((one) => one.uid === uid);
}
