/** Checkers of what the actors' records show in calm: it may be so for a while, and not for longer. */
import type { CheckerKind } from '../../../packages/testing/checkers/checker.ts';
import type { ActorRecord } from '../../../src/actors/host/records.ts';
import type { RoutesScene } from '../routes-scene.ts';
import { createSince } from './since.ts';

/** @param find what is wrong now, in words */
export function neverForLong(
  limitMs: number,
  find: (world: RoutesScene, records: ReadonlyMap<string, ActorRecord>) => string[],
): CheckerKind<RoutesScene>['create'] {
  return (eye) => {
    const records = new Map<string, ActorRecord>();
    const since = createSince(eye.now);
    let isCalm = false;
    return (sighting) => {
      if (sighting.kind === 'lost' && sighting.stream === 'state') records.clear();
      if (sighting.kind === 'saved') records.set(sighting.id, sighting.record);
      if (sighting.kind === 'calm') isCalm = true;
      if (sighting.kind !== 'second' || !isCalm) return;
      for (const [one, from] of since(find(eye.world, records)))
        if (eye.now() - from > limitMs) eye.breach(`${one} since ${limitMs / 1000} s`);
    };
  };
}
