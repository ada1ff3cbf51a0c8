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
import { createSince } from './since.ts';

const limitMs = 31_000;

export const watchedByAll: CheckerKind<RoutesScene> = {
  name: 'each Service that has proven a Pod watches it',
  create(eye) {
    const records = new Map<string, ActorRecord>();
    const since = createSince(eye.now);
    let isCalm = false;
    return (sighting) => {
      if (sighting.kind === 'lost' && sighting.stream === 'state') records.clear();
      if (sighting.kind === 'saved') records.set(sighting.id, sighting.record);
      if (sighting.kind === 'calm') isCalm = true;
      if (sighting.kind !== 'second' || !isCalm) return;
      for (const [one, from] of since(unwatched(eye.world, records)))
        if (eye.now() - from > limitMs) eye.breach(`${one} since ${limitMs / 1000} s`);
    };
  },
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
