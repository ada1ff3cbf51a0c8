/** All objects of one storage: the present ones by namespace and name, and those of an earlier revision. */
import type { Place } from '../stored-object.ts';
import type { History } from './latest-changes.ts';
import type { Change, Version } from './version.ts';

/** A place and its key in the order of lists. */
interface Ordered extends Place {
  readonly key: string;
}

export class Collection {
  readonly history: History;
  readonly #byNamespace = new Map<string, Map<string, Version>>();
  /** The places of everything, sorted; created on demand, dropped when an object comes or goes. */
  #sorted: readonly Ordered[] | undefined;

  constructor(history: History) {
    this.history = history;
  }

  get({ namespace, name }: Place): Version | undefined {
    return this.#byNamespace.get(namespace)?.get(name);
  }

  /** Applies a change to the present objects and to the history. */
  add(change: Change): void {
    const { namespace, name, current, previous } = change;
    const objects = this.#byNamespace.get(namespace) ?? new Map<string, Version>();
    if (current === null) objects.delete(name);
    else objects.set(name, current);
    if (objects.size === 0) this.#byNamespace.delete(namespace);
    else this.#byNamespace.set(namespace, objects);
    if (current === null || previous === null) this.#sorted = undefined;
    this.history.add(change);
  }

  get isEmpty(): boolean {
    return this.#byNamespace.size === 0;
  }

  /** Objects in list order, by namespace and name; only those of one namespace if it is given. */
  list(namespace?: string): Version[] {
    return this.#places(namespace, '').flatMap((place) => this.get(place) ?? []);
  }

  /**
   * The rest of the list as it was at `revision`, behind the key `after`; undefined if the history does not
   * go back that far. A page is read from it, so it looks only at objects that are asked for.
   */
  listAt(revision: number, namespace?: string, after = ''): RestOfList | undefined {
    const changes = this.history.since(revision);
    if (changes === undefined) return undefined;
    /** What was different then, by key; null: it did not exist. */
    const then = new Map<string, Version | null>();
    for (const change of changes.toReversed()) {
      const isInside = namespace === undefined || change.namespace === namespace;
      if (isInside && keyOf(change) > after) then.set(keyOf(change), change.previous);
    }
    const present = this.#places(namespace, after);
    const places = [...then].some(([key, was]) => (was === null) === this.#holds(key))
      ? placesThen(present, then)
      : present;
    return { count: places.length, versions: this.#read(places, then) };
  }

  *#read(places: readonly Ordered[], then: ReadonlyMap<string, Version | null>): Iterable<Version> {
    for (const place of places) {
      const version = then.get(place.key) ?? this.get(place);
      if (version !== undefined) yield version;
    }
  }

  #holds(key: string): boolean {
    const places = this.#all();
    return places[firstBehind(places, key) - 1]?.key === key;
  }

  /** Sorted places behind the key `after`. */
  #places(namespace: string | undefined, after: string): readonly Ordered[] {
    const places = this.#all();
    if (namespace === undefined || namespace === '') return places.slice(firstBehind(places, after));
    const begin = `${namespace}/`;
    const end = firstBehind(places, `${namespace}/\uffff`);
    return places.slice(firstBehind(places, after > begin ? after : begin), end);
  }

  #all(): readonly Ordered[] {
    this.#sorted ??= [...this.#byNamespace]
      .flatMap(([namespace, objects]) =>
        [...objects.keys()].map((name) => ({ namespace, name, key: keyOf({ namespace, name }) })),
      )
      .sort(byKey);
    return this.#sorted;
  }
}

export interface RestOfList {
  readonly count: number;
  readonly versions: Iterable<Version>;
}

/** Sorted places of what existed then, from those of now. */
function placesThen(now: readonly Ordered[], then: ReadonlyMap<string, Version | null>): Ordered[] {
  const others = now.filter(({ key }) => !then.has(key));
  const were = [...then].flatMap(([key, version]) =>
    version === null
      ? []
      : { namespace: version.object.metadata.namespace ?? '', name: version.object.metadata.name, key },
  );
  return [...others, ...were].sort(byKey);
}

/** The position of the first place behind the key. */
function firstBehind(places: readonly Ordered[], after: string): number {
  let [low, high] = [0, places.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((places[middle] as Ordered).key > after) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The order of etcd's keys, which is the order of lists. */
export function keyOf({ namespace, name }: Place): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}

export function keyOfVersion({ object }: Version): string {
  return keyOf({ namespace: object.metadata.namespace ?? '', name: object.metadata.name });
}

const byKey = (a: Ordered, b: Ordered) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
