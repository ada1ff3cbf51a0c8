/**
 * The time of a simulated world: a heap of timers. Time jumps from one timer to the next, after everything
 * that the last one set off has come to its end.
 */

import type { Clock, Timer } from '../../../src/base/clock.ts';
import { TimerHeap } from './timer-heap.ts';
import { settle } from './virtual-clock.ts';

export class SimClock implements Clock {
  readonly startedAt: number;
  #now: number;
  #leapt = 0;
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

  after(delayMs: number, fn: () => void): Timer {
    const timer = this.#timers.add(this.#now + Math.max(0, delayMs), fn);
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
      if (isOver()) return;
    }
    this.#now = end + this.#leapt;
  }
}
