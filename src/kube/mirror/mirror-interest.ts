/**
 * The combined interest of all features in one resource: which objects the world contains (I10), and what
 * their digests contain.
 *
 * Promises: an object is in the world if one feature wants it; a digest has the fixed fields and those of
 * each feature, side by side. Absent: any knowledge of a kind, which is the features'
 * (actors/world/watch-declaration.ts).
 */
import type {
  AskAgain,
  Interest,
  InterestChange,
  WatchDeclaration,
} from '../../actors/world/watch-declaration.ts';
import type { ObjectDigest, WorldEntry } from '../../base/digests.ts';
import type { KubeObject, KubeResource } from '../../base/kube-port.ts';
import { type MergedWatch, resourceName } from './merged-watch.ts';
import { digestBase } from './object-digest.ts';

interface Part {
  readonly declaration: WatchDeclaration;
  /** null: it wants everything. */
  readonly interest: Interest | null;
}

export type MirrorInterest = ReturnType<typeof createInterest>;

export function createInterest(watch: MergedWatch, resource: KubeResource) {
  const begin = (declaration: WatchDeclaration): Part => ({
    declaration,
    interest: declaration.interest?.(resource) ?? null,
  });
  const parts = watch.parts.map(begin);
  const interests = [...parts, ...watch.askers.map(begin)].flatMap(({ interest }) => interest ?? []);
  const kind = watch.digestKind ?? resource.plural;
  return {
    /** As in `world.<resource>.<ns>.<name>`. */
    resource: watch.name ?? resourceName(resource),
    /** The world's resources whose entries `fold` processes. */
    tellers: [...new Set(interests.flatMap(({ tellers }) => tellers))],
    fold: (entry: WorldEntry): InterestChange =>
      interests
        .filter(({ tellers }) => tellers.includes(entry.resource))
        .map((interest) => interest.fold(entry))
        .reduce(together, 'nothing'),
    /** undefined: nobody wants the object for certain, and somebody cannot tell at present. */
    wants(namespace: string, name: string, digest: ObjectDigest): boolean | undefined {
      let answer: boolean | undefined = false;
      for (const { interest } of parts) {
        const one = interest === null || interest.wants(namespace, name, digest);
        if (one) return true;
        if (one === undefined) answer = undefined;
      }
      return answer;
    },
    onAgain(again: AskAgain): void {
      for (const interest of interests) interest.onAgain?.(again);
    },
    /** @throws OrreryError INVARIANT if the object has no uid or no resourceVersion */
    digestOf(object: KubeObject): ObjectDigest {
      const base = digestBase(object);
      const digest: ObjectDigest = { kind, ...base, ...(watch.withoutLabels ? { labels: {} } : {}) };
      for (const part of parts) Object.assign(digest, digestPart(part, object));
      return digest;
    },
    /** The digest to publish, given the one before. */
    carried: (before: ObjectDigest | null, after: ObjectDigest): ObjectDigest =>
      parts.reduce((digest, { declaration }) => declaration.carry?.(before, digest) ?? digest, after),
    /** Versions of the requests that have been processed, sorted. */
    versions: (): readonly string[] =>
      [...new Set(interests.flatMap((interest) => interest.versions?.() ?? []))].sort(),
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
