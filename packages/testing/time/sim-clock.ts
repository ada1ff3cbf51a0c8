/**
 * The time of a simulated world: a heap of timers. Time jumps from one timer to the next, after everything
 * that the last one set off has come to its end.
 */

import type { Clock, Timer } from '../../../src/base/clock.ts';
import { TimerHeap } from './timer-heap.ts';
import { settle } from './virtual-clock.ts';

/** Heartbeats are heard again before something happens. */
const wakeMs = 800;
/** Shorter pauses are not worth it. */
const skipLeastMs = 400;

export class SimClock implements Clock {
  readonly startedAt: number;
  #now: number;
  #leapt = 0;
  #isIdle = () => false;
  readonly #timers = new TimerHeap();

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

  after(delayMs: number, fn: () => void): Timer {
    return this.#add(delayMs, fn, false);
  }

  /** The same for what only repeats itself: `skipIdle` does not stop for it. */
  rhythm(delayMs: number, fn: () => void): Timer {
    return this.#add(delayMs, fn, true);
  }

  /**
   * While `isIdle` says that nothing is going on, time goes to just before the next timer that is no rhythm.
   * Rhythms come late, once, as if all machines had slept.
   */
  skipWhile(isIdle: () => boolean): void {
    this.#isIdle = isIdle;
  }

  #skipIdle(end: number): void {
    const next = Math.min(this.#timers.nextEvent() ?? end, end) - wakeMs;
    if (next - this.#now >= skipLeastMs) this.#now = next;
  }

  #add(delayMs: number, fn: () => void, isRhythm: boolean): Timer {
    const timer = this.#timers.add(this.#now + Math.max(0, delayMs), fn, isRhythm);
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
    const takeNext = () => this.#timers.takeDue(end + this.#leapt);
    await settle();
    for (let next = takeNext(); next; next = takeNext()) {
      this.#now = Math.max(this.#now, next.at);
      next.fn?.();
      await settle();
      if (next.isRhythm && this.#isIdle()) this.#skipIdle(end + this.#leapt);
      if (isOver()) return;
    }
    this.#now = end + this.#leapt;
  }
}
