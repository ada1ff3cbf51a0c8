/**
 * A join: what one part of the world tells the actors of some kinds. Each concern (routes, endpoints,
 * certificates, …) has one; the router combines them.
 *
 * Promises of each join: it keeps nothing but an index over the world picture, so it is the same on every
 * replica; it reports nothing until its part of the picture is complete, because a thing that is not listed
 * yet must not look like one that does not exist.
 */
import type { AnyDigest, WorldEntry } from '../../base/digests.ts';
import type { PlainEvent } from '../../base/plain-event.ts';

/**
 * What the world tells one actor: the event that carries it. Each join has its own event types, with fields
 * of their own beside the facts.
 */
export interface Observation extends PlainEvent {
  /** null: this part of the world has nothing (any more) for the actor. */
  readonly facts: object | null;
  /** More follows once every mirror that it needs has stated that it has listed everything. */
  readonly isPartial?: true;
}

/** Ids of actors to be told again, as `pod/<ns>/<name>`. */
export type Affected = Set<string>;

export interface Join {
  readonly kinds: readonly string[];
  /** Processes a change of the world. @returns the actors concerned */
  fold(entry: WorldEntry, before: AnyDigest | null): Iterable<string>;
  /**
   * Whether the world has the object after which the actor is named. Absent: no actor is named after one.
   */
  isInWorld?(kind: string, namespace: string, name: string): boolean;
  /** Ids of the actors for which this part of the world has something. */
  members(): Iterable<string>;
  /**
   * What the actor has to be told now; null: unknown, because some mirror has not stated that all of its
   * objects are in the picture (`world.statement`). An actor that was told nothing, or only a part, is told
   * again after that statement.
   */
  observe(kind: string, namespace: string, name: string): Observation | null;
}
