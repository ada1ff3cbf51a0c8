/** What a fence message says: who claimed the holding, and when. JSON, read by every release. */
import { attempt } from '../../base/errors.ts';
import { decode } from '../../bus/codec.ts';

export interface FenceValue {
  /** null: given back by its last owner. */
  readonly replica: string | null;
  readonly incarnation: string;
  readonly at: number;
  /** When the owner before gave it back, if it did; the holding was nobody's from then on until `at`. */
  readonly releasedAt: number | null;
  /**
   * A mirror under this fence states again what it has listed, whatever stands in the world already. Absent:
   * a release before that.
   */
  readonly statesAnew?: boolean;
  /** How long the process that claimed had been there, ms. Absent: a release that does not tell it. */
  readonly ageMs?: number;
  /** Of a part of a loaded feature: whose it is, for replicas that do not have the feature. */
  readonly feature?: FencedFeature;
  /** Nobody wants the holding any more; the message removes itself in a while. */
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

/** Whoever held it last has ended without giving it back. @param incarnation of the one who asks */
export const isOrphaned = (fence: FenceValue | undefined, incarnation: string): boolean =>
  fence?.replica != null && fence.incarnation !== incarnation;

/** A fence that cannot be read is nobody's: whoever is wanted claims it. */
export const nobodysFence: FenceValue = { replica: null, incarnation: '', at: 0, releasedAt: null };

export const fenceValueOf = (data: Uint8Array): FenceValue => readFenceValue(data) ?? nobodysFence;

/** null: it cannot be read, or has not the form of a fence. */
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
