/** What the host adds to every event, and the outcome that most effects share. */
import { limits } from '../base/limits.ts';

/** Machines read neither a clock nor a random source (I7). */
export interface Stamp {
  /** When the event is taken, milliseconds since the epoch. */
  readonly at: number;
  /** A number in [0, 1), drawn by the host for this event. */
  readonly random: number;
  /**
   * Another replica, or this one under an earlier claim, owned the actor at its last step (`Chart.moves`).
   */
  readonly moved?: true;
}

/**
 * The rest of a period that began then, ms: 0 if it is over, and never more than the whole. The beginning may
 * be in the future, by the clock of the actor's previous owner.
 */
export const leftOf = (wholeMs: number, since: number, at: number): number =>
  Math.min(wholeMs, Math.max(0, since + wholeMs - at));

/**
 * Whether that long has passed since then. A time still to come was noted by a clock that was ahead, and says
 * as little as one of long ago.
 */
export const hasPassed = (ms: number, since: number, at: number): boolean => Math.abs(at - since) >= ms;

/**
 * The outcome of effects whose success or failure changes no chart; it removes the effect from the outbox
 * (I4).
 */
export type EffectSettled = {
  readonly type: 'effect.settled';
  readonly effect: string;
  readonly error: string | null;
  /** It did nothing, because a later one of its kind does it; absent: it did. */
  readonly overtaken?: true;
};

/**
 * The wall clock was set, forward or (negative) back, since the actor's last step, so the times that it
 * remembers are that much too early. The host sends it before any other event, to actors of charts that ask
 * for it (`Chart.leaps`).
 */
export type ClockLeapt = { readonly type: 'clock.leapt'; readonly byMs: number };

/**
 * Whether a status that was written then is to be written again although nothing has changed: somebody else
 * may have overwritten it. @param writtenAt ms since the epoch; absent: not known, it is
 */
export const isToRestate = (writtenAt: number | undefined, at: number): boolean =>
  hasPassed(limits.restateMs, writtenAt ?? 0, at);
