/**
 * The connection of one client of the memory hub: a queue in each direction, and the state of the link.
 *
 * Promises: within one direction nothing overtakes; messages in transit when the link is cut never arrive,
 * and their sender is told (`onLost`) so that it can wait for its timeout.
 */
import type { BusStatus } from '../bus.ts';
import type { LinkState } from './faults.ts';

/** Runs `fn` later, exactly once. */
export type Schedule = (fn: () => void) => void;

export type MemoryLink = ReturnType<typeof memoryLink>;

export function memoryLink(schedule: Schedule) {
  let state: LinkState | 'closed' = 'up';
  const outbound = fifo(schedule);
  const inbound = fifo(schedule);
  const onChange = new Set<(state: LinkState | 'closed') => void>();
  return {
    /** Called at each change of state, after messages in transit were lost. */
    onChange,
    get state(): LinkState | 'closed' {
      return state;
    },
    get status(): BusStatus {
      if (state === 'closed') return 'closed';
      return state === 'down' ? 'disconnected' : 'connected';
    },
    toServer: (task: () => void, onLost?: () => void): void =>
      state === 'up' ? outbound.push(task, onLost) : onLost?.(),
    toClient: (task: () => void, onLost?: () => void): void =>
      state === 'up' ? inbound.push(task, onLost) : onLost?.(),
    set(next: LinkState | 'closed'): void {
      if (state === next || state === 'closed') return;
      state = next;
      outbound.drop();
      inbound.drop();
      for (const callback of [...onChange]) callback(next);
    },
  };
}

interface Entry {
  readonly task: () => void;
  readonly onLost: (() => void) | undefined;
}

function fifo(schedule: Schedule) {
  let entries: Entry[] = [];
  let head = 0;
  const runNext = (): void => {
    const entry = entries[head];
    if (!entry) return;
    if (++head === entries.length) {
      entries = [];
      head = 0;
    } else if (head >= 1024 && head * 2 > entries.length) {
      entries = entries.slice(head);
      head = 0;
    }
    entry.task();
  };
  return {
    push(task: () => void, onLost: (() => void) | undefined): void {
      entries.push({ task, onLost });
      schedule(runNext);
    },
    drop(): void {
      const lost = entries.slice(head);
      entries = [];
      head = 0;
      for (const entry of lost) entry.onLost?.();
    },
  };
}
