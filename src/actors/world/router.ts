/**
 * The router: turns a change of the world into events for exactly the actors that it concerns. What it says
 * to whom is the joins' (join.ts); an actor may hear of several, each by an event of its own. Whoever could
 * not be told, since a mirror had not listed everything yet, is told when it has.
 */
import type { Affected, Join, Observation } from './join.ts';
import type { World } from './world.ts';

export interface Router {
  /** Ids of the actors that the world calls for; one may be named more than once. */
  members(): Iterable<string>;
  /** What an actor has to be told now; nothing for what no join can speak of yet. */
  observe(kind: string, namespace: string, name: string): readonly Observation[];
  /** Whether the world can say already that it does not call for the actor. */
  isTold(kind: string, namespace: string, name: string): boolean;
  /** Calls back with the ids that a change concerns. */
  onAffected(callback: (ids: Affected) => void): void;
}

export function createRouter(world: Pick<World, 'onChange' | 'onStatement'>, joins: readonly Join[]): Router {
  const joinsOf = new Map<string, Join[]>();
  for (const join of joins) {
    for (const kind of join.kinds) joinsOf.set(kind, [...(joinsOf.get(kind) ?? []), join]);
  }
  /** Actors that asked and could not be told everything. */
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
    *members() {
      for (const join of joins) yield* join.members();
    },
    observe: (kind, namespace, name) =>
      (joinsOf.get(kind) ?? []).flatMap((join) => ask(join, kind, namespace, name)),
    isTold: (kind, namespace, name) =>
      (joinsOf.get(kind) ?? []).every((join) => join.observe(kind, namespace, name) !== null),
    onAffected(callback) {
      affectedListener = callback;
    },
  };
}
