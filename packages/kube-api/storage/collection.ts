/** All objects of one storage: the present ones by namespace and name, and those of an earlier revision. */
import type { Place } from '../stored-object.ts';
import type { History } from './latest-changes.ts';
import type { Change, Version } from './version.ts';

export class Collection {
  readonly history: History;
  readonly #byNamespace = new Map<string, Map<string, Version>>();
  /** Sorted keys of everything; created on demand, dropped when an object comes or goes. */
  #sorted: Place[] | undefined;

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
    if (namespace !== undefined) {
      const objects = this.#byNamespace.get(namespace) ?? new Map<string, Version>();
      return [...objects.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, version]) => version);
    }
    this.#sorted ??= this.#keys().sort((a, b) => compareKeys(keyOf(a), keyOf(b)));
    return this.#sorted.flatMap((place) => this.get(place) ?? []);
  }

  /** The list as it was at `revision`; undefined if the history does not go back that far. */
  listAt(revision: number, namespace?: string): Version[] | undefined {
    const changes = this.history.since(revision);
    if (changes === undefined) return undefined;
    if (changes.length === 0) return this.list(namespace);
    const objects = new Map(this.list(namespace).map((version) => [keyOfVersion(version), version]));
    for (const change of changes.toReversed()) {
      if (namespace !== undefined && change.namespace !== namespace) continue;
      if (change.previous === null) objects.delete(keyOf(change));
      else objects.set(keyOf(change), change.previous);
    }
    return [...objects.entries()].sort(([a], [b]) => compareKeys(a, b)).map(([, version]) => version);
  }

  #keys(): Place[] {
    return [...this.#byNamespace].flatMap(([namespace, objects]) =>
      [...objects.keys()].map((name) => ({ namespace, name })),
    );
  }
}

/** The order of etcd's keys, which is the order of lists. */
export function keyOf({ namespace, name }: Place): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}

export function keyOfVersion({ object }: Version): string {
  return keyOf({ namespace: object.metadata.namespace ?? '', name: object.metadata.name });
}

function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
