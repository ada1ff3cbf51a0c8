/**
 * A join: what a part of the world says to the actors of some kinds. Each concern (routes, endpoints,
 * certificates, …) has one; the router puts them together.
 *
 * Promises of each: what it keeps is an index over the world picture and nothing more, so that every replica
 * has the same; it speaks only when its part of the picture is complete, since a thing that is merely not
 * listed yet must not look like one that does not exist.
 */
import type { AnyDigest, WorldEntry } from '../../base/digests.ts';

/** What the world says to one actor. */
export interface Observation {
  /** The event that says it; each join has event types of its own. */
  readonly type: string;
  /** null: nothing in this part of the world calls for the actor (any more). */
  readonly facts: object | null;
  /** There is more to say once every mirror that it takes has stated that it has listed everything. */
  readonly isPartial?: true;
}

/** Ids of actors that have to look again, as `pod/<ns>/<name>`. */
export type Affected = Set<string>;

export interface Join {
  /** The kinds of actors that it speaks to. */
  readonly kinds: readonly string[];
  /** Takes a change of the world. @returns the actors that it concerns */
  fold(entry: WorldEntry, before: AnyDigest | null): Iterable<string>;
  /** Ids of the actors that this part of the world calls for. */
  members(): Iterable<string>;
  /**
   * What an actor has to be told now; null: nothing can be said, since some mirror has not stated that all of
   * its objects stand in the picture (`world.statement`). Whoever was told nothing, or a part, is told again
   * when one does.
   */
  observe(kind: string, namespace: string, name: string): Observation | null;
}
