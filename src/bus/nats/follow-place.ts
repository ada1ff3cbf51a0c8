/**
 * A follower's position in its stream. It outlives every consumer, so each new one starts after the last
 * delivered message.
 */
import type { FollowFrom, StreamState } from '../bus.ts';

export type FollowPlace = ReturnType<typeof followPlace>;

export interface PlaceFinding {
  readonly text: string;
  readonly isAnother: boolean;
  /** Following has to wait until another look shows whether it is so. */
  readonly isUnsure?: boolean;
}

/** A stream's present state; `created` distinguishes it from others of the same name. */
export interface StreamFound extends Pick<StreamState, 'lastSequence' | 'copies'> {
  readonly created: unknown;
}

/**
 * For a moment, a stream's leader may know less than another server has delivered: it has not applied all, or
 * was stopped and has not heard of its successor. A stream lost messages only if it lacks them for longer.
 * The only copy of a stream knows all at once, and by then it may have as many messages again, others.
 */
const behindMaxMs = 3_000;

function createPatience() {
  /** Monotonic ms. */
  let since: number | undefined;
  return {
    end(): undefined {
      since = undefined;
    },
    isOver(now: number): boolean {
      since ??= now;
      return now - since >= behindMaxMs;
    },
  };
}

export function followPlace(from: FollowFrom) {
  /** The next sequence; undefined until the first position is fixed. */
  let next: number | undefined = from.kind === 'sequence' ? Math.max(1, from.sequence) : undefined;
  let created: unknown = from.kind === 'sequence' ? from.of : undefined;
  let hasDelivered = false;
  let isDistrusted = false;
  const patience = createPatience();
  return {
    next: () => next,
    from: (): FollowFrom => (next === undefined ? from : { kind: 'sequence', sequence: next }),
    /** Whether the message is new; if so, it counts as delivered. */
    take(sequence: number): boolean {
      if (next !== undefined && sequence < next) return false;
      next = sequence + 1;
      hasDelivered = true;
      return true;
    },
    /** Starts over from the first message. */
    again(): void {
      next = 1;
    },
    /** The stream lost messages that were delivered. */
    distrust(): void {
      isDistrusted = true;
    },
    /** The server has chosen the starting position. */
    fix(sequence: number): void {
      next ??= sequence;
    },
    /**
     * Compares the position with the stream's present state and moves it to where following can continue;
     * returns what was wrong, in words.
     *
     * @param now monotonic ms
     */
    checkStream(found: StreamFound, now: number): PlaceFinding | undefined {
      const { lastSequence, copies } = found;
      const isAnother = created !== undefined && created !== found.created;
      created = found.created;
      const hasLost = isDistrusted;
      isDistrusted = false;
      if (isAnother || hasLost) {
        next = 1;
        const what = isAnother ? 'was recreated' : 'lost messages';
        return { isAnother: true, text: `the stream ${what}; following it from its first message` };
      }
      // A caller that asked for a future sequence has lost nothing.
      const isAhead = from.kind === 'sequence' && from.of === undefined && !hasDelivered;
      if (next === undefined || isAhead || lastSequence + 1 >= next) return patience.end();
      if (copies > 1 && !patience.isOver(now))
        return { isAnother, isUnsure: true, text: 'its leader knows fewer messages than were delivered' };
      patience.end();
      next = lastSequence + 1;
      return { isAnother, text: 'the stream lost its newest messages; following it from its end' };
    },
  };
}
