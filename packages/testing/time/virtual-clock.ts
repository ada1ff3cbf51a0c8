/**
 * A clock for tests: time passes only when the test says so.
 *
 * `advance` fires due timers in order, and everything that one sets off runs to its end before the next one
 * fires.
 */
import type { Clock, Timer } from '../../../src/base/clock.ts';
import { TimerHeap } from './timer-heap.ts';

export class VirtualClock implements Clock {
  #now: number;
  #set = 0;
  readonly #start: number;
  readonly #timers = new TimerHeap();
  #pending = 0;

  constructor(startMs = 1_700_000_000_000) {
    this.#now = startMs;
    this.#start = startMs;
  }

  now(): number {
    return this.#now + this.#set;
  }

  monotonic(): number {
    return this.#now - this.#start;
  }

  sinceBoot(): number {
    return this.monotonic();
  }

  /** Somebody sets the wall clock; no time passes. */
  leap(byMs: number): void {
    this.#set += byMs;
  }

  after(delayMs: number, fn: () => void): Timer {
    const timer = this.#timers.add(this.#now + Math.max(0, delayMs), fn);
    this.#pending++;
    return {
      cancel: () => {
        if (timer.fn !== null) this.#pending--;
        timer.fn = null;
      },
    };
  }

  /** The thread is busy for this long: what is due meanwhile comes late. */
  spend(ms: number): void {
    this.#now += ms;
  }

  /** Number of waiting timers. */
  get pending(): number {
    return this.#pending;
  }

  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (let next = this.#timers.takeDue(until); next; next = this.#timers.takeDue(until)) {
      const { fn } = next;
      next.fn = null;
      this.#pending--;
      this.#now = Math.max(this.#now, next.at);
      fn?.();
      await settle();
    }
    this.#now = Math.max(this.#now, until);
  }
}

/** The clock of one machine, which its administrator may set, and which may be suspended. */
export interface OwnClock extends Clock {
  leap(byMs: number): void;
  /** The machine sleeps for this long: its wall clock continues, its timers do not. */
  suspend(forMs: number): void;
}

/** @param aheadMs error of the clock from the start */
export function ownClock(time: VirtualClock, aheadMs = 0): OwnClock {
  let set = aheadMs;
  let asleep = 0;
  return {
    now: () => time.now() + set,
    monotonic: () => time.monotonic(),
    sinceBoot: () => time.monotonic() + asleep,
    after: (delayMs, fn) => time.after(delayMs, fn),
    leap(byMs) {
      set += byMs;
    },
    suspend(forMs) {
      set += forMs;
      asleep += forMs;
    },
  };
}

/** Lets every promise continue that can. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
