/**
 * The rules of release-gated reconciliation, pure: how releases compare, what a written state is compatible
 * with, and what a leader does about it.
 *
 * Letters of the rules: L is the release of a replica's bundle, M the oldest release that can serve what the
 * bundle writes (minServingRelease), R the oldest release whose written state a replica of the bundle can
 * serve (minReconcilerRelease); V and C are release and minimumCompatible of the written status.
 */
import { compareReleases } from '../../base/semantic-version.ts';

/** A kind as a manifest names it. */
export interface KindName {
  readonly apiVersion: string;
  readonly kind: string;
}

/** What the written state is compatible with, as stored in the state stream. */
export interface ReleaseStatus {
  /** Working: objects of two releases may coexist. */
  readonly state: 'Working' | 'Done';
  /** V */
  readonly release: string;
  /** C */
  readonly minimumCompatible: string;
  /** Kinds that may have been written: a later bundle looks there for objects that it no longer contains. */
  readonly kinds: readonly KindName[];
}

/** The status as last seen; without status and error there is none. */
export interface SeenStatus {
  /** Its sequence in the stream; 0: none. */
  readonly sequence: number;
  readonly status: ReleaseStatus | null;
  /** Why the stored status is unreadable. */
  readonly unreadable: string | null;
}

/** The parts of a bundle that the rules need. */
export interface BundleFacts {
  readonly name: string;
  /** L */
  readonly release: string;
  /** M */
  readonly minServing: string;
  /** R */
  readonly minReconciler: string;
  readonly kinds: readonly KindName[];
  readonly objects: number;
}

/** A live replica. */
export interface NodeFacts {
  readonly replica: string;
  readonly release: string;
  /** null: it runs without a bundle, and serves any written state. */
  readonly bundle: { readonly name: string; readonly minReconciler: string } | null;
}

export const isOlder = (a: string, b: string): boolean => compareReleases(a, b) < 0;
export const newerOf = (a: string, b: string): string => (isOlder(a, b) ? b : a);
const olderOf = (a: string, b: string): string => (isOlder(b, a) ? b : a);

/** The newest release of all nodes; null if there is none. */
export function newestRelease(nodes: readonly NodeFacts[]): string | null {
  return nodes.reduce<string | null>(
    (newest, { release }) => (newest === null ? release : newerOf(newest, release)),
    null,
  );
}

/** The first row of the table that applies. */
export function rowOf(
  status: ReleaseStatus | null,
  { release, minServing }: BundleFacts,
): 'noStatus' | 'done' | 'suited' | 'unsuited' {
  if (status === null) return 'noStatus';
  const isSame =
    compareReleases(status.release, release) === 0 &&
    compareReleases(status.minimumCompatible, minServing) === 0;
  if (status.state === 'Done' && isSame) return 'done';
  const suits = !isOlder(release, status.release) && !isOlder(status.minimumCompatible, minServing);
  return suits ? 'suited' : 'unsuited';
}

/** Nodes that must be gone before an incompatible state may be written, in words. */
export function hinderingNodes(
  nodes: readonly NodeFacts[],
  { release, minServing }: BundleFacts,
): readonly string[] {
  return nodes.flatMap((node) => {
    if (isOlder(node.release, minServing))
      return [`${node.replica} (${node.release}) is older than ${minServing} (minServingRelease)`];
    if (isOlder(release, node.release))
      return [`${node.replica} (${node.release}) is newer than ${release}, the release of this bundle`];
    return [];
  });
}

/** The status to write once every object matches the bundle. */
export function doneStatus({ release, minServing, kinds }: BundleFacts): ReleaseStatus {
  return { state: 'Done', release, minimumCompatible: minServing, kinds };
}

/** The status to write before objects of a compatible release change. */
export function workingStatus(status: ReleaseStatus, { kinds }: BundleFacts): ReleaseStatus {
  return { ...status, state: 'Working', kinds: unionOfKinds(status.kinds, kinds) };
}

/**
 * The status to write before objects of an incompatible release change: both releases, and only when no node
 * is incompatible.
 */
export function unsuitedStatus(status: ReleaseStatus, bundle: BundleFacts): ReleaseStatus {
  return {
    state: 'Working',
    release: olderOf(status.release, bundle.release),
    minimumCompatible: newerOf(status.minimumCompatible, bundle.minServing),
    kinds: unionOfKinds(status.kinds, bundle.kinds),
  };
}

export function unionOfKinds(a: readonly KindName[], b: readonly KindName[]): readonly KindName[] {
  const all = new Map([...a, ...b].map((one) => [`${one.apiVersion} ${one.kind}`, one]));
  return [...all.values()];
}

/**
 * Why a replica must not serve with the written state, in words; null: it may (L ≥ C and V ≥ R). Working or
 * Done makes no difference: a replica that is compatible with both sides may continue.
 */
export function unsuitedFor(
  seen: SeenStatus,
  node: { readonly release: string; readonly bundle: NodeFacts['bundle'] },
): string | null {
  const { release, bundle } = node;
  if (bundle === null) return null;
  const { status, unreadable } = seen;
  if (unreadable !== null) return `the status of release/_/${bundle.name} cannot be read: ${unreadable}`;
  if (status === null)
    return `release/_/${bundle.name} has no status yet, because no round over its objects has succeeded; \`kubectl describe releases.orrery.dev ${bundle.name}\` says why`;
  if (isOlder(release, status.minimumCompatible)) {
    return `release ${release} is too old: the recorded state of release/_/${bundle.name} needs ${status.minimumCompatible} or newer`;
  }
  if (isOlder(status.release, bundle.minReconciler)) {
    return `the state of release/_/${bundle.name} is written for release ${status.release}; release ${release} needs ${bundle.minReconciler} or newer (minReconcilerRelease)`;
  }
  return null;
}
