/** Timers of a virtual clock, earliest first; those of one moment in the order in which they were set. */

import { insertInto, removeFirst } from '../../../src/actors/time/heap.ts';

export interface VirtualTimer {
  readonly at: number;
  readonly order: number;
  /** null: it was cancelled, and keeps its place until its time comes. */
  fn: (() => void) | null;
}

export class TimerHeap {
  readonly #heap: VirtualTimer[] = [];
  #order = 0;

  /** Comes last among the timers of one moment. */
  add(at: number, fn: () => void): VirtualTimer {
    const timer: VirtualTimer = { at, order: this.#order++, fn };
    insertInto(this.#heap, timer, isBefore);
    return timer;
  }

  /** The first that was not cancelled. */
  first(): VirtualTimer | undefined {
    let first = this.#heap[0];
    for (; first?.fn === null; first = this.#heap[0]) removeFirst(this.#heap, isBefore);
    return first;
  }

  /** Number of waiting timers that were not cancelled. */
  waiting(): number {
    return this.#heap.filter(({ fn }) => fn !== null).length;
  }

  /** Removes the first timer that is due by then and was not cancelled. */
  takeDue(until: number): VirtualTimer | undefined {
    const first = this.first();
    if (first === undefined || first.at > until) return undefined;
    return this.take();
  }

  /** Removes the first timer that was not cancelled. */
  take(): VirtualTimer | undefined {
    const first = this.first();
    if (first !== undefined) removeFirst(this.#heap, isBefore);
    return first;
  }
}

const isBefore = (a: VirtualTimer, b: VirtualTimer) => a.at < b.at || (a.at === b.at && a.order < b.order);
