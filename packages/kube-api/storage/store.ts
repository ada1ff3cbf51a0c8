/**
 * The storage of the API server: every object in memory under one global revision, as etcd keeps it.
 *
 * Promises: a commit is one step that nobody sees half done (the server has one thread and no step waits).
 * Revisions grow by one with each commit. Listeners hear every change once, in order, before the commit
 * returns. Absent: persistence. A new server starts empty.
 */
import { type Place, placeOf, type StoredObject } from '../stored-object.ts';
import { Collection } from './collection.ts';
import { History } from './latest-changes.ts';
import { type Change, versionOf } from './version.ts';

export class Store {
  readonly #collections = new Map<string, Collection>();
  readonly #listeners: Array<(change: Change) => void> = [];
  readonly #historyMax: number;
  #revision = 1;

  /** @param historyMax changes that each storage remembers */
  constructor(historyMax: number) {
    this.#historyMax = historyMax;
  }

  get revision(): number {
    return this.#revision;
  }

  collection(storage: string): Collection {
    const known = this.#collections.get(storage);
    if (known !== undefined) return known;
    const created = new Collection(new History(this.#historyMax));
    this.#collections.set(storage, created);
    return created;
  }

  /** Forgets an empty storage and its history. */
  drop(storage: string): void {
    this.#collections.delete(storage);
  }

  /** Storages that hold something in `namespace`. */
  storagesIn(namespace: string): string[] {
    return [...this.#collections].filter(([, held]) => held.list(namespace).length > 0).map(([name]) => name);
  }

  /** Creates or replaces the object; the stored one has a new resourceVersion. */
  put(storage: string, object: StoredObject): Change {
    const place = placeOf(object);
    const previous = this.collection(storage).get(place) ?? null;
    this.#revision += 1;
    return this.#commit(storage, place, { current: versionOf(object, this.#revision), previous });
  }

  /** Removes the object; the change carries its last version. */
  remove(storage: string, place: Place): Change | undefined {
    const previous = this.collection(storage).get(place);
    if (previous === undefined) return undefined;
    this.#revision += 1;
    return this.#commit(storage, place, { current: null, previous });
  }

  onChange(listener: (change: Change) => void): void {
    this.#listeners.push(listener);
  }

  #commit(storage: string, place: Place, versions: Pick<Change, 'current' | 'previous'>): Change {
    const { namespace, name } = place;
    const change = { revision: this.#revision, storage, namespace, name, ...versions, lines: new Map() };
    this.collection(storage).add(change);
    for (const listener of this.#listeners) listener(change);
    return change;
  }
}
