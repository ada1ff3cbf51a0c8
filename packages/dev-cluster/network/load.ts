/**
 * The load client: a number of requests a second through the Services, each over a connection of its own, and
 * a count of the lost ones.
 *
 * A request is lost if it is refused, reset, cut short, answered with a status other than 200, or not
 * answered in time. Promises: the clock sets the pace, not the answers (a slow Service gets no fewer
 * requests). At `clusterLimits.loadInFlight` a request is not sent and counts as lost. A client that was
 * itself late, since its machine is too busy, makes up for a second at most: more at once would keep it late.
 * With `onEased`, it halves its pace while most requests time out: on a machine that is too slow the requests
 * that were given up would otherwise keep every later one from being answered in time, for good.
 * `stop` waits for the answers in progress. Absent: latencies.
 */
import { get } from 'node:http';
import type { Clock, Timer } from '../../../src/base/clock.ts';
import { clusterLimits } from '../limits.ts';

export interface LoadTarget {
  readonly host: string;
  readonly port: number;
  readonly path: string;
}

export interface LoadCounts {
  readonly sent: number;
  readonly answered: number;
  readonly lost: number;
  /** Why requests were lost: `ECONNREFUSED`, `ECONNRESET`, `timeout`, `status 503`, … */
  readonly reasons: Readonly<Record<string, number>>;
  /** The longest time, ms, by which the client's own clock came late. */
  readonly lateMs: number;
}

export interface LoadParts {
  readonly clock: Clock;
  /** Called in turn; looked up for each request. */
  readonly targets: () => readonly LoadTarget[];
  readonly requestsPerSecond: number;
  readonly timeoutMs?: number;
  /** Called each second, and at the end, with what happened in it. */
  readonly onSecond?: (second: LoadCounts, total: LoadCounts) => void;
  readonly onLost?: (target: LoadTarget, reason: string) => void;
  /** Called with the pace from now on, requests a second. Absent: the pace stays. */
  readonly onEased?: (requestsPerSecond: number) => void;
}

export interface Load {
  counts(): LoadCounts;
  /**
   * Sends nothing more, waits for the answers in progress (at most the time-out), and returns the final
   * counts.
   */
  stop(): Promise<LoadCounts>;
}

/** Short enough that 100 requests a second go out one by one. */
const tickMs = 5;
/** So many bad seconds in a row are no pause of the machine. */
const easedAfterSeconds = 3;

export function startLoad(parts: LoadParts): Load {
  const { clock } = parts;
  const timeoutMs = parts.timeoutMs ?? 3_000;
  const total = createTally();
  let second = createTally();
  const inFlight = new Set<Promise<void>>();
  const startedAt = clock.monotonic();
  let secondEndsAt = startedAt + 1_000;
  let sent = 0;
  const pace = createPace(parts, timeoutMs, startedAt);
  let tickAt = startedAt;
  let timer: Timer | undefined;

  const lose = (target: LoadTarget, reason: string) => {
    total.lose(reason);
    second.lose(reason);
    parts.onLost?.(target, reason);
  };
  const send = (target: LoadTarget) => {
    total.send();
    second.send();
    if (inFlight.size >= clusterLimits.loadInFlight) return lose(target, 'too many in flight');
    const done = sendRequest(target, timeoutMs, clock).then((reason) => {
      inFlight.delete(done);
      if (reason !== null) return lose(target, reason);
      total.answer();
      second.answer();
    });
    inFlight.add(done);
  };
  const tick = () => {
    const now = clock.monotonic();
    for (const tally of [total, second]) tally.late(now - tickAt);
    const targets = parts.targets();
    for (let due = pace.due(now); due > 0; due -= 1) {
      const target = targets[sent++ % targets.length];
      if (target !== undefined) send(target);
    }
    if (now >= secondEndsAt) {
      parts.onSecond?.(second.counts(), total.counts());
      pace.judge(second.counts(), now);
      second = createTally();
      secondEndsAt = Math.max(secondEndsAt + 1_000, now);
    }
    tickAt = clock.monotonic() + tickMs;
    timer = clock.after(tickMs, tick);
  };
  tick();

  return {
    counts: () => total.counts(),
    async stop() {
      timer?.cancel();
      await Promise.all(inFlight);
      parts.onSecond?.(second.counts(), total.counts());
      return total.counts();
    },
  };
}

/** How many requests are due: monotonic times in, ms. */
function createPace({ requestsPerSecond, onEased }: LoadParts, timeoutMs: number, startedAt: number) {
  let perSecond = requestsPerSecond;
  let since = startedAt;
  let given = 0;
  let badSeconds = 0;
  return {
    due(now: number): number {
      const wanted = Math.floor(((now - since) / 1_000) * perSecond);
      const due = Math.min(wanted - given, perSecond);
      given = wanted;
      return due;
    },
    judge({ answered, reasons }: LoadCounts, now: number): void {
      badSeconds = (reasons.timeout ?? 0) > answered ? badSeconds + 1 : 0;
      // What was sent at the former pace still times out.
      const isSettled = now - since >= timeoutMs + easedAfterSeconds * 1_000;
      if (onEased === undefined || badSeconds < easedAfterSeconds || !isSettled || perSecond === 1) return;
      perSecond = Math.max(1, Math.floor(perSecond / 2));
      since = now;
      given = 0;
      onEased(perSecond);
    },
  };
}

/** One request over a connection of its own; resolves with why it was lost, or null. */
export function sendRequest(target: LoadTarget, timeoutMs: number, clock: Clock): Promise<string | null> {
  return new Promise((resolve) => {
    const request = get({ ...target, agent: false, headers: { connection: 'close' } });
    const timer = clock.after(timeoutMs, () => finish('timeout'));
    const finish = (reason: string | null) => {
      timer.cancel();
      resolve(reason);
      request.destroy();
    };
    request.once('response', (response) => {
      response.resume();
      response.once('end', () =>
        finish(response.statusCode === 200 ? null : `status ${response.statusCode}`),
      );
      response.once('close', () => finish('cut short'));
    });
    request.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.message));
  });
}

function createTally() {
  let sent = 0;
  let answered = 0;
  let lost = 0;
  let lateMs = 0;
  const reasons = new Map<string, number>();
  return {
    send() {
      sent += 1;
    },
    answer() {
      answered += 1;
    },
    late(ms: number) {
      lateMs = Math.max(lateMs, ms);
    },
    lose(reason: string) {
      lost += 1;
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    },
    counts: (): LoadCounts => ({ sent, answered, lost, reasons: Object.fromEntries(reasons), lateMs }),
  };
}
