import type { Clock } from '../../../src/base/clock.ts';

/** Sends something on its way: `fn` is called there after this time, or behind something slow even later. */
export type Lane = (delayMs: number, fn: () => void) => void;

interface Traveller {
  readonly at: number;
  readonly fn: () => void;
}

/**
 * A way on which nothing overtakes, as a connection is: what is slow keeps back what comes after it, and what
 * arrives at one moment arrives in one turn, as from one read of a socket.
 * @param arrive the door at the far end
 */
export function createLane(
  clock: Pick<Clock, 'monotonic' | 'after'>,
  arrive: (fn: () => void) => void,
): Lane {
  let waiting: Traveller[] = [];
  let lastAt = 0;
  const travel = () => {
    const first = waiting[0];
    if (first !== undefined) clock.after(first.at - clock.monotonic(), letIn);
  };
  const letIn = () => {
    const [first] = waiting;
    const now = Math.max(clock.monotonic(), first?.at ?? 0);
    const later = waiting.findIndex(({ at }) => at > now);
    const arrived = later === -1 ? waiting : waiting.slice(0, later);
    waiting = later === -1 ? [] : waiting.slice(later);
    travel();
    for (const { fn } of arrived) arrive(fn);
  };
  return (delayMs, fn) => {
    lastAt = Math.max(lastAt, clock.monotonic() + delayMs);
    waiting.push({ at: lastAt, fn });
    if (waiting.length === 1) travel();
  };
}
