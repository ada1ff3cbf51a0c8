/**
 * The process-wide limit on probe calls in flight, fair between groups.
 *
 * Promises: at most `inFlight` calls run. A turn is one slot: one call, and further calls of the same group
 * for up to `turnMs` while it wants them, so that answers close together are reported together. Turns go in
 * the order in which the groups would finish if each made one call in turn (fair queueing, Demers, Keshav and
 * Shenker 1989): a group with few calls soon gets its turn beside a thousand with many, and none starves. A
 * group without an answer so far takes no more slots than remain free (dynamic thresholds, Choudhury and
 * Hahne 1998). Doubtful groups (nothing answered in their last round) together hold at most half of the
 * slots, however many they are, so they never keep the others from calling. A caller that gives up before its
 * turn takes no slot.
 * Absent: how long one call may hold its slot; the call decides.
 */
import type { Clock } from '../../../base/clock.ts';
import { OrreryError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';

export interface ProbeLimiter {
  /**
   * Runs `work` at the group's turn. It makes one call, and asks `lasts` before each further one.
   *
   * @throws the signal's reason if aborted before the turn, MAILBOX_FULL if too many wait
   */
  run(turn: Turn, work: (lasts: () => boolean) => Promise<void>, signal: AbortSignal): Promise<void>;
  readonly inFlight: number;
  readonly waiting: number;
}

export interface Turn {
  readonly group: string;
  readonly isDoubtful: boolean;
  /** Expected number of calls for each answer that the group still wants. */
  readonly cost: number;
  /** Whether anything has answered by now. */
  hasAnswer(): boolean;
}

interface Waiting extends Turn {
  readonly start: () => void;
}

/** The turns that one group waits for; never empty. */
interface Queue {
  readonly group: string;
  /** When the group would get its answer, in calls dealt to each group by then. */
  readonly due: number;
  readonly turns: Set<Waiting>;
}

function firstOf(row: readonly Queue[], mayRun: (turn: Turn) => boolean) {
  for (const { due, turns } of row) {
    const [turn] = turns;
    if (turn !== undefined && mayRun(turn)) return { due, turn };
  }
  return undefined;
}

const boundsOfProcess = {
  inFlight: limits.probeCallsInFlight,
  waiting: limits.probeCallsWaiting,
  turnMs: limits.probeTurnMs,
} as const;
type Bounds = { readonly [name in keyof typeof boundsOfProcess]: number };

export class FairLimiter implements ProbeLimiter {
  readonly #bounds: Bounds;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** In the order of `due`; a group appears at most once in a row. */
  readonly #rows: Readonly<Record<'answering' | 'doubtful', Queue[]>> = { answering: [], doubtful: [] };
  readonly #held = new Map<string, number>();
  /**
   * Calls that each group could have made by now if they had been dealt out evenly among those that want
   * some.
   */
  #dealt = 0;
  #doubtful = 0;
  inFlight = 0;
  waiting = 0;

  constructor(clock: Pick<Clock, 'monotonic'>, bounds: Bounds = boundsOfProcess) {
    this.#bounds = bounds;
    this.#clock = clock;
  }

  async run(turn: Turn, work: (lasts: () => boolean) => Promise<void>, signal: AbortSignal): Promise<void> {
    await this.#wait(turn, signal);
    const until = this.#clock.monotonic() + this.#bounds.turnMs;
    this.#count();
    try {
      await work(() => {
        // A doubtful group queues for its next slot: by then it is known whether it answers.
        if (turn.isDoubtful || this.#clock.monotonic() >= until) return false;
        this.#count();
        return true;
      });
    } finally {
      this.#hold(turn, -1);
      this.#admit();
    }
  }

  #count(): void {
    const { answering, doubtful } = this.#rows;
    this.#dealt += 1 / Math.max(1, answering.length + doubtful.length + this.#held.size);
  }

  #mayDoubt = () => this.#doubtful < Math.ceil(this.#bounds.inFlight / 2);

  #mayRun({ group, hasAnswer }: Turn): boolean {
    const free = this.#bounds.inFlight - this.inFlight;
    const own = this.#held.get(group) ?? 0;
    return own < free || own === 0 || hasAnswer();
  }

  #hold({ group, isDoubtful }: Turn, slots: 1 | -1): void {
    this.inFlight += slots;
    if (isDoubtful) this.#doubtful += slots;
    const own = (this.#held.get(group) ?? 0) + slots;
    if (own === 0) this.#held.delete(group);
    else this.#held.set(group, own);
  }

  #admit(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) next.start();
  }

  /** The turn that is due first among those that may run. */
  #next(): Waiting | undefined {
    if (this.inFlight >= this.#bounds.inFlight) return undefined;
    const { answering, doubtful } = this.#rows;
    const first = firstOf(answering, (turn) => this.#mayRun(turn));
    const other = firstOf(this.#mayDoubt() ? doubtful : [], (turn) => this.#mayRun(turn));
    if (first === undefined || other === undefined) return (first ?? other)?.turn;
    return first.due <= other.due ? first.turn : other.turn;
  }

  #wait(turn: Turn, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      if (this.waiting >= this.#bounds.waiting) {
        return reject(new OrreryError('MAILBOX_FULL', `${this.waiting} probe calls wait already`));
      }
      const row = this.#rows[turn.isDoubtful ? 'doubtful' : 'answering'];
      const queue = this.#queueOf(turn, row);
      const leave = () => {
        signal.removeEventListener('abort', giveUp);
        queue.turns.delete(one);
        if (queue.turns.size === 0) row.splice(row.indexOf(queue), 1);
        this.waiting -= 1;
      };
      const giveUp = () => {
        leave();
        reject(signal.reason);
      };
      const start = () => {
        leave();
        this.#hold(turn, 1);
        resolve();
      };
      const one = { ...turn, start };
      signal.addEventListener('abort', giveUp, { once: true });
      queue.turns.add(one);
      this.waiting += 1;
      this.#admit();
    });
  }

  #queueOf({ group, cost }: Turn, row: Queue[]): Queue {
    const known = row.find((queue) => queue.group === group);
    if (known !== undefined) return known;
    const queue: Queue = { group, due: this.#dealt + cost, turns: new Set() };
    const later = row.findIndex(({ due }) => due > queue.due);
    row.splice(later < 0 ? row.length : later, 0, queue);
    return queue;
  }
}
