/**
 * What a mirror sees of Kubernetes, beside what the world holds of it: the difference is what must be
 * published.
 *
 * Owns the digests of all objects of one resource, wanted or not (only the replica that mirrors has them).
 * Promises: a version that is older than one known of the same object changes nothing, unless a complete list
 * shows it: then the cluster was restored from a backup, and the list is right (docs/disaster-recovery.md);
 * an object that was not seen is only gone once the list of its namespace is complete; digests that differ in
 * nothing but the version are equal.
 * Absent: sending (publisher.ts), requests (scope.ts).
 */
import { isDeepStrictEqual } from 'node:util';
import { isOfObject, type ObjectDigest, type SyncedDigest, type WorldEntry } from '../../base/digests.ts';
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
  /** As it stands in `world.<resource>.<ns>.<name>`. */
  readonly resource: string;
  /** The name of the mirror's statement. */
  readonly name: string;
  readonly subjectOf: (resource: string, namespace: string, name: string) => string;
  readonly encode: (value: unknown) => Uint8Array;
  readonly interest: Pick<MirrorInterest, 'wants' | 'carried'>;
  /** Whether the namespace (empty: objects without one) was listed completely. */
  readonly isListed: (namespace: string) => boolean;
  /** The key may have to be published. */
  readonly onDirty: (key: string) => void;
}

export interface Inventory {
  /**
   * Takes what the world holds, before anything else. What an earlier mirror stated counts for nothing: it is
   * stated anew.
   */
  adopt(entries: Iterable<WorldEntry>): void;
  put(seen: Seen): void;
  remove(seen: Seen): void;
  /** Takes the complete list of a namespace, or of all (null). */
  replace(namespace: string | null, objects: readonly Seen[]): void;
  /**
   * What the world needs of a namespace, or of any (null), has changed; of those objects alone, if it is said
   * which.
   */
  reconsider(namespace: string | null, names?: readonly string[]): void;
  /** Offers everything that is known to the world alone. */
  offerKnown(): void;
  state(statement: SyncedDigest): void;
  /** The message that the key needs; null: none. */
  take(key: string): Outgoing | null;
  readonly size: number;
}

/**
 * Where statements stand in the world, and the key of the one that is made here. No object's key: those have
 * a slash.
 */
const statements = '_synced';

export function createInventory(parts: InventoryParts): Inventory {
  const { resource, name, subjectOf, encode, interest, isListed, onDirty } = parts;
  const objects = new Map<string, Map<string, ObjectDigest>>();
  /** What the world holds, by key. */
  const known = new Map<string, ObjectDigest>();
  let knownStatement: SyncedDigest | null = null;
  let statement: SyncedDigest | null = null;

  const takeObject = (key: string): Outgoing | null => {
    const slash = key.indexOf('/');
    const [namespace, objectName] = [key.slice(0, slash), key.slice(slash + 1)];
    const digest = objects.get(namespace)?.get(objectName);
    const held = known.get(key);
    const subject = subjectOf(resource, namespace, objectName);
    if (digest !== undefined && interest.wants(namespace, objectName, digest)) {
      // The same in an older version is published too: it is what later versions are compared with.
      if (held !== undefined && isSame(held, digest) && !isOlder(digest, held)) return null;
      return { subject, data: encode(digest), onStored: () => known.set(key, digest) };
    }
    if (held === undefined || (digest === undefined && !isListed(namespace))) return null;
    const { uid, resourceVersion } = digest ?? held;
    return {
      subject,
      data: encode({ deleted: true, uid, resourceVersion }),
      ttlSeconds: limits.worldTombstoneSeconds,
      onStored: () => known.delete(key),
    };
  };
  const takeStatement = (): Outgoing | null => {
    const next = statement;
    if (next === null || isDeepStrictEqual(next, knownStatement)) return null;
    return {
      subject: subjectOf(statements, '', name),
      data: encode(next),
      onStored: () => {
        knownStatement = next;
      },
    };
  };
  const put = ({ namespace, name: objectName, digest: seen }: Seen, isOfList = false) => {
    const inNamespace = objects.get(namespace) ?? new Map<string, ObjectDigest>();
    const before = inNamespace.get(objectName);
    const digest = interest.carried(before ?? known.get(keyOf(namespace, objectName)) ?? null, seen);
    const wentBack = before !== undefined && isOlder(digest, before);
    if (wentBack && !isOfList) return;
    objects.set(namespace, inNamespace.set(objectName, digest));
    if (before === undefined || wentBack || !isSame(before, digest)) onDirty(keyOf(namespace, objectName));
  };
  const drop = (namespace: string, objectName: string) => {
    const inNamespace = objects.get(namespace);
    inNamespace?.delete(objectName);
    if (inNamespace?.size === 0) objects.delete(namespace);
    onDirty(keyOf(namespace, objectName));
  };
  const offerKnown = (namespace: string | null) => {
    for (const key of known.keys()) if (namespace === null || key.startsWith(`${namespace}/`)) onDirty(key);
  };

  return {
    adopt(entries) {
      for (const { namespace, name: objectName, digest } of entries) {
        if (digest !== null && isOfObject(digest)) known.set(keyOf(namespace, objectName), digest);
      }
    },
    put: (seen) => put(seen),
    remove({ namespace, name: objectName, digest }) {
      const before = objects.get(namespace)?.get(objectName);
      // The end of an earlier object of that name says nothing about this one.
      if (before?.uid === digest.uid) drop(namespace, objectName);
    },
    replace(namespace, listed) {
      const names = new Set(listed.map((seen) => keyOf(seen.namespace, seen.name)));
      for (const inside of namespace === null ? [...objects.keys()] : [namespace]) {
        for (const objectName of [...(objects.get(inside)?.keys() ?? [])]) {
          if (!names.has(keyOf(inside, objectName))) drop(inside, objectName);
        }
      }
      for (const seen of listed) put(seen, true);
      offerKnown(namespace);
    },
    reconsider(namespace, names) {
      for (const inside of namespace === null ? objects.keys() : [namespace]) {
        for (const objectName of names ?? objects.get(inside)?.keys() ?? [])
          onDirty(keyOf(inside, objectName));
      }
    },
    offerKnown: () => offerKnown(null),
    state(next) {
      statement = next;
      onDirty(statements);
    },
    take: (key) => (key === statements ? takeStatement() : takeObject(key)),
    get size() {
      let size = 0;
      for (const inNamespace of objects.values()) size += inNamespace.size;
      return size;
    },
  };
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

function isSame(a: ObjectDigest, b: ObjectDigest): boolean {
  return isDeepStrictEqual({ ...a, resourceVersion: '' }, { ...b, resourceVersion: '' });
}

/** Whether `a` is an earlier version of the very object of which `b` is one. */
function isOlder(a: ObjectDigest, b: ObjectDigest): boolean {
  return a.uid === b.uid && isOlderVersion(a.resourceVersion, b.resourceVersion);
}
