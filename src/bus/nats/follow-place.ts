/**
 * Where a follower stands in its stream; outlives every consumer, so that each new one begins after the last
 * delivered message.
 */
import type { FollowFrom } from '../bus.ts';

export type FollowPlace = ReturnType<typeof followPlace>;

export function followPlace(from: FollowFrom) {
  /** The sequence to go on from; undefined until the first place is fixed. */
  let next: number | undefined = from.kind === 'sequence' ? Math.max(1, from.sequence) : undefined;
  let created: unknown = from.kind === 'sequence' ? from.of : undefined;
  let hasDelivered = false;
  return {
    next: () => next,
    from: (): FollowFrom => (next === undefined ? from : { kind: 'sequence', sequence: next }),
    /** Whether the message is new; it counts as delivered then. */
    take(sequence: number): boolean {
      if (next !== undefined && sequence < next) return false;
      next = sequence + 1;
      hasDelivered = true;
      return true;
    },
    /** From the first message. */
    again(): void {
      next = 1;
    },
    /** The server has chosen the place to begin at. */
    fix(sequence: number): void {
      next ??= sequence;
    },
    /**
     * Compares with what the stream is now, and moves to where it can go on; what was wrong, in words.
     *
     * @param createdNow tells a stream from another one of the same name
     */
    checkStream(
      createdNow: unknown,
      lastSequence: number,
    ): { readonly text: string; readonly isAnother: boolean } | undefined {
      const isAnother = created !== undefined && created !== createdNow;
      created = createdNow;
      if (isAnother) {
        next = 1;
        return { isAnother, text: 'the stream was recreated; following it from its first message' };
      }
      // Who asked for a sequence that is still to come has lost nothing.
      const isAhead = from.kind === 'sequence' && from.of === undefined && !hasDelivered;
      if (next === undefined || isAhead || lastSequence + 1 >= next) return undefined;
      next = lastSequence + 1;
      return { isAnother, text: 'the stream lost its newest messages; following it from its end' };
    },
  };
}
