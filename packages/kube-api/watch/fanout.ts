/**
 * Who watches what: brings each change to the watchers that it may concern.
 *
 * Promises: from the moment it is added, a watcher hears every change of its resource (and namespace) once
 * and in order. The index is by storage and namespace, so a change costs nothing for the watchers of other
 * things.
 */
import type { Change } from '../storage/version.ts';

export interface Watcher {
  readonly storage: string;
  /** undefined: all namespaces. */
  readonly namespace: string | undefined;
  deliver(change: Change): void;
  /** The storage is gone: no more changes will come. */
  close(): void;
}

/** Key of the watchers of all namespaces; no namespace can have this name. */
const everywhere = '*';

export class Fanout {
  readonly #watchers = new Map<string, Set<Watcher>>();

  /** Returns a function that takes the watcher out again. */
  add(watcher: Watcher): () => void {
    const key = keyOf(watcher.storage, watcher.namespace ?? everywhere);
    const set = this.#watchers.get(key) ?? new Set();
    set.add(watcher);
    this.#watchers.set(key, set);
    return () => {
      set.delete(watcher);
      if (set.size === 0 && this.#watchers.get(key) === set) this.#watchers.delete(key);
    };
  }

  publish(change: Change): void {
    for (const watcher of this.#of(change.storage, everywhere)) watcher.deliver(change);
    for (const watcher of this.#of(change.storage, change.namespace)) watcher.deliver(change);
  }

  /** Ends the watchers of a storage. */
  close(storage: string): void {
    this.#closeAll((key) => key.startsWith(keyOf(storage, '')));
  }

  closeAll(): void {
    this.#closeAll(() => true);
  }

  #closeAll(isMeant: (key: string) => boolean): void {
    const meant = [...this.#watchers].filter(([key]) => isMeant(key)).flatMap(([, set]) => [...set]);
    for (const watcher of meant) watcher.close();
  }

  #of(storage: string, namespace: string): Iterable<Watcher> {
    return this.#watchers.get(keyOf(storage, namespace)) ?? [];
  }
}

function keyOf(storage: string, namespace: string): string {
  return `${storage} ${namespace}`;
}
