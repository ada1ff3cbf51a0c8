/**
 * One round of calls through a Service: which Pods does it reach?
 *
 * Promises: each address that answers with status 200 is reported once, as soon as it answers. The round ends
 * early when every wanted address has answered and no other Pod that waits is likely to be met, or when as
 * many calls as there are replicas met nothing but silence; it always ends `limits.probeRoundMs` after its
 * first turn. It makes one call at a time until something answers, then a few, and only one while the group's
 * last round met nothing but silence, so that Services that swallow calls hold few of the process's slots.
 * When the next call is due is in pace.ts, what the answers sum up to in tally.ts.
 * Absent: when the next round follows and what the answers mean; the Service chart decides both.
 */

import type { Clock } from '../../../base/clock.ts';
import { limits } from '../../../base/limits.ts';
import { type ProbeParts, type ProbeTarget, probeCall } from './call.ts';
import type { ProbeLimiter } from './limiter.ts';
import { isBusy, type Listing, Pace } from './pace.ts';
import { type RoundResult, Tally } from './tally.ts';

export interface Round extends ProbeTarget {
  /** Fairness key of the limiter. */
  readonly group: string;
  readonly calls: number;
  /** Expected number of backends. */
  readonly replicas: number;
  /** Canonical addresses. */
  readonly wanted: readonly string[];
}

/**
 * Lets a round in progress continue for more addresses, with at most this many calls in all, or no longer
 * for others: once none is left it ends, whatever it waits for.
 */
export type Widen = (change: {
  readonly calls: number;
  readonly wanted: readonly string[];
  readonly unwanted?: readonly string[] | 'all';
}) => void;

export interface Sampler {
  /** Rounds have to wait for each other. */
  isBusy(): boolean;
  /** @throws the signal's reason if it is aborted, OrreryError MAILBOX_FULL if too many calls wait */
  sample(
    round: Round,
    run: {
      readonly signal: AbortSignal;
      /** `uid`: of the Pod that had the address from before the call until its answer, where it is known. */
      readonly onHealthy: (ip: string, uid?: string) => void;
      /** Called at once; `widen` does nothing after the round. */
      readonly onBegun?: (widen: Widen) => void;
    },
  ): Promise<RoundResult>;
}

export interface SamplerParts extends ProbeParts {
  readonly limiter: ProbeLimiter;
  /** What EndpointSlices say; absent: nothing is known of them. */
  readonly listing?: Listing;
  /** Makes one call; by default over HTTP. The simulation puts its own network in its place. */
  readonly call?: typeof probeCall;
}

/** Pods that were met through a Service, of which no round expects anything: some 2 MB of names. */
const metMax = 16_384;

export function createSampler(parts: SamplerParts): Sampler {
  const silent = createBoundedSet(limits.probeSilentGroups);
  const met = createBoundedSet(metMax);
  const rounds = { running: 0, resting: 0 };
  return {
    isBusy: () => isBusy(rounds),
    async sample(round, { signal, onHealthy, onBegun }) {
      const { listing } = parts;
      const tally: Tally = new Tally(
        round,
        parts,
        (ip, since) => {
          const uid = listing?.podAt(round.group, ip, since);
          if (uid !== undefined) met.put(`${round.group}/${uid}`, true);
          onHealthy(ip, uid);
        },
        () => {
          const held = [...(listing?.heldAt(round.group) ?? [])];
          return held.filter(([ip, uid]) => tally.asksFor(ip) && !met.has(`${round.group}/${uid}`)).length;
        },
      );
      const ending = new AbortController();
      const timer = createEnd(parts.clock, ending, () => tally.cut());
      const bound = { calls: Math.min(round.calls, limits.probeCallsPerRound) };
      const backends = () => (round.replicas * bound.calls) / Math.max(1, round.calls);
      const pace = new Pace({
        ...{ clock: parts.clock, listing, group: round.group, progress: tally },
        ...{ attempts: round.calls / round.replicas, backends, rounds },
      });
      onBegun?.(({ calls, wanted, unwanted = [] }) => {
        bound.calls = Math.max(bound.calls, Math.min(calls, limits.probeCallsPerRound));
        tally.want(wanted, unwanted);
        if (tally.isOver) ending.abort(new Error('nobody waits for the round'));
        else pace.wake();
      });
      const both = AbortSignal.any([signal, ending.signal]);
      try {
        await makeCalls({
          round,
          bound,
          tally,
          pace,
          parts,
          ending,
          timer,
          signal: both,
          isDoubtful: silent.has(round.group),
        });
      } finally {
        timer.cancel();
        pace.end();
      }
      signal.throwIfAborted();
      // A round that got no turn missed nobody: it fails, unless nobody waits for it any more.
      if (tally.result.calls === 0 && !tally.isOver) ending.signal.throwIfAborted();
      if (tally.result.calls > 0) silent.put(round.group, tally.isSilent);
      return tally.result;
    },
  };
}

interface Calls {
  readonly round: Round;
  /** The most calls; grows when the round is widened. */
  readonly bound: { readonly calls: number };
  readonly tally: Tally;
  readonly pace: Pace;
  readonly parts: SamplerParts;
  readonly ending: AbortController;
  readonly timer: RoundEnd;
  readonly signal: AbortSignal;
  /** Nothing answered in the last round: one call at a time, until something does. */
  readonly isDoubtful: boolean;
}

/** Where a call takes longer than this, ms, others follow it, even if one could meet all who are missing. */
const slowCallMs = 100;
/** With more calls in flight each waits for the others: more of them would only be slower. */
const roomMax = limits.probeCallsInFlight / 4;

/** Makes one call; `onSlow` is called while it is still without an answer after a moment. */
function caller({ round, tally, pace, parts, ending, signal }: Calls, onSlow: () => void) {
  const { clock, listing, call = probeCall } = parts;
  return (): Promise<void> => {
    tally.begin();
    const begunAt = clock.monotonic();
    // Where this comes late too, it is the process that is slow.
    const onLate = () => clock.monotonic() - begunAt < 1.5 * slowCallMs && onSlow();
    const late = clock.after(slowCallMs, onLate);
    const since = listing?.moment() ?? 0;
    const made = call(round, parts, signal, (answer) => {
      late.cancel();
      tally.note(answer, since);
      pace.noted();
      if (tally.isOver) ending.abort(new Error('the round is over'));
    });
    return made.finally(() => late.cancel());
  };
}

async function makeCalls(calls: Calls): Promise<void> {
  const { round, bound, tally, pace, parts, ending, timer, signal, isDoubtful } = calls;
  let [begun, working, isSlow] = [0, 0, false];
  const workers: Promise<void>[] = [];
  let failure: unknown;
  const isBegun = () => {
    if (begun >= bound.calls || tally.isOver || signal.aborted) return false;
    begun += 1;
    return true;
  };
  /** No more calls at a time than could each meet somebody, unless calls are slow and few. */
  const wanted = () => {
    const most = tally.hasAnswer ? tally.missing.size : 1;
    const hasRoom = parts.limiter.inFlight <= roomMax;
    const isWide = isSlow && hasRoom && (tally.hasAnswer || !isDoubtful);
    return isWide ? limits.probeCallsAtOnce : Math.min(limits.probeCallsAtOnce, most);
  };
  const isSpare = () => working > Math.max(1, wanted());
  const work = async () => {
    working += 1;
    try {
      while (!isSpare()) {
        await pace.untilCall(signal);
        if (!isBegun()) break;
        const turn = {
          group: round.group,
          isDoubtful: isDoubtful && !tally.hasAnswer,
          hasAnswer: () => tally.hasAnswer,
          cost: callsPerAnswer(pace.prospects),
        };
        await parts.limiter.run(turn, callWhile, signal);
      }
    } catch (thrown) {
      // Also set by a call that waited for its turn when the round ended; that is no failure.
      failure ??= thrown;
    } finally {
      working -= 1;
    }
  };
  const call = caller(calls, () => {
    isSlow = true;
    widen();
  });
  const callWhile = async (lasts: () => boolean) => {
    timer.start();
    do {
      await call();
      widen();
    } while (!isSpare() && lasts() && pace.mayCall() && isBegun());
  };
  const widen = () => {
    while (working < wanted()) workers.push(work());
  };
  widen();
  // Workers may be added while the first ones are awaited.
  for (const worker of workers) await worker;
  if (failure !== undefined && !ending.signal.aborted) throw failure;
}

/** The calls until one meets somebody missing, where each meets one of the backends by chance. */
function callsPerAnswer({ backends, missing }: Pace['prospects']): number {
  let harmonic = 0;
  for (let nth = 1; nth <= missing; nth += 1) harmonic += 1 / nth;
  return (Math.max(backends, missing, 1) * Math.max(harmonic, 1)) / Math.max(1, missing);
}

/** The end of a round: `probeLineMs` without a turn, or `probeRoundMs` after the first one. */
interface RoundEnd {
  start(): void;
  cancel(): void;
}

function createEnd(clock: Clock, ending: AbortController, onEnd: () => void): RoundEnd {
  const end = (why: string) => () => {
    onEnd();
    ending.abort(new Error(why));
  };
  let isStarted = false;
  let timer = clock.after(limits.probeLineMs, end('no turn came in time'));
  return {
    start() {
      if (isStarted) return;
      isStarted = true;
      timer.cancel();
      timer = clock.after(limits.probeRoundMs, end('the time of the round is over'));
    },
    cancel: () => timer.cancel(),
  };
}

/** Forgets the oldest member when it is full. */
function createBoundedSet(sizeMax: number) {
  const members = new Set<string>();
  return {
    has: (member: string) => members.has(member),
    put(member: string, isMember: boolean) {
      members.delete(member);
      if (isMember) members.add(member);
      const [oldest] = members;
      if (members.size > sizeMax && oldest !== undefined) members.delete(oldest);
    },
  };
}
