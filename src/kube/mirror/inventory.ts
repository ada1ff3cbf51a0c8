/**
 * Compares what a mirror sees of Kubernetes with what the world contains: the difference has to be published.
 *
 * Owns the digests of all objects of one resource, wanted or not (only the replica with the mirror has them).
 * Promises: an older version of a known object changes nothing, unless a complete list contains it: then the
 * cluster was restored from a backup, and the list is right (docs/disaster-recovery.md); an object that was
 * not seen counts as gone only once the list of its namespace is complete; digests that differ only in their
 * version are equal. An object that the picture holds, too, is held once. Absent: sending (publisher.ts),
 * requests (scope.ts).
 */
import { isOfObject, type ObjectDigest, type SyncedDigest, type WorldEntry } from '../../base/digests.ts';
import { equal, shareEqual } from '../../base/equal.ts';
import { limits } from '../../base/limits.ts';
import { isOlderVersion } from '../../base/resource-version.ts';
import type { MirrorInterest } from './mirror-interest.ts';
import type { Outgoing } from './publisher.ts';

/** An object as it was seen. */
export interface Seen {
  readonly namespace: string;
  readonly name: string;
  readonly digest: ObjectDigest;
}

export interface InventoryParts {
  /** As in `world.<resource>.<ns>.<name>`. */
  readonly resource: string;
  /** The name of the mirror's statement. */
  readonly name: string;
  readonly subjectOf: (resource: string, namespace: string, name: string) => string;
  readonly encode: (value: unknown) => Uint8Array;
  readonly interest: Pick<MirrorInterest, 'wants' | 'carried'>;
  /** Whether the namespace (empty: cluster-scoped objects) was listed completely. */
  readonly isListed: (namespace: string) => boolean;
  /** The key may have to be published. */
  readonly onDirty: (key: string) => void;
}

/**
 * The statements' resource in the world, and the key of this mirror's statement. An object's key contains a
 * slash.
 */
const statements = '_synced';

export class Inventory {
  readonly #parts: InventoryParts;
  /** Namespace → name → digest. */
  readonly #objects = new Map<string, Map<string, ObjectDigest>>();
  /** The world's contents, by key. */
  readonly #known = new Map<string, ObjectDigest>();
  #knownStatement: SyncedDigest | null = null;
  #statement: SyncedDigest | null = null;

  constructor(parts: InventoryParts) {
    this.#parts = parts;
  }

  /**
   * Loads the world's contents, before anything else. An earlier mirror's statement does not count and is
   * made again.
   */
  adopt(entries: Iterable<WorldEntry>): void {
    for (const { namespace, name, digest } of entries) {
      if (digest !== null && isOfObject(digest)) this.#known.set(keyOf(namespace, name), digest);
    }
  }

  /** The picture shows what was published: the one object serves both. */
  share({ namespace, name, digest }: WorldEntry): void {
    const objects = this.#objects.get(namespace);
    const own = objects?.get(name);
    if (own === undefined || digest === null || !isOfObject(digest) || !equal(own, digest)) return;
    objects?.set(name, digest);
    const key = keyOf(namespace, name);
    if (this.#known.get(key) === own) this.#known.set(key, digest);
  }

  put(seen: Seen): void {
    this.#put(seen, false);
  }

  /** The same with the digest that is held already, if it is equal: of a long list little else stays. */
  recognised(seen: Seen): Seen {
    const { namespace, name, digest } = seen;
    const held = this.#objects.get(namespace)?.get(name) ?? this.#known.get(keyOf(namespace, name));
    return held === undefined ? seen : { ...seen, digest: shared(digest, held) };
  }

  remove({ namespace, name, digest }: Seen): void {
    const before = this.#objects.get(namespace)?.get(name);
    // The end of an earlier object of that name says nothing about this one.
    if (before?.uid === digest.uid) this.#drop(namespace, name);
  }

  /** Takes the complete list of a namespace, or of all (null). */
  replace(namespace: string | null, listed: readonly Seen[]): void {
    const keys = new Set(this.#objects.size === 0 ? [] : listed.map((one) => keyOf(one.namespace, one.name)));
    for (const inside of namespace === null ? [...this.#objects.keys()] : [namespace]) {
      for (const name of [...(this.#objects.get(inside)?.keys() ?? [])]) {
        if (!keys.has(keyOf(inside, name))) this.#drop(inside, name);
      }
    }
    for (const seen of listed) this.#put(seen, true);
    this.offerKnown(namespace);
  }

  /**
   * What the world needs of a namespace, or of all (null), has changed; with `names`, only of those objects.
   */
  reconsider(namespace: string | null, names?: readonly string[]): void {
    for (const inside of namespace === null ? this.#objects.keys() : [namespace]) {
      for (const name of names ?? this.#objects.get(inside)?.keys() ?? [])
        this.#parts.onDirty(keyOf(inside, name));
    }
  }

  /** Marks known objects of a namespace, or of all (null), that the complete list does not have. */
  offerKnown(namespace: string | null): void {
    for (const key of this.#known.keys()) {
      const [inside, name] = placeOf(key);
      const isMeant = namespace === null || namespace === inside;
      const isGone = isMeant && this.#objects.get(inside)?.has(name) !== true;
      if (isGone && this.#parts.isListed(inside)) this.#parts.onDirty(key);
    }
  }

  state(statement: SyncedDigest): void {
    this.#statement = statement;
    this.#parts.onDirty(statements);
  }

  /** The message to publish for the key; null: none. */
  take(key: string): Outgoing | null {
    return key === statements ? this.#takeStatement() : this.#takeObject(key);
  }

  /** The object of a key; null: it is gone, or the key is no object's. */
  seen(key: string): Seen | null {
    const [namespace, name] = placeOf(key);
    const digest = this.#objects.get(namespace)?.get(name);
    return digest === undefined ? null : { namespace, name, digest };
  }

  get size(): number {
    let size = 0;
    for (const inNamespace of this.#objects.values()) size += inNamespace.size;
    return size;
  }

  #put({ namespace, name, digest: seen }: Seen, isOfList: boolean): void {
    const key = keyOf(namespace, name);
    const inNamespace = this.#objects.get(namespace) ?? new Map<string, ObjectDigest>();
    const before = inNamespace.get(name);
    const held = before ?? this.#known.get(key) ?? null;
    const carried = this.#parts.interest.carried(held, seen);
    const digest = held === null ? carried : shared(carried, held);
    const wentBack = before !== undefined && isOlder(digest, before);
    if (wentBack && !isOfList) return;
    this.#objects.set(namespace, inNamespace.set(name, digest));
    const isAsKnown = before === undefined && digest === this.#known.get(key);
    if (isAsKnown && this.#parts.interest.wants(namespace, name, digest) !== false) return;
    if (before === undefined || wentBack || !isSame(before, digest)) this.#parts.onDirty(key);
  }

  #drop(namespace: string, name: string): void {
    const inNamespace = this.#objects.get(namespace);
    inNamespace?.delete(name);
    if (inNamespace?.size === 0) this.#objects.delete(namespace);
    this.#parts.onDirty(keyOf(namespace, name));
  }

  #takeObject(key: string): Outgoing | null {
    const { resource, subjectOf, encode, interest, isListed } = this.#parts;
    const [namespace, name] = placeOf(key);
    const digest = this.#objects.get(namespace)?.get(name);
    const held = this.#known.get(key);
    const isWanted = digest !== undefined && interest.wants(namespace, name, digest);
    if (isWanted === undefined) return null;
    if (isWanted) {
      // The same content in an older version is published too, because later versions are compared with it.
      if (held !== undefined && isSame(held, digest) && !isOlder(digest, held)) return null;
      return {
        subject: subjectOf(resource, namespace, name),
        data: encode(digest),
        onStored: () => this.#known.set(key, this.#asSeen(namespace, name, digest)),
      };
    }
    if (held === undefined || (digest === undefined && !isListed(namespace))) return null;
    const { uid, resourceVersion } = digest ?? held;
    return {
      subject: subjectOf(resource, namespace, name),
      data: encode({ deleted: true, uid, resourceVersion }),
      ttlSeconds: limits.worldTombstoneSeconds,
      onStored: () => this.#known.delete(key),
    };
  }

  /** The equal object that is held already: the picture may have shown it before the answer came. */
  #asSeen(namespace: string, name: string, digest: ObjectDigest): ObjectDigest {
    const seen = this.#objects.get(namespace)?.get(name);
    return seen !== undefined && equal(seen, digest) ? seen : digest;
  }

  #takeStatement(): Outgoing | null {
    const next = this.#statement;
    if (next === null || equal(next, this.#knownStatement)) return null;
    return {
      subject: this.#parts.subjectOf(statements, '', this.#parts.name),
      data: this.#parts.encode(next),
      onStored: () => {
        this.#knownStatement = next;
      },
    };
  }
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

function placeOf(key: string): [namespace: string, name: string] {
  const slash = key.indexOf('/');
  return [key.slice(0, slash), key.slice(slash + 1)];
}

/** The held digest if both are equal; otherwise the other, with the fields that they have in common. */
function shared(digest: ObjectDigest, held: ObjectDigest): ObjectDigest {
  return digest === held || equal(held, digest) ? held : shareEqual({ ...digest }, held, 1);
}

function isSame(a: ObjectDigest, b: ObjectDigest): boolean {
  return a === b || equal({ ...a, resourceVersion: b.resourceVersion }, b);
}

/** Whether `a` is an earlier version of the same object as `b`. */
function isOlder(a: ObjectDigest, b: ObjectDigest): boolean {
  return a.uid === b.uid && isOlderVersion(a.resourceVersion, b.resourceVersion);
}
