/**
 * The time of a simulated world: a heap of timers. Time jumps from one timer to the next, after everything
 * that the last one set off has ended.
 *
 * What only repeats itself (heartbeats, housekeeping) has a time of its own, in which nothing is ever late.
 * That time goes slowly while a beat would tell nobody anything new, so hours of peace cost only what happens
 * in them.
 */

import type { Clock, Timer } from '../../../src/base/clock.ts';
import { TimerHeap, type VirtualTimer } from './timer-heap.ts';
import { eachTurn } from './turns.ts';

/** How much slower the time of rhythms is: a beat every eight seconds instead of five a second. */
export const slowness = 40;

export class SimClock implements Clock {
  readonly startedAt: number;
  /** The time of what only repeats itself. */
  readonly rhythms: Clock;
  #now: number;
  #leapt = 0;
  #rhythmNow = 0;
  #isSteady = () => false;
  readonly #events = new TimerHeap();
  readonly #repeated = new TimerHeap();

  constructor(startMs = 1_700_000_000_000) {
    this.startedAt = startMs;
    this.#now = startMs;
    this.rhythms = {
      now: () => this.#now,
      monotonic: () => this.#rhythmNow,
      after: (delayMs, fn) => timerOf(this.#repeated.add(this.#rhythmNow + Math.max(0, delayMs), fn)),
    };
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - this.startedAt;
  }

  /** Time that has passed, without leaps, ms. */
  passedMs(): number {
    return this.monotonic() - this.#leapt;
  }

  /** Number of waiting timers. */
  get pending(): number {
    return this.#events.waiting() + this.#repeated.waiting();
  }

  after(delayMs: number, fn: () => void): Timer {
    return timerOf(this.#events.add(this.#now + Math.max(0, delayMs), fn));
  }

  /** @param isSteady whether rhythms may go slowly; asked before each timer */
  slowWhile(isSteady: () => boolean): void {
    this.#isSteady = isSteady;
  }

  /** This much time passes at once: what was due meanwhile comes late. */
  leap(ms: number): void {
    this.#now += ms;
    this.#leapt += ms;
    this.#rhythmNow += ms;
  }

  /** Lets time pass, leaps not counted; ends early when `isOver` says so after a timer. */
  async run(ms: number, isOver: () => boolean = () => false): Promise<void> {
    const end = this.#now - this.#leapt + ms;
    let isCut = false;
    await eachTurn(() => {
      // What the last timer set off has ended.
      isCut = isOver();
      const next = isCut ? null : this.#takeDue(end + this.#leapt);
      next?.fn?.();
      return next !== null;
    });
    if (!isCut) this.#pass(end + this.#leapt, this.#slowness());
  }

  #slowness(): number {
    return this.#isSteady() ? slowness : 1;
  }

  /** Removes the next timer that is due by then, and moves time to it. */
  #takeDue(until: number): VirtualTimer | null {
    const slow = this.#slowness();
    const [event, rhythm] = [this.#events.first(), this.#repeated.first()];
    const eventAt = event?.at ?? Number.POSITIVE_INFINITY;
    const rhythmAt = rhythm ? this.#now + (rhythm.at - this.#rhythmNow) * slow : Number.POSITIVE_INFINITY;
    const at = Math.min(eventAt, rhythmAt);
    if (at > until) return null;
    this.#pass(at, slow);
    return (eventAt <= rhythmAt ? this.#events : this.#repeated).take() ?? null;
  }

  #pass(to: number, slow: number): void {
    const ms = Math.max(0, to - this.#now);
    this.#now += ms;
    this.#rhythmNow += ms / slow;
  }
}

function timerOf(timer: VirtualTimer): Timer {
  return {
    cancel() {
      timer.fn = null;
    },
  };
}
