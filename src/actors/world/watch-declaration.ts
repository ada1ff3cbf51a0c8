/**
 * What a feature declares about a Kubernetes resource that it watches. A resource that several features watch
 * is mirrored once: the world contains every object that one of them wants, and a digest merges their parts.
 */
import type { DigestBase, ObjectDigest, ResourceName, WorldEntry } from '../../base/digests.ts';
import type { KubeObject, KubeResource } from '../../base/kube-port.ts';

/**
 * @typeParam Asked what a digest must contain on request, beside its fixed fields: `interest` computes it,
 *   `digest` receives it
 */
export interface WatchDeclaration<Asked = unknown> {
  /**
   * The resource, if every cluster has it or Orrery installs it. A kind alone is looked up by discovery,
   * repeatedly while the cluster does not have it; until then it has no objects.
   */
  readonly resource: KubeResource | NamedKind;
  /**
   * Its name in the world, and that of its mirror; default: the name that another feature gives it, otherwise
   * `<plural>.<group>` and `<apiVersion>/<kind>`.
   */
  readonly name?: string;
  /**
   * The loaded feature that owns this watch. It has a mirror of its own under its `name`, independent of
   * other watches of the resource, and only replicas with the feature run it.
   */
  readonly apart?: { readonly name: string; readonly kinds: readonly string[] };
  /** No replica is ready before the resource was listed once. */
  readonly needed?: true;
  /** Only objects with this label; the API server leaves out the others. */
  readonly label?: string;
  /** The `kind` of its digests; default: the one that another feature gives, otherwise the plural. */
  readonly digestKind?: string;
  /** The feature needs no labels. If no feature does, the world contains none. */
  readonly withoutLabels?: true;
  /**
   * The fields that the feature keeps, added to `{kind, uid, resourceVersion, createdAt, deleting, labels}`:
   * plain data, nothing secret (I9). Fields of a wrong type count as absent, so one broken object hurts no
   * other (I8). Fields of the same name in two features must have the same value.
   */
  digest(object: KubeObject, asked: Asked): KeptFields;
  /** Replaces `after` if it is meaningful only together with the previous digest. */
  carry?(before: ObjectDigest | null, after: ObjectDigest): ObjectDigest;
  /** The objects that the feature wants; absent: all. Called once for each term of a mirror. */
  interest?(resource: KubeResource): Interest<Asked>;
}

/** Any fields except those that every digest has. */
export type KeptFields = object & { readonly [field in 'kind' | keyof DigestBase]?: never };

/** A kind as a manifest names it. */
export interface NamedKind {
  readonly apiVersion: string;
  readonly kind: string;
  /**
   * Versions, as in `apiVersion`, that are not read; the log says so if the cluster has the kind in them
   * only.
   */
  readonly unread?: readonly string[];
}

/**
 * What a change of the world affects. `digests`: what digests in the entry's namespace must contain;
 * `wanted`: possibly which of its objects are wanted; names: the same, for those objects only.
 */
export type InterestChange = 'digests' | 'wanted' | 'nothing' | readonly string[];

/** @param namespace null: in all */
export type AskAgain = (namespace: string | null, change: InterestChange) => void;

/** Which objects are wanted, computed from the world. */
export interface Interest<Asked = unknown> {
  /** The world's resources on which this depends. */
  readonly tellers: readonly ResourceName[];
  fold(entry: WorldEntry): InterestChange;
  /** undefined: it cannot be told at present, so the world keeps what it has of the object. */
  wants(namespace: string, name: string, digest: ObjectDigest): boolean | undefined;
  /** Calls back when what could not be told, or read, is to be asked again; absent: never. */
  onAgain?(again: AskAgain): void;
  /** What a digest of an object in the namespace must contain. */
  asked?(namespace: string): Asked;
  /** The versions of the requests. The mirror's statement names those for which the world is complete. */
  versions?(): readonly string[];
}

/** Resources whose kinds are known only at run time. */
export interface NamedWatches {
  /** The world's resources that name the wanted kinds. */
  readonly tellers: readonly ResourceName[];
  wanted(entries: (resource: ResourceName) => Iterable<WorldEntry>): Iterable<NamedKind>;
  declare(named: NamedKind): WatchDeclaration;
}
