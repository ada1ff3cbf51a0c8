/**
 * Decides which statements of the mirrors count: "everything of this resource is in the world" (`_synced`).
 *
 * The stream outlives all replicas, and a statement in it describes the time when it was made. It counts only
 * while the mirror that made it continues: it was made under the last fence, and that fence's holder lives.
 * While no mirror runs, and until the next holder has listed everything again, an object that is missing from
 * the world may exist, and one in it may be gone (I10).
 *
 * A mirror writes under its fence only, so everything after the last fence was written under it. Holders of
 * an earlier release, which does not repeat its statements, are believed from their claim on, because they
 * would never state more.
 */
import type { SyncedDigest } from '../../base/digests.ts';
import { type FenceValue, fenceValueOf } from '../shards/fence-value.ts';

/** Whether that process lives; null: unknown, because the broker is away, and the last judgement stays. */
export type IsAlive = (replica: string, incarnation: string) => boolean | null;

interface Known {
  fence: { readonly sequence: number; readonly value: FenceValue } | null;
  made: { readonly sequence: number; readonly digest: SyncedDigest } | null;
  counts: boolean;
}

export type Statements = ReturnType<typeof createStatements>;

/** @param onCounting called when a statement starts to count, and when another replaces it */
export function createStatements(isAlive: IsAlive, onCounting: (mirror: string) => void) {
  const mirrors = new Map<string, Known>();
  const of = (mirror: string): Known => {
    const known = mirrors.get(mirror) ?? { fence: null, made: null, counts: false };
    mirrors.set(mirror, known);
    return known;
  };
  const judgeOne = (mirror: string, known: Known, isNews: boolean) => {
    const before = known.counts;
    known.counts = doesCount(known, isAlive);
    if (known.counts && (isNews || !before)) onCounting(mirror);
  };
  return {
    /** @returns whether there still is such a mirror */
    noteFence(mirror: string, sequence: number, data: Uint8Array): boolean {
      const value = fenceValueOf(data);
      if (value.isRetired) {
        mirrors.delete(mirror);
        return false;
      }
      const known = of(mirror);
      known.fence = { sequence, value };
      judgeOne(mirror, known, false);
      return true;
    },
    noteStatement(mirror: string, sequence: number, digest: SyncedDigest | null): void {
      const known = of(mirror);
      known.made = digest === null ? null : { sequence, digest };
      judgeOne(mirror, known, true);
    },
    /** The mirror's statement, while it counts. */
    counting(mirror: string): SyncedDigest | null {
      const known = mirrors.get(mirror);
      return known?.counts === true ? (known.made?.digest ?? null) : null;
    },
    /** Checks again who lives. */
    judge(): void {
      for (const [mirror, known] of mirrors) judgeOne(mirror, known, false);
    },
    /** The stream was recreated. */
    forget: (): void => mirrors.clear(),
  };
}

function doesCount({ fence, made, counts }: Known, isAlive: IsAlive): boolean {
  if (fence === null || made === null || fence.value.replica === null) return false;
  const isOfThisReign = made.sequence > fence.sequence;
  if (!isOfThisReign && fence.value.statesAnew === true) return false;
  return isAlive(fence.value.replica, fence.value.incarnation) ?? counts;
}
