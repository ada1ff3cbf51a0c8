/** Timers of a virtual clock, the earliest first; those of one moment in the order in which they were set. */

import { insertInto, removeFirst } from '../../../src/actors/time/heap.ts';

export interface VirtualTimer {
  readonly at: number;
  readonly order: number;
  /** Only repeats itself, as a heartbeat does: whoever skips idle time need not stop for it. */
  readonly isRhythm: boolean;
  /** null: it was cancelled, and stays in its place until its time has come. */
  fn: (() => void) | null;
}

export class TimerHeap {
  readonly #heap: VirtualTimer[] = [];
  #order = 0;

  add(at: number, fn: () => void, isRhythm = false): VirtualTimer {
    const timer: VirtualTimer = { at, order: this.#order++, isRhythm, fn };
    insertInto(this.#heap, timer, isBefore);
    return timer;
  }

  /** When the first is due that is no rhythm; undefined: none is. */
  nextEvent(): number | undefined {
    let next: number | undefined;
    for (const { at, isRhythm, fn } of this.#heap)
      if (!isRhythm && fn !== null && (next === undefined || at < next)) next = at;
    return next;
  }

  /** Takes out the first that is due by then and was not cancelled. */
  takeDue(until: number): VirtualTimer | undefined {
    for (let first = this.#heap[0]; first && first.at <= until; first = this.#heap[0]) {
      removeFirst(this.#heap, isBefore);
      if (first.fn !== null) return first;
    }
    return undefined;
  }
}

const isBefore = (a: VirtualTimer, b: VirtualTimer) => a.at < b.at || (a.at === b.at && a.order < b.order);
