/**
 * What a feature declares of a Kubernetes resource that it watches. Where several features watch one
 * resource, it is mirrored once: the world holds every object that one of them wants, and a digest is the
 * merge of their parts.
 */
import type { DigestBase, ObjectDigest, ResourceName, WorldEntry } from '../../base/digests.ts';
import type { KubeObject, KubeResource } from '../../base/kube-port.ts';

/**
 * @typeParam Asked what a digest must tell beside what it always tells; `interest` says it, `digest` is
 * handed it
 */
export interface WatchDeclaration<Asked = unknown> {
  /**
   * The resource, where every cluster has it or Orrery brings it; a kind alone is looked up, again and again
   * while the cluster does not have it: until then it has no objects.
   */
  readonly resource: KubeResource | NamedKind;
  /**
   * Its name in the world, and that of its mirror; absent: what others that watch it call it, else
   * `<plural>.<group>` and `<apiVersion>/<kind>`.
   */
  readonly name?: string;
  /**
   * The loaded feature whose own watch it is: it has a mirror of its own under its `name`, whoever else
   * watches the resource, which only replicas with the feature run.
   */
  readonly apart?: { readonly name: string; readonly kinds: readonly string[] };
  /** No replica is ready before the resource was listed once. */
  readonly needed?: true;
  /** Only objects with the label; the API server leaves out all others. */
  readonly label?: string;
  /** The `kind` of its digests; absent: what others call it, else the plural. */
  readonly digestKind?: string;
  /** The feature asks for no labels; the world holds none where no feature does. */
  readonly withoutLabels?: true;
  /**
   * The fields that the feature keeps, added to `{kind, uid, resourceVersion, createdAt, deleting, labels}`;
   * plain data, nothing secret (I9). Fields of a wrong type count as absent: one broken object hurts nobody
   * else (I8). What two features call by one name must say the same.
   */
  digest(object: KubeObject, asked: Asked): KeptFields;
  /** What takes the place of `after`, where that says something only together with what was known before. */
  carry?(before: ObjectDigest | null, after: ObjectDigest): ObjectDigest;
  /** Which objects the feature wants; absent: all of them. Called once for each reign of a mirror. */
  interest?(resource: KubeResource): Interest<Asked>;
}

/** Any fields but those that every digest has. */
export type KeptFields = object & { readonly [field in 'kind' | keyof DigestBase]?: never };

/** A kind as a manifest names it. */
export interface NamedKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/**
 * What news of the world changes. `digests`: what digests of the entry's namespace must tell; `wanted`:
 * perhaps what is wanted of it; names: the same, of those objects alone.
 */
export type InterestChange = 'digests' | 'wanted' | 'nothing' | readonly string[];

/** Which objects are wanted, folded from what the world says. */
export interface Interest<Asked = unknown> {
  /** Resources of the world whose entries it folds. */
  readonly tellers: readonly ResourceName[];
  fold(entry: WorldEntry): InterestChange;
  wants(namespace: string, name: string, digest: ObjectDigest): boolean;
  /** What a digest of an object of the namespace must tell. */
  asked?(namespace: string): Asked;
  /**
   * Versions of those who ask; the statement of the mirror names those with which in mind everything stands
   * in the world.
   */
  versions?(): readonly string[];
}

/** Resources whose kinds are known at run time only. */
export interface NamedWatches {
  /** Resources of the world whose entries say which kinds are wanted. */
  readonly tellers: readonly ResourceName[];
  wanted(entries: (resource: ResourceName) => Iterable<WorldEntry>): Iterable<NamedKind>;
  declare(named: NamedKind): WatchDeclaration;
}
