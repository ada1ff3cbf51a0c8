/**
 * The process-wide limit on probe calls in flight, fair between groups.
 *
 * Promises: at most `inFlight` calls run. Groups that wait take turns, one call each. While others want
 * slots, a group does not take one more than remain free (dynamic thresholds, Choudhury and Hahne 1998).
 * Groups that are doubtful (they swallowed every call of theirs last time) hold at most half of the slots
 * together, however many they are, so that those that answer are never kept from calling. A call that is
 * given up before its turn takes no slot.
 * Absent: time. How long a call may hold its slot is the call's own business.
 */
import { OrreryError } from '../../../base/errors.ts';

export interface ProbeLimiter {
  /**
   * Runs `call` at the group's turn. @throws the signal's reason if aborted, MAILBOX_FULL if too many wait
   */
  run<T>(turn: Turn, call: () => Promise<T>, signal: AbortSignal): Promise<T>;
  readonly inFlight: number;
  readonly waiting: number;
}

export interface Turn {
  readonly group: string;
  readonly isDoubtful: boolean;
}

interface Waiting extends Turn {
  readonly start: () => void;
}

export function createLimiter(bounds: { readonly inFlight: number; readonly waiting: number }): ProbeLimiter {
  /** Calls that wait, by group; the groups in the order of their turns. */
  const queues = new Map<string, Set<Waiting>>();
  const held = new Map<string, number>();
  let inFlight = 0;
  let doubtful = 0;
  let waiting = 0;

  const mayRun = ({ group, isDoubtful }: Turn) => {
    const free = bounds.inFlight - inFlight;
    const own = held.get(group) ?? 0;
    if (isDoubtful && doubtful >= Math.ceil(bounds.inFlight / 2)) return false;
    return free > 0 && (own === 0 || own < free);
  };
  const hold = ({ group, isDoubtful }: Turn, slots: 1 | -1) => {
    inFlight += slots;
    if (isDoubtful) doubtful += slots;
    const own = (held.get(group) ?? 0) + slots;
    if (own === 0) held.delete(group);
    else held.set(group, own);
  };
  /** Lets calls start, group by group; one that has had its turn goes to the end of the row. */
  const admit = () => {
    for (const [group, queue] of queues) {
      if (inFlight >= bounds.inFlight) return;
      const [first] = queue;
      if (first !== undefined && !mayRun(first)) continue;
      queues.delete(group);
      if (first === undefined) continue;
      queue.delete(first);
      if (queue.size > 0) queues.set(group, queue);
      waiting -= 1;
      first.start();
    }
  };
  const wait = (turn: Turn, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      if (waiting >= bounds.waiting) {
        return reject(new OrreryError('MAILBOX_FULL', `${waiting} probe calls wait already`));
      }
      const queue = queues.get(turn.group) ?? new Set();
      const one: Waiting = {
        ...turn,
        start() {
          signal.removeEventListener('abort', giveUp);
          hold(turn, 1);
          resolve();
        },
      };
      const giveUp = () => {
        queue.delete(one);
        if (queue.size === 0 && queues.get(turn.group) === queue) queues.delete(turn.group);
        waiting -= 1;
        reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      queues.set(turn.group, queue.add(one));
      waiting += 1;
      admit();
    });

  return {
    async run(turn, call, signal) {
      await wait(turn, signal);
      try {
        return await call();
      } finally {
        hold(turn, -1);
        admit();
      }
    },
    get inFlight() {
      return inFlight;
    },
    get waiting() {
      return waiting;
    },
  };
}
