/**
 * The router: turns a change of the world into events for exactly the actors concerned. The joins decide what
 * each is told (join.ts); an actor may be told by several joins, with an event from each. An actor that could
 * not be told, because a mirror had not listed everything, is told once it has.
 */
import type { ActorName } from '../../base/ids.ts';
import type { Affected, Join, Observation } from './join.ts';
import type { World } from './world.ts';

export type Router = ReturnType<typeof createRouter>;

export function createRouter(world: Pick<World, 'onChange' | 'onStatement'>, joins: readonly Join[]) {
  const joinsOf = new Map<string, Join[]>();
  for (const join of joins) {
    for (const kind of join.kinds) joinsOf.set(kind, [...(joinsOf.get(kind) ?? []), join]);
  }
  /** Actors that were told nothing, or not everything. */
  const untold: Affected = new Set();
  let affectedListener: (ids: Affected) => void = () => {};

  world.onChange((entry, before) => {
    const affected: Affected = new Set();
    for (const join of joins) for (const id of join.fold(entry, before)) affected.add(id);
    if (affected.size > 0) affectedListener(affected);
  });

  world.onStatement(() => {
    if (untold.size === 0) return;
    const waiting = new Set(untold);
    untold.clear();
    affectedListener(waiting);
  });
  const ask = (join: Join, kind: string, namespace: string, name: string): readonly Observation[] => {
    const observation = join.observe(kind, namespace, name);
    if (observation === null || observation.isPartial) untold.add(`${kind}/${namespace}/${name}`);
    return observation === null ? [] : [observation];
  };

  return {
    /** Ids of the actors for which the world has something; may contain duplicates. */
    *members(): Iterable<string> {
      for (const join of joins) yield* join.members();
    },
    /** What the actor has to be told now; empty while no join can say anything. */
    observe: (kind: string, namespace: string, name: string): readonly Observation[] =>
      (joinsOf.get(kind) ?? []).flatMap((join) => ask(join, kind, namespace, name)),
    /** Whether the world can already say that it has nothing for the actor. */
    isTold: (kind: string, namespace: string, name: string): boolean =>
      (joinsOf.get(kind) ?? []).every((join) => join.observe(kind, namespace, name) !== null),
    /** Calls back with the ids of the actors that a change concerns. */
    onAffected(callback: (ids: Affected) => void): void {
      affectedListener = callback;
    },
  };
}

/** Whether the world has the object after which an actor is named, as some join of these runs says. */
export const isInWorldOf =
  (runs: () => ReadonlyArray<{ readonly joins?: readonly Join[] }>) =>
  ({ kind, namespace, name }: ActorName): boolean =>
    runs().some(({ joins = [] }) => joins.some((join) => join.isInWorld?.(kind, namespace, name)));
