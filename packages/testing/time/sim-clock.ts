/**
 * The time of a simulated world: a heap of timers. Time jumps from one timer to the next, after everything
 * that the last one set off has come to its end.
 */

import type { Clock, Timer } from '../../../src/base/clock.ts';
import { isBefore, TimerHeap, type VirtualTimer } from './timer-heap.ts';
import { eachTurn } from './turns.ts';

/** Heartbeats are heard again before something happens. */
const wakeMs = 800;
/** Shorter pauses are not worth it. */
const skipLeastMs = 400;

export class SimClock implements Clock {
  readonly startedAt: number;
  #now: number;
  #leapt = 0;
  #isIdle = () => false;
  readonly #events = new TimerHeap();
  readonly #rhythms = new TimerHeap();
  #order = 0;

  constructor(startMs = 1_700_000_000_000) {
    this.startedAt = startMs;
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - this.startedAt;
  }

  /** How much time has passed, leaps left out, ms. */
  passedMs(): number {
    return this.monotonic() - this.#leapt;
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#events.waiting() + this.#rhythms.waiting();
  }

  after(delayMs: number, fn: () => void): Timer {
    return this.#add(delayMs, fn, this.#events);
  }

  /** The same for what only repeats itself: `skipIdle` does not stop for it. */
  rhythm(delayMs: number, fn: () => void): Timer {
    return this.#add(delayMs, fn, this.#rhythms);
  }

  /**
   * While `isIdle` says that nothing is going on, time goes to just before the next timer that is no rhythm.
   * Rhythms come late, once, as if all machines had slept.
   */
  skipWhile(isIdle: () => boolean): void {
    this.#isIdle = isIdle;
  }

  #skipIdle(end: number): void {
    const next = Math.min(this.#events.first()?.at ?? end, end) - wakeMs;
    if (next - this.#now >= skipLeastMs && this.#isIdle()) this.#now = next;
  }

  #add(delayMs: number, fn: () => void, timers: TimerHeap): Timer {
    const timer = timers.add(this.#now + Math.max(0, delayMs), fn, this.#order++);
    return {
      cancel() {
        timer.fn = null;
      },
    };
  }

  /** So much time passes at once: what was due meanwhile comes late. */
  leap(ms: number): void {
    this.#now += ms;
    this.#leapt += ms;
  }

  /** Lets time pass, leaps not counted; ends early when `isOver` says so after some timer. */
  async run(ms: number, isOver: () => boolean = () => false): Promise<void> {
    const end = this.#now - this.#leapt + ms;
    let isCut = false;
    /** What the last timer set off has come to its end. */
    const look = () => {
      isCut = isOver();
      if (!isCut) this.#skipIdle(end + this.#leapt);
    };
    const takeNext = () => this.#takeDue(end + this.#leapt);
    await eachTurn(() => {
      look();
      const next = isCut ? undefined : takeNext();
      if (next === undefined) return false;
      this.#now = Math.max(this.#now, next.at);
      next.fn?.();
      return true;
    });
    if (!isCut) this.#now = end + this.#leapt;
  }

  #takeDue(until: number): VirtualTimer | undefined {
    const [event, rhythm] = [this.#events.first(), this.#rhythms.first()];
    const isEvent = event !== undefined && (rhythm === undefined || isBefore(event, rhythm));
    return (isEvent ? this.#events : this.#rhythms).takeDue(until);
  }
}
