/**
 * Digests: the few fields of a Kubernetes object that some feature needs, as stored in the `world` stream
 * (I10).
 *
 * Owns what all digests have in common, and nothing that is specific to a kind: each feature defines its own
 * part. A digest carries uid and resourceVersion, which tell a stale object, or a new object under an old
 * name, from the current one.
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

/** A digest of any form: plain data with a field that names the form. */
export interface AnyDigest {
  readonly kind: string;
}

/** What every digest contains. */
export interface DigestBase {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly deleting: boolean;
  readonly labels: Labels;
}

/** What one feature adds to the digest of an object. */
export type DigestPart<D extends DigestBase & AnyDigest> = Omit<D, keyof DigestBase | 'kind'>;

/** A digest of a Kubernetes object, for code that does not know its form. */
export interface ObjectDigest extends DigestBase, AnyDigest {}

/**
 * What the mirror of a resource publishes at `world._synced._.<mirror>`: the world now contains everything
 * that the listed gates and watchers need from this resource.
 */
export interface SyncedDigest {
  readonly kind: 'synced';
  /** The versions that asked for objects, as `<uid>/<generation>`. */
  readonly gates: readonly string[];
  /** The name under which the objects are in the world; null while the cluster does not have the kind. */
  readonly resource: ResourceName | null;
}

/**
 * The name of a watched resource, used in `world.<resource>.<ns>.<name>`, in metrics and in the watch fence:
 * the name that a feature gives it, otherwise `<plural>.<group>`.
 */
export type ResourceName = string;

/** One entry of the world: a digest, or the fact that the object is gone. */
export interface WorldEntry {
  readonly resource: ResourceName;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  /** null: the object does not exist, or no chart needs it. */
  readonly digest: AnyDigest | null;
}

/** Whether this is the digest of a Kubernetes object. */
export function isOfObject(digest: AnyDigest): digest is ObjectDigest {
  return 'uid' in digest && 'resourceVersion' in digest;
}

/**
 * Whether the digest has the form with this name. Several forms may share a name; each contains what its
 * feature knows.
 */
export function isDigest<D extends AnyDigest>(
  digest: AnyDigest | null | undefined,
  kind: D['kind'],
): digest is D {
  return digest?.kind === kind;
}

/** The digest, if it has the form with this name; otherwise undefined. */
export function asDigest<D extends AnyDigest>(
  digest: AnyDigest | null | undefined,
  kind: D['kind'],
): D | null {
  return isDigest<D>(digest, kind) ? digest : null;
}

/**
 * Whether `labels` satisfy `selector`. An empty selector matches everything, as in Kubernetes' LabelSelector.
 */
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
