/**
 * The deadlines of all actors of one replica: a heap by time, and one timer of the clock for the earliest.
 *
 * A deadline is a wall time by the clock at the moment when it was set. Promises: setting the clock later,
 * forward or back, moves no deadline; none is further away than its delay, even if the clock of the replica
 * that wrote it was ahead. Deadlines are never removed from the heap: the callback checks whether the
 * deadline is still in the actor's record, so a cancelled one costs a comparison and no search.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { insertInto, removeFirst } from '../time/heap.ts';
import { createLeapGauge } from '../time/lease-clock.ts';
import type { TimerRecord } from './records.ts';

interface Deadline<T> {
  /** By the clock at the start, whatever was set since. */
  readonly due: number;
  readonly at: number;
  readonly what: T;
}

export interface Timers<T> {
  /**
   * @param deadline.at milliseconds since the epoch; one in the past is due at once
   * @param deadline.delayMs the longest wait; absent: unlimited
   */
  add(deadline: Pick<TimerRecord, 'at' | 'delayMs'>, what: T): void;
  /** Checks for due deadlines: the clock's own timers stand still while the machine is suspended. */
  look(): void;
  /** Number of deadlines in the heap, cancelled ones included. */
  readonly size: number;
  stop(): void;
}

/** @param onDue called for each due deadline, earliest first */
export function createTimers<T>(clock: Clock, onDue: (what: T, at: number) => void): Timers<T> {
  const heap: Deadline<T>[] = [];
  let armed: { timer: Timer; due: number } | null = null;
  let stopped = false;
  const leapt = createLeapGauge(clock);
  const unset = () => clock.now() - leapt();

  const arm = () => {
    const earliest = heap[0];
    if (stopped || !earliest || (armed !== null && armed.due <= earliest.due)) return;
    armed?.timer.cancel();
    armed = { due: earliest.due, timer: clock.after(earliest.due - unset(), fire) };
  };
  const fire = () => {
    armed?.timer.cancel();
    armed = null;
    const now = unset();
    for (let first = heap[0]; first && first.due <= now && !stopped; first = heap[0]) {
      removeFirst(heap, isBefore);
      onDue(first.what, first.at);
    }
    arm();
  };

  return {
    add({ at, delayMs = Number.POSITIVE_INFINITY }, what) {
      const set = leapt();
      insertInto(heap, { due: Math.min(at, clock.now() + delayMs) - set, at, what }, isBefore);
      arm();
    },
    look() {
      const first = heap[0];
      if (first && !stopped && first.due <= unset()) fire();
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

const isBefore = (a: Deadline<unknown>, b: Deadline<unknown>) => a.due < b.due;
