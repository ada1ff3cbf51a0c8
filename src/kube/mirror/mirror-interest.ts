/**
 * The combined interest of all features in one resource: which objects the world contains (I10), and what
 * their digests contain.
 *
 * Promises: an object is in the world if one feature wants it; a digest has the fixed fields and those of
 * each feature, side by side. Absent: any knowledge of a kind, which is the features'
 * (actors/world/watch-declaration.ts).
 */
import type { Interest, InterestChange, WatchDeclaration } from '../../actors/world/watch-declaration.ts';
import type { ObjectDigest, ResourceName, WorldEntry } from '../../base/digests.ts';
import type { KubeObject, KubeResource } from '../../base/kube-port.ts';
import { type MergedWatch, resourceName } from './merged-watch.ts';
import { digestBase } from './object-digest.ts';

export interface MirrorInterest {
  /** As in `world.<resource>.<ns>.<name>`. */
  readonly resource: ResourceName;
  /** The world's resources whose entries `fold` processes. */
  readonly tellers: readonly ResourceName[];
  fold(entry: WorldEntry): InterestChange;
  wants(namespace: string, name: string, digest: ObjectDigest): boolean;
  /** @throws OrreryError INVARIANT if the object has no uid or no resourceVersion */
  digestOf(object: KubeObject): ObjectDigest;
  /** The digest to publish, given the one before. */
  carried(before: ObjectDigest | null, after: ObjectDigest): ObjectDigest;
  /** Versions of the requests that have been processed, sorted. */
  versions(): readonly string[];
}

interface Part {
  readonly declaration: WatchDeclaration;
  /** null: it wants everything. */
  readonly interest: Interest | null;
}

export function createInterest(watch: MergedWatch, resource: KubeResource): MirrorInterest {
  const begin = (declaration: WatchDeclaration): Part => ({
    declaration,
    interest: declaration.interest?.(resource) ?? null,
  });
  const parts = watch.parts.map(begin);
  const interests = [...parts, ...watch.askers.map(begin)].flatMap(({ interest }) => interest ?? []);
  const kind = watch.digestKind ?? resource.plural;
  return {
    resource: watch.name ?? resourceName(resource),
    tellers: [...new Set(interests.flatMap(({ tellers }) => tellers))],
    fold: (entry) =>
      interests
        .filter(({ tellers }) => tellers.includes(entry.resource))
        .map((interest) => interest.fold(entry))
        .reduce(together, 'nothing'),
    wants: (namespace, name, digest) =>
      parts.some(({ interest }) => interest === null || interest.wants(namespace, name, digest)),
    digestOf(object) {
      const base = digestBase(object);
      const digest: ObjectDigest = { kind, ...base, ...(watch.withoutLabels ? { labels: {} } : {}) };
      for (const part of parts) Object.assign(digest, digestPart(part, object));
      return digest;
    },
    carried: (before, after) =>
      parts.reduce((digest, { declaration }) => declaration.carry?.(before, digest) ?? digest, after),
    versions: () => [...new Set(interests.flatMap((interest) => interest.versions?.() ?? []))].sort(),
  };
}

function digestPart({ declaration, interest }: Part, object: KubeObject): object {
  return declaration.digest(object, interest?.asked?.(object.metadata.namespace ?? ''));
}

function together(a: InterestChange, b: InterestChange): InterestChange {
  for (const one of ['digests', 'wanted'] as const) if (a === one || b === one) return one;
  const names = [a, b].flatMap((one) => (typeof one === 'string' ? [] : one));
  return a === 'nothing' && b === 'nothing' ? 'nothing' : names;
}
