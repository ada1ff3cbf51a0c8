/** The content of a fence message: who claimed the holding, and when. JSON, readable by every release. */
import { attempt } from '../../base/errors.ts';
import { decode } from '../../bus/codec.ts';

export interface FenceValue {
  /** null: the last owner gave it back. */
  readonly replica: string | null;
  readonly incarnation: string;
  readonly at: number;
  /** When the previous owner gave it back, if it did; nobody owned the holding from then until `at`. */
  readonly releasedAt: number | null;
  /**
   * A mirror under this fence states its listing again, whatever the world already contains. Absent: an
   * earlier release.
   */
  readonly statesAnew?: boolean;
  /** The age of the claiming process, ms. Absent: an earlier release. */
  readonly ageMs?: number;
  /** On a part of a loaded feature: its feature, for replicas that have not loaded it. */
  readonly feature?: FencedFeature;
  /** The holding is no longer wanted; the message expires after a while. */
  readonly isRetired?: boolean;
}

export interface FencedFeature {
  readonly name: string;
  readonly kinds: readonly string[];
}

function featureIn(value: unknown): FencedFeature | null {
  const { name, kinds } = (value ?? {}) as Partial<FencedFeature>;
  if (typeof name !== 'string' || !Array.isArray(kinds)) return null;
  return { name, kinds: kinds.filter((kind) => typeof kind === 'string') };
}

/** Whether the last owner ended without giving the holding back. @param incarnation of the asking process */
export const isOrphaned = (fence: FenceValue | undefined, incarnation: string): boolean =>
  fence?.replica != null && fence.incarnation !== incarnation;

/** The value of an unreadable fence: it belongs to nobody, so the wanted replica claims it. */
export const nobodysFence: FenceValue = { replica: null, incarnation: '', at: 0, releasedAt: null };

export const fenceValueOf = (data: Uint8Array): FenceValue => readFenceValue(data) ?? nobodysFence;

/** null: unreadable, or not in the form of a fence. */
export function readFenceValue(data: Uint8Array): FenceValue | null {
  return attempt(() => {
    const value = (decode(data) ?? {}) as Partial<FenceValue>;
    const { replica, incarnation, at, releasedAt = null } = value;
    const isOwner = replica === null || (typeof replica === 'string' && replica !== '');
    const isDated = Number.isFinite(at) && (releasedAt === null || Number.isFinite(releasedAt));
    if (!isOwner || !isDated || typeof incarnation !== 'string') return null;
    const isRetired = replica === null && value.isRetired === true;
    const statesAnew = value.statesAnew === true;
    const feature = featureIn(value.feature);
    const { ageMs } = value;
    return {
      replica,
      incarnation,
      at: Number(at),
      releasedAt,
      statesAnew,
      ...(typeof ageMs === 'number' ? { ageMs } : {}),
      ...(isRetired ? { isRetired } : {}),
      ...(feature ? { feature } : {}),
    };
  }, null);
}
