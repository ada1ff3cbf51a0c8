/** What the host adds to every event, and the one outcome that most effects share. */

/** Machines read neither clock nor chance themselves (I7). */
export interface Stamp {
  /** When the event is taken, milliseconds since the epoch. */
  readonly at: number;
  /** A number in [0, 1), drawn by the host for this event. */
  readonly random: number;
  /** Another replica owned the actor at its last step, or this one under an earlier claim (`Chart.moves`). */
  readonly moved?: true;
}

/**
 * What is left of a time that began then, ms: none if it is over, and never more than the whole. The
 * beginning may lie ahead: by the clock of a replica that owned the actor before.
 */
export const leftOf = (wholeMs: number, since: number, at: number): number =>
  Math.min(wholeMs, Math.max(0, since + wholeMs - at));

/** Outcomes of effects whose success or failure changes no chart; they end the effect in the outbox (I4). */
export type EffectSettled = {
  readonly type: 'effect.settled';
  readonly effect: string;
  readonly error: string | null;
};

/**
 * The wall clock was set, ahead or (negative) back, since the actor's last step: the times that it remembers
 * are by so much too early. The host says it before anything else, to actors of charts that ask for it
 * (`Chart.leaps`).
 */
export type ClockLeapt = { readonly type: 'clock.leapt'; readonly byMs: number };
