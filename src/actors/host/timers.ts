/**
 * Deadlines of all actors of one replica: a heap by absolute time and one timer of the clock for the earliest.
 *
 * Deadlines are never taken out of the heap: whoever is called looks whether the deadline still stands in the actor's record,
 * so a cancelled one costs a comparison and no search.
 */
import type { Clock, Timer } from '../../base/clock.ts';

interface Deadline<T> {
  readonly at: number;
  readonly what: T;
}

export interface Timers<T> {
  /** @param at milliseconds since the epoch; one in the past is due at once */
  add(at: number, what: T): void;
  /** Deadlines that wait, cancelled ones included. */
  readonly size: number;
  stop(): void;
}

/** @param onDue called for each deadline that is over, earliest first */
export function createTimers<T>(clock: Clock, onDue: (what: T, at: number) => void): Timers<T> {
  const heap: Deadline<T>[] = [];
  let armed: { timer: Timer; at: number } | null = null;
  let stopped = false;

  const arm = () => {
    const earliest = heap[0];
    if (stopped || !earliest || (armed !== null && armed.at <= earliest.at)) return;
    armed?.timer.cancel();
    armed = { at: earliest.at, timer: clock.after(earliest.at - clock.now(), fire) };
  };
  const fire = () => {
    armed = null;
    const now = clock.now();
    for (let first = heap[0]; first && first.at <= now && !stopped; first = heap[0]) {
      removeFirst(heap);
      onDue(first.what, first.at);
    }
    arm();
  };

  return {
    add(at, what) {
      insert(heap, { at, what });
      arm();
    },
    get size() {
      return heap.length;
    },
    stop() {
      stopped = true;
      armed?.timer.cancel();
      heap.length = 0;
    },
  };
}

function insert<T>(heap: Deadline<T>[], entry: Deadline<T>): void {
  let index = heap.length;
  heap.push(entry);
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent];
    if (!above || above.at <= entry.at) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = entry;
}

function removeFirst<T>(heap: Deadline<T>[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    let child = 2 * index + 1;
    const left = heap[child];
    if (!left) break;
    const right = heap[child + 1];
    if (right && right.at < left.at) child++;
    const below = heap[child];
    if (!below || below.at >= last.at) break;
    heap[index] = below;
    index = child;
  }
  heap[index] = last;
}
