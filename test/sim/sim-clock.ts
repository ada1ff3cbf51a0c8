/**
 * The time of a simulated world: a heap of timers. Time jumps from one timer to the next, after everything that the last one set off
 * has come to its end.
 */
import type { Clock, Timer } from '../../src/base/clock.ts';
import { settle } from '../virtual-clock.ts';

interface Waiting {
  readonly at: number;
  readonly order: number;
  fn: (() => void) | null;
}

export class SimClock implements Clock {
  readonly startedAt: number;
  #now: number;
  #order = 0;
  readonly #heap: Waiting[] = [];

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
    const waiting: Waiting = { at: this.#now + Math.max(0, delayMs), order: this.#order++, fn };
    push(this.#heap, waiting);
    return {
      cancel() {
        waiting.fn = null;
      },
    };
  }

  /** Lets time pass; ends early when `isOver` says so after some timer. */
  async run(ms: number, isOver: () => boolean = () => false): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (let next = this.#heap[0]; next && next.at <= until; next = this.#heap[0]) {
      pop(this.#heap);
      if (next.fn === null) continue;
      this.#now = Math.max(this.#now, next.at);
      next.fn();
      await settle();
      if (isOver()) return;
    }
    this.#now = until;
  }
}

const isBefore = (a: Waiting, b: Waiting) => a.at < b.at || (a.at === b.at && a.order < b.order);

function push(heap: Waiting[], entry: Waiting): void {
  let index = heap.length;
  heap.push(entry);
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent];
    if (!above || !isBefore(entry, above)) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = entry;
}

function pop(heap: Waiting[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    let child = 2 * index + 1;
    const left = heap[child];
    if (!left) break;
    const right = heap[child + 1];
    if (right && isBefore(right, left)) child++;
    const below = heap[child];
    if (!below || !isBefore(below, last)) break;
    heap[index] = below;
    index = child;
  }
  heap[index] = last;
}
