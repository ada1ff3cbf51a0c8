/**
 * The router: turns a change of the world into events for exactly the actors that it concerns. What it says to whom is the joins'
 * (join.ts); an actor may hear of several, each by an event of its own.
 */
import type { Affected, Join, Observation } from './join.ts';
import type { World } from './world.ts';

export interface Router {
  /** Ids of the actors that the world calls for; one may be named more than once. */
  members(): Iterable<string>;
  /** What an actor has to be told now; nothing for what no join can speak of yet. */
  observe(kind: string, namespace: string, name: string): readonly Observation[];
  /** Calls back with the ids that a change concerns. */
  onAffected(callback: (ids: Affected) => void): void;
}

export function createRouter(world: Pick<World, 'onChange'>, joins: readonly Join[]): Router {
  const joinsOf = new Map<string, Join[]>();
  for (const join of joins) {
    for (const kind of join.kinds) joinsOf.set(kind, [...(joinsOf.get(kind) ?? []), join]);
  }
  let affectedListener: (ids: Affected) => void = () => {};

  world.onChange((entry, before) => {
    const affected: Affected = new Set();
    for (const join of joins) for (const id of join.fold(entry, before)) affected.add(id);
    if (affected.size > 0) affectedListener(affected);
  });

  return {
    *members() {
      for (const join of joins) yield* join.members();
    },
    observe: (kind, namespace, name) =>
      (joinsOf.get(kind) ?? []).flatMap((join) => join.observe(kind, namespace, name) ?? []),
    onAffected(callback) {
      affectedListener = callback;
    },
  };
}
