/**
 * One round of calls through a Service: which Pods does it reach?
 *
 * Promises: each address that answers with status 200 is reported once, as it is seen; the round ends early
 * when every wanted address has answered, when nothing has answered at all after as many calls as there are
 * replicas, and in any case after `limits.probeRoundMs`; a few calls at a time, and a single one while the
 * last round of the group met nothing but silence, so that Services that swallow calls hold few of the slots
 * of the process.
 * A header value that is no address counts as unhealthy under that value: it proves nobody, and it is no sign
 * of a backend that cannot name itself either.
 * Absent: when the next round follows, and what the answers mean; both are the Service chart's.
 */

import type { IpFamily } from '../../../base/address.ts';
import type { Clock } from '../../../base/clock.ts';
import { limits } from '../../../base/limits.ts';
import type { SampleSummary } from '../../../machines/service/route-events.ts';
import { type ProbeAnswer, type ProbeParts, type ProbeTarget, probeCall } from './call.ts';
import type { ProbeLimiter } from './limiter.ts';

export interface Round extends ProbeTarget {
  /** Fairness key of the limiter. */
  readonly group: string;
  readonly calls: number;
  /** Expected number of backends. */
  readonly replicas: number;
  /** Canonical addresses. */
  readonly wanted: readonly string[];
}

export interface RoundResult {
  /** Calls that were made. */
  readonly calls: number;
  readonly summary: SampleSummary;
}

export interface Sampler {
  /** @throws the signal's reason if it is aborted, OrreryError MAILBOX_FULL if too many calls wait */
  sample(
    round: Round,
    run: { readonly signal: AbortSignal; readonly onHealthy: (ip: string) => void },
  ): Promise<RoundResult>;
}

/** What a sampler needs. */
export interface SamplerParts extends ProbeParts {
  readonly limiter: ProbeLimiter;
  /** Makes one call; by default over HTTP. The simulation puts its own network in its place. */
  readonly call?: typeof probeCall;
}

export function createSampler(parts: SamplerParts): Sampler {
  const silent = createBoundedSet(limits.probeSilentGroups);
  return {
    async sample(round, { signal, onHealthy }) {
      const tally = createTally(round, parts, onHealthy);
      const ending = new AbortController();
      const timer = endAfter(parts.clock, round, ending, () => tally.cut());
      const both = AbortSignal.any([signal, ending.signal]);
      try {
        await makeCalls({
          round,
          tally,
          parts,
          ending,
          signal: both,
          isDoubtful: silent.has(round.group),
        });
      } finally {
        timer.cancel();
      }
      signal.throwIfAborted();
      silent.put(round.group, tally.isSilent());
      return tally.result();
    },
  };
}

interface Calls {
  readonly round: Round;
  readonly tally: Tally;
  readonly parts: SamplerParts;
  readonly ending: AbortController;
  readonly signal: AbortSignal;
  /** Nothing answered in the last round: one call at a time, until something does. */
  readonly isDoubtful: boolean;
}

async function makeCalls({ round, tally, parts, ending, signal, isDoubtful }: Calls): Promise<void> {
  const calls = Math.min(round.calls, limits.probeCallsPerRound);
  let begun = 0;
  const workers: Promise<void>[] = [];
  let failure: unknown;
  const work = async () => {
    try {
      while (begun < calls && !tally.isOver() && !signal.aborted) {
        begun += 1;
        const turn = { group: round.group, isDoubtful: isDoubtful && !tally.hasAnswer() };
        await parts.limiter.run(turn, call, signal);
        widen();
      }
    } catch (thrown) {
      // Also of a call that was waiting for its turn when the round ended; that is no failure.
      failure ??= thrown;
    }
  };
  const makeCall = parts.call ?? probeCall;
  const call = () => {
    tally.begin();
    return makeCall(round, parts, signal, (answer) => {
      tally.note(answer);
      if (tally.isOver()) ending.abort(new Error('the round is over'));
    });
  };
  const widen = () => {
    const wanted = isDoubtful && !tally.hasAnswer() ? 1 : limits.probeCallsAtOnce;
    while (workers.length < wanted) workers.push(work());
  };
  widen();
  // Workers can still be added while the first are awaited.
  for (const worker of workers) await worker;
  if (failure !== undefined && !ending.signal.aborted) throw failure;
}

interface Tally {
  begin(): void;
  note(answer: ProbeAnswer): void;
  /** The time of the round is over: what is in flight is not reached. */
  cut(): void;
  isOver(): boolean;
  hasAnswer(): boolean;
  /** Calls were made, and nothing has answered. */
  isSilent(): boolean;
  result(): RoundResult;
}

function createTally(round: Round, { parseAddress }: ProbeParts, onHealthy: (ip: string) => void): Tally {
  const missing = new Set(round.wanted);
  // An answer proves a Pod only for the family in which it was asked for.
  const families = new Set<IpFamily>(round.wanted.flatMap((ip) => parseAddress(ip)?.family ?? []));
  const healthy = new Set<string>();
  const unhealthy = new Set<string>();
  let [calls, answered, anonymous, unreachable] = [0, 0, 0, 0];
  let lastError: string | null = null;

  const noteNamed = ({ status, addresses, unreadable }: ProbeAnswer & { kind: 'named' }) => {
    for (const value of unreadable) {
      // No address of anybody, but not anonymous either: who names himself wrongly could name himself.
      unhealthy.add(value);
      lastError = `the address header holds "${value}"`;
    }
    for (const { ip, family } of addresses) {
      if (status !== 200) unhealthy.add(ip);
      if (status !== 200 || healthy.has(ip)) continue;
      healthy.add(ip);
      missing.delete(ip);
      if (families.has(family)) onHealthy(ip);
    }
  };
  return {
    begin() {
      calls += 1;
    },
    note(answer) {
      if (answer.kind === 'unreachable') {
        unreachable += 1;
        lastError = answer.error;
        return;
      }
      answered += 1;
      if (answer.kind === 'anonymous') anonymous += 1;
      else noteNamed(answer);
    },
    cut() {
      const inFlight = calls - answered - unreachable;
      unreachable += inFlight;
      if (inFlight > 0) lastError = 'no answer before the end of the round';
    },
    isOver: () =>
      missing.size === 0 ||
      (answered === 0 && unreachable >= Math.max(limits.probeCallsAtOnce, round.replicas)),
    hasAnswer: () => answered > 0,
    isSilent: () => calls > 0 && answered === 0,
    result: () => ({
      calls,
      summary: { healthy: [...healthy], unhealthy: [...unhealthy], anonymous, unreachable, lastError },
    }),
  };
}

/**
 * What the calls can take if each runs out of time, three at a time, and a little more; the host is more
 * patient than that.
 */
function endAfter(clock: Clock, { calls, timeoutMs }: Round, ending: AbortController, onEnd: () => void) {
  const patience = 2_000 + Math.ceil(calls / limits.probeCallsAtOnce) * timeoutMs;
  return clock.after(Math.min(patience, limits.probeRoundMs), () => {
    onEnd();
    ending.abort(new Error('the time of the round is over'));
  });
}

/** Forgets the oldest when it is full. */
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
