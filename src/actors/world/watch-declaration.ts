/**
 * What a feature declares of a Kubernetes resource that it watches. Where several features watch one resource, it is mirrored once: it
 * holds every object that one of them wants, and a digest is the merge of their parts.
 */
import type { AnyDigest, WorldEntry } from '../../base/digests.ts';
import type { KubeObject, KubeResource } from '../../base/kube-port.ts';

export interface WatchDeclaration {
  /**
   * The resource, where every cluster has it or Orrery brings it; a kind alone is looked up, again and again while the cluster does not
   * have it: until then it has no objects.
   */
  readonly resource: KubeResource | NamedKind;
  /** Its name in the world; `<plural>.<group>` if absent. */
  readonly name?: string;
  /** Only objects with the label; the API server leaves out all others. */
  readonly label?: string;
  /**
   * The fields that the feature keeps, added to `{kind, uid, resourceVersion, createdAt, deleting, labels}`; plain data, nothing secret
   * (I9). Fields of a wrong type count as absent: one broken object hurts nobody else (I8).
   * @param asked what `interest` asks for in the object's namespace
   */
  readonly digest: (object: KubeObject, asked: unknown) => object;
  /** The part that takes the place of `after`, where that cannot be read by itself. */
  readonly carry?: (before: AnyDigest | null, after: AnyDigest) => AnyDigest;
  /** Which objects the feature wants; absent: all of them. One for each mirror. */
  readonly interest?: () => Interest;
}

/** A kind as a manifest names it. */
export interface NamedKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Which objects are wanted, folded from what the world says. */
export interface Interest {
  /** Resources of the world whose entries it folds. */
  readonly tellers: readonly string[];
  /**
   * `digests`: what digests of the entry's namespace must tell has changed; `wanted`: what is wanted may have; names: the same, of those
   * objects.
   */
  fold(entry: WorldEntry): 'digests' | 'wanted' | 'nothing' | readonly string[];
  wants(namespace: string, name: string, digest: AnyDigest): boolean;
  /** What a digest of an object of the namespace must tell, for `digest`. */
  asked?(namespace: string): unknown;
  /** Versions of those who ask, with which in mind a complete mirror was made; for its statement. */
  versions?(): readonly string[];
}
