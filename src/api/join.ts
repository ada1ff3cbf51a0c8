/**
 * What the world tells the actors of a feature: each object of a watch has an actor, which is told about that
 * object and about related objects of other watches.
 *
 * Promises: an actor is told once everything that its facts depend on was listed, so an object that isn't
 * known yet never looks like one that does not exist. An exception in `facts` or `to` is logged and leaves
 * only its own actor untold (I8). A call that was interrupted is repeated, and while relations are missing
 * for that reason the actors wait for a moment. The cost depends on the related objects, not on the size of
 * the world.
 */

import { isInterrupted } from '../actors/time/care.ts';
import type { Affected, Join, Observation } from '../actors/world/join.ts';
import type { World } from '../actors/world/world.ts';
import type { Clock } from '../base/clock.ts';
import type { WorldEntry } from '../base/digests.ts';
import { asError, OrreryError } from '../base/errors.ts';
import { actorId } from '../base/ids.ts';
import type { Log } from '../base/log-port.ts';
import { createInterruptedCalls } from './interrupted-calls.ts';
import { type Watch, type Watched, watchedOf, worldName } from './watch.ts';

/** The object of an actor. */
export interface ObjectName {
  /** Absent or empty: a cluster-scoped object. */
  readonly namespace?: string;
  readonly name: string;
}

/** Objects of another watch, each with the joined objects to which it is related. */
export interface Relation<D = unknown> {
  readonly of: Watch<D>;
  to(object: Watched<D>): Iterable<ObjectName>;
}

/** @param to the joined objects to which an object is related: for a Pod, its Node. Pure */
export function related<D>(of: Watch<D>, to: (object: Watched<D>) => Iterable<ObjectName>): Relation<D> {
  return { of, to };
}

export type Relations = Readonly<Record<string, Relation>>;

/** By name of the relation: the actor's related objects, by namespace and name. */
export type RelatedOf<R extends Relations> = {
  readonly [K in keyof R]: R[K] extends Relation<infer D> ? ReadonlyArray<Watched<D>> : never;
};

export interface JoinOf<F extends object = object> {
  readonly each: Watch;
  readonly relations: Relations;
  facts(
    object: Watched<unknown>,
    related: Readonly<Record<string, ReadonlyArray<Watched<unknown>>>>,
  ): F | null;
}

/** The observation of a chart of kind `K`: its facts; null: the world has nothing for the actor any more. */
export type Observed<K extends string, J extends JoinOf> = {
  readonly type: `${K}.observed`;
  readonly facts: J extends JoinOf<infer F> ? F | null : never;
};

/**
 * One actor for each object of `each` whose `facts` are not null; its id is `<kind>/<namespace or _>/<name>`.
 * The chart receives `<kind>.observed` with the facts whenever something that they depend on has changed, and
 * with `facts: null` once the object is gone or not wanted.
 *
 * @param options.facts plain data. Pure
 * @throws OrreryError USAGE if malformed
 */
export function join<D, F extends object, const R extends Relations = Record<never, never>>(
  each: Watch<D>,
  options: {
    readonly with?: R;
    readonly facts: (object: Watched<D>, related: RelatedOf<R>) => F | null;
  },
): JoinOf<F> {
  if (typeof each?.keep !== 'function')
    throw new OrreryError('USAGE', 'join(…): its first argument is not a watch(…)');
  if (typeof options?.facts !== 'function')
    throw new OrreryError('USAGE', `join(…) of ${each.resource.kind}: facts is not a function`);
  return {
    each: each as Watch,
    relations: options.with ?? {},
    facts: (object, found) => options.facts(object as Watched<D>, found as RelatedOf<R>),
  };
}

export const watchesIn = ({ each, relations }: JoinOf): readonly Watch[] => [
  ...new Set([each, ...Object.values(relations).map(({ of }) => of)]),
];

export interface JoinParts {
  readonly feature: string;
  readonly kind: string;
  readonly world: Pick<World, 'get' | 'entries' | 'statement'>;
  readonly log: Log;
  readonly clock: Clock;
  /** Tells these actors what the world says of them now. */
  readonly tellAgain: (ids: Iterable<string>) => void;
}

/** The join in one replica: an index over the world picture, and nothing more. */
export function runJoin(spec: JoinOf, { feature, kind, world, log, clock, tellAgain }: JoinParts): Join {
  const resource = worldName(feature, spec.each);
  const mirrors = watchesIn(spec).map((watch) => worldName(feature, watch));
  const complain = (what: string, thrown: unknown) =>
    log.error({ feature, kind, what, error: asError(thrown).message }, 'a join of a feature failed');
  const indexParts = { clock, complain, onComplete: () => tellAgain(members()) };
  const indexes = Object.entries(spec.relations).map(
    ([name, relation]) => [name, createIndex(worldName(feature, relation.of), relation, indexParts)] as const,
  );
  const untold = createInterruptedCalls<null>(clock, (missed) => tellAgain(missed.keys()));
  const look = (namespace: string, name: string): object | null | undefined => {
    const object = watchedOf<unknown>(namespace, name, world.get(resource, namespace, name));
    if (object === null) return null;
    const key = keyOf({ namespace, name });
    const found = Object.fromEntries(indexes.map(([relation, index]) => [relation, index.of(key)]));
    try {
      return spec.facts(object, found);
    } catch (thrown) {
      const id = actorId(kind, namespace, name);
      complain(id, thrown);
      if (isInterrupted(thrown)) untold.note(id, null);
      return undefined;
    }
  };
  function* members() {
    // Unwanted objects are found when they are told, so facts are computed once.
    for (const { namespace, name } of world.entries(resource)) yield actorId(kind, namespace, name);
  }
  return {
    kinds: [kind],
    fold(entry) {
      const affected: Affected = new Set();
      const touch = (key: string) => affected.add(actorOf(kind, key));
      if (entry.resource === resource) touch(keyOf(entry));
      for (const [, index] of indexes) for (const key of index.fold(entry)) touch(key);
      return affected;
    },
    members,
    observe(_kind, namespace, name): Observation | null {
      if (mirrors.some((mirror) => world.statement(mirror) === null)) return null;
      if (indexes.some(([, index]) => index.isPartial())) return null;
      const facts = look(namespace === '_' ? '' : namespace, name);
      return facts === undefined ? null : { type: `${kind}.observed`, facts };
    },
  };
}

const keyOf = ({ namespace = '', name }: ObjectName) => `${namespace}/${name}`;

function actorOf(kind: string, key: string): string {
  const slash = key.indexOf('/');
  return actorId(kind, key.slice(0, slash), key.slice(slash + 1));
}

interface IndexParts extends Pick<JoinParts, 'clock'> {
  readonly complain: (what: string, thrown: unknown) => void;
  /** What was missing is there now, or is waited for no longer. */
  readonly onComplete: () => void;
}

/** Maps each joined object to its related objects of another watch. */
function createIndex(resource: string, relation: Relation, { clock, complain, onComplete }: IndexParts) {
  const byTarget = new Map<string, Map<string, Watched<unknown>>>();
  const targetsOf = new Map<string, readonly string[]>();
  const missing = createInterruptedCalls<Watched<unknown>>(clock, (missed) => {
    for (const [key, object] of missed) put(key, object);
    if (!missing.isAwaited) onComplete();
  });
  const targets = (key: string, object: Watched<unknown>): readonly string[] => {
    try {
      return [...new Set([...relation.to(object)].map(keyOf))];
    } catch (thrown) {
      complain(`${resource} ${key}`, thrown);
      if (isInterrupted(thrown)) missing.note(key, object);
      return [];
    }
  };
  const forget = (key: string): readonly string[] => {
    missing.forget(key);
    const known = targetsOf.get(key) ?? [];
    for (const target of known) {
      const inTarget = byTarget.get(target);
      inTarget?.delete(key);
      if (inTarget?.size === 0) byTarget.delete(target);
    }
    targetsOf.delete(key);
    return known;
  };
  const put = (key: string, object: Watched<unknown>): readonly string[] => {
    const after = targets(key, object);
    if (after.length > 0) targetsOf.set(key, after);
    for (const target of after) {
      const inTarget = byTarget.get(target) ?? new Map<string, Watched<unknown>>();
      byTarget.set(target, inTarget.set(key, object));
    }
    return after;
  };
  return {
    /** Whether objects are missing in it, and will be there in a moment. */
    isPartial: () => missing.isAwaited,
    fold(entry: WorldEntry): Iterable<string> {
      if (entry.resource !== resource) return [];
      const key = keyOf(entry);
      const before = forget(key);
      const object = watchedOf<unknown>(entry.namespace, entry.name, entry.digest);
      return new Set([...before, ...(object === null ? [] : put(key, object))]);
    },
    // Always in the same order, so that the facts change only with the objects.
    of: (key: string): ReadonlyArray<Watched<unknown>> =>
      [...(byTarget.get(key) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one),
  };
}
