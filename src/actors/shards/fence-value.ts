/** What a fence message says: who claimed the holding, and when. JSON, read by every release. */
import { decode } from '../../bus/codec.ts';

export interface FenceValue {
  /** null: given back by its last owner. */
  readonly replica: string | null;
  readonly incarnation: string;
  readonly at: number;
  /** When the owner before gave it back, if it did; the holding was nobody's from then on until `at`. */
  readonly releasedAt: number | null;
  /**
   * A mirror under this fence states anew what it has listed, whatever stands in the world already. Absent: a
   * release before that.
   */
  readonly statesAnew?: boolean;
}

const nobody: FenceValue = { replica: null, incarnation: '', at: 0, releasedAt: null };

/** A fence that cannot be read is nobody's: whoever is wanted claims it. */
export function fenceValueOf(data: Uint8Array): FenceValue {
  try {
    const value = decode(data) as Partial<FenceValue> | null;
    if (typeof value?.replica !== 'string' || typeof value.incarnation !== 'string') {
      return { ...nobody, at: Number(value?.at ?? 0) };
    }
    const releasedAt = typeof value.releasedAt === 'number' ? value.releasedAt : null;
    const statesAnew = value.statesAnew === true;
    return {
      replica: value.replica,
      incarnation: value.incarnation,
      at: Number(value.at ?? 0),
      releasedAt,
      statesAnew,
    };
  } catch {
    return nobody;
  }
}
