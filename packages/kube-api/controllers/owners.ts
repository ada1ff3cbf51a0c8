/** Who owns whom: an index of all objects by uid, and of all dependents by the uid of their owner. */

import type { Change, Version } from '../storage/version.ts';
import type { Place, StoredObject } from '../stored-object.ts';

/** Where an object is. */
export interface Location extends Place {
  readonly storage: string;
}

export class OwnerIndex {
  readonly #byUid = new Map<string, Location>();
  /** Uid of an owner → uids of its dependents. */
  readonly #dependents = new Map<string, Set<string>>();

  note(change: Change): void {
    if (change.previous !== null) this.#forget(change.previous, change.current);
    if (change.current !== null) this.#remember(change, change.current);
  }

  locate(uid: string): Location | undefined {
    return this.#byUid.get(uid);
  }

  dependentsOf(uid: string): string[] {
    return [...(this.#dependents.get(uid) ?? [])];
  }

  #forget({ object }: Version, current: Version | null): void {
    const { uid } = object.metadata;
    if (current?.object.metadata.uid !== uid) this.#byUid.delete(uid);
    for (const owner of ownersOf(object)) {
      const set = this.#dependents.get(owner);
      set?.delete(uid);
      if (set?.size === 0) this.#dependents.delete(owner);
    }
  }

  #remember({ storage, namespace, name }: Location, { object }: Version): void {
    const { uid } = object.metadata;
    this.#byUid.set(uid, { storage, namespace, name });
    for (const owner of ownersOf(object)) {
      const set = this.#dependents.get(owner) ?? new Set();
      set.add(uid);
      this.#dependents.set(owner, set);
    }
  }
}

export function ownersOf(object: StoredObject): string[] {
  return (object.metadata.ownerReferences ?? []).map((reference) => reference.uid);
}
