/**
 * Digests: the few fields of a Kubernetes object that some feature needs, as they stand in the `world` stream (I10).
 *
 * Owns what all of them have in common, and nothing of any kind: each feature knows its own parts of them. A digest carries uid and
 * resourceVersion, so that a stale or a new object under an old name is told apart.
 */

export type ConditionStatus = 'True' | 'False' | 'Unknown';

export type Labels = Readonly<Record<string, string>>;

export interface LabelSelector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: ReadonlyArray<{
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[];
  }>;
}

/** Any digest, of whatever form: plain data that names its form. */
export interface AnyDigest {
  readonly kind: string;
}

/** What every digest tells of its object. */
export interface DigestBase {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly deleting: boolean;
  readonly labels: Labels;
}

/** What a feature keeps of an object, beside what every digest tells. */
export type DigestPart<D extends DigestBase & AnyDigest> = Omit<D, keyof DigestBase | 'kind'>;

/** A digest of an object of Kubernetes, as those handle it who do not know its form. */
export interface ObjectDigest extends DigestBase, AnyDigest {}

/**
 * A statement of the one that mirrors a resource, at `world._synced._.<mirror>`: everything that those who are named need of it stands
 * in the world.
 */
export interface SyncedDigest {
  readonly kind: 'synced';
  /** Versions of those who ask for objects, as `<uid>/<generation>`. */
  readonly gates: readonly string[];
  /** Under which name the objects stand in the world; null while the kind does not exist in the cluster. */
  readonly resource: ResourceName | null;
}

/**
 * The name of a watched resource: how it is addressed in `world.<resource>.<ns>.<name>`, in metrics and in the watch fence:
 * a name that a feature gives it, else `<plural>.<group>`.
 */
export type ResourceName = string;

/** One entry of the world: a digest, or the fact that the object is gone. */
export interface WorldEntry {
  readonly resource: ResourceName;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  /** null: the object does not exist (any more, or not as something that any chart needs). */
  readonly digest: AnyDigest | null;
}

/** Whether the digest is one of an object of Kubernetes. */
export function isOfObject(digest: AnyDigest): digest is ObjectDigest {
  return 'uid' in digest && 'resourceVersion' in digest;
}

/** Whether the digest has the form of that name: each name stands for one form, or for several that say of it what they know. */
export function isDigest<D extends AnyDigest>(
  digest: AnyDigest | null | undefined,
  kind: D['kind'],
): digest is D {
  return digest?.kind === kind;
}

/** The digest, if it has the form of that name. */
export function asDigest<D extends AnyDigest>(
  digest: AnyDigest | null | undefined,
  kind: D['kind'],
): D | null {
  return isDigest<D>(digest, kind) ? digest : null;
}

/** Whether `labels` satisfy `selector`; an empty selector matches everything (Kubernetes' rule for LabelSelector). */
export function selects(selector: LabelSelector, labels: Labels): boolean {
  for (const [key, value] of Object.entries(selector.matchLabels ?? {}))
    if (labels[key] !== value) return false;
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    const value = labels[key];
    if (operator === 'Exists' && value === undefined) return false;
    if (operator === 'DoesNotExist' && value !== undefined) return false;
    if (operator === 'In' && (value === undefined || !values.includes(value))) return false;
    if (operator === 'NotIn' && value !== undefined && values.includes(value)) return false;
  }
  return true;
}
