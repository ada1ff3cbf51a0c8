/**
 * A clock for tests: time passes only when the test says so.
 *
 * `advance` fires due timers in order and lets everything that they set off run to its end before the next one fires.
 */
import type { Clock, Timer } from '../src/base/clock.ts';

interface Waiting {
  readonly at: number;
  readonly order: number;
  readonly fn: () => void;
}

export class VirtualClock implements Clock {
  #now: number;
  #order = 0;
  #set = 0;
  readonly #start: number;
  readonly #waiting = new Set<Waiting>();

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
    const waiting = { at: this.#now + Math.max(0, delayMs), order: this.#order++, fn };
    this.#waiting.add(waiting);
    return { cancel: () => void this.#waiting.delete(waiting) };
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#waiting.size;
  }

  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (let next = this.#next(until); next; next = this.#next(until)) {
      this.#waiting.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.fn();
      await settle();
    }
    this.#now = until;
  }

  #next(until: number): Waiting | undefined {
    let first: Waiting | undefined;
    for (const one of this.#waiting) {
      if (one.at > until) continue;
      if (!first || one.at < first.at || (one.at === first.at && one.order < first.order)) first = one;
    }
    return first;
  }
}

/** The clock of one machine, which its administrator may set, and which may be suspended. */
export interface OwnClock extends Clock {
  leap(byMs: number): void;
  /** The machine slept for so long: its wall clock goes on, its timers do not. */
  suspend(forMs: number): void;
}

/** @param aheadMs by how much it is wrong from the start */
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

/** Lets every promise that can go on do so. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
