/**
 * Decides which replicas may hold what belongs to a loaded feature: its parts, and the mirrors of its
 * watches.
 *
 * Promises: all replicas reach the same result from the same beats. The wanted edition is the one with the
 * highest version among live replicas; of two forms with the same version (somebody forgot to raise it), the
 * one with the greater fingerprint. A replica with another edition, or none, holds nothing of the feature and
 * drops nothing of it.
 */
import { compareReleases } from '../../base/semantic-version.ts';
import type { Edition, Housed } from '../edition.ts';
import type { EditionTold, Member } from '../members/members.ts';
import type { FenceValue } from './fence-value.ts';

export function editionsIn(features: readonly Housed[]): readonly EditionTold[] {
  return features.flatMap(({ name, edition, kinds }) =>
    edition === undefined ? [] : [{ name, ...edition, kinds: kinds.map(({ chart }) => chart.name) }],
  );
}

type Living = Pick<Member, 'replica' | 'serving' | 'editions'>;

/** The wanted edition; null: no serving replica has the feature. */
export function wantedEdition(feature: string, members: Iterable<Living>): EditionTold | null {
  let best: EditionTold | null = null;
  for (const { serving, editions } of members) {
    const one = serving ? editions.find(({ name }) => name === feature) : undefined;
    if (one !== undefined && (best === null || compare(one, best) > 0)) best = one;
  }
  return best;
}

const compare = (a: Edition, b: Edition): number =>
  compareReleases(a.version, b.version) ||
  (a.fingerprint > b.fingerprint ? 1 : a.fingerprint < b.fingerprint ? -1 : 0);

/** The replicas that may hold what belongs to the feature. */
export function holdersOf(feature: string, members: readonly Living[]): readonly string[] {
  const wanted = wantedEdition(feature, members);
  if (wanted === null) return [];
  const isIt = ({ name, version, fingerprint }: EditionTold) =>
    name === feature && fingerprint === wanted.fingerprint && compareReleases(version, wanted.version) === 0;
  return members.flatMap(({ replica, serving, editions }) =>
    serving && editions.some(isIt) ? [replica] : [],
  );
}

/**
 * The same for one replica. @param live null: nobody is judged while the broker is away, and holdings are
 * kept
 */
export function mayHoldOf(
  feature: string,
  live: ReadonlyMap<string, Living> | null,
  replica: string,
): boolean {
  return live === null || holdersOf(feature, [...live.values()]).includes(replica);
}

/**
 * Kinds of features that some replica has or had, by the beats of live replicas and the fences of the
 * features' parts.
 */
export function kindsElsewhere(members: Iterable<Living>, fences: Iterable<FenceValue>): ReadonlySet<string> {
  const kinds = new Set<string>();
  for (const { editions } of members)
    for (const one of editions) for (const kind of one.kinds) kinds.add(kind);
  for (const { feature } of fences) for (const kind of feature?.kinds ?? []) kinds.add(kind);
  return kinds;
}

/** What an operator should know about this replica's features, in words. */
export function editionRemarks(
  own: readonly EditionTold[],
  replica: string,
  members: readonly Living[],
): readonly string[] {
  const names = new Set([...own, ...members.flatMap(({ editions }) => editions)].map(({ name }) => name));
  return [...names].sort().flatMap((name) => {
    const wanted = wantedEdition(name, members);
    const mine = own.find((one) => one.name === name);
    if (wanted === null) return [];
    const holders = holdersOf(name, members);
    if (holders.includes(replica)) return [];
    const who = `its actors are left to ${holders.join(', ')}`;
    if (mine === undefined) return [`the feature ${name} ${wanted.version} is not loaded here: ${who}`];
    const isSame = compareReleases(mine.version, wanted.version) === 0;
    return isSame
      ? [
          `the feature ${name} ${mine.version} differs from that of other replicas under the same version: ${who}`,
        ]
      : [
          `the feature ${name} is loaded here in version ${mine.version}, elsewhere in ${wanted.version}: ${who}`,
        ];
  });
}
