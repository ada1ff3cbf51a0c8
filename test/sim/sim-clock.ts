/**
 * The time of a simulated world: a heap of timers. Time jumps from one timer to the next, after everything that the last one set off
 * has come to its end.
 */
import type { Clock, Timer } from '../../src/base/clock.ts';
import { TimerHeap } from '../timer-heap.ts';
import { settle } from '../virtual-clock.ts';

export class SimClock implements Clock {
  readonly startedAt: number;
  #now: number;
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

  /** Lets time pass; ends early when `isOver` says so after some timer. */
  async run(ms: number, isOver: () => boolean = () => false): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (let next = this.#timers.takeDue(until); next; next = this.#timers.takeDue(until)) {
      this.#now = Math.max(this.#now, next.at);
      next.fn?.();
      await settle();
      if (isOver()) return;
    }
    this.#now = until;
  }
}
