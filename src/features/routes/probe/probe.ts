/**
 * One round of calls through a Service: which Pods does it reach?
 *
 * Promises: each address that answers with status 200 is reported once, as soon as it answers. The round ends
 * early when every wanted address has answered, or when as many calls as there are replicas met nothing but
 * silence; it always ends `limits.probeRoundMs` after its first turn. It makes a few calls at a time, but
 * only one while the group's last round met nothing but silence, so that Services that swallow calls hold few
 * of the process's slots.
 * A header value that is not an address counts as unhealthy under that value. It proves no Pod, and yet such
 * a backend can name itself.
 * Absent: when the next round follows and what the answers mean; the Service chart decides both.
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

/** Lets a round in progress continue for more addresses, with at most this many calls in all. */
export type Widen = (more: { readonly calls: number; readonly wanted: readonly string[] }) => void;

export interface Sampler {
  /** @throws the signal's reason if it is aborted, OrreryError MAILBOX_FULL if too many calls wait */
  sample(
    round: Round,
    run: {
      readonly signal: AbortSignal;
      readonly onHealthy: (ip: string) => void;
      /** Called at once; `widen` does nothing after the round. */
      readonly onBegun?: (widen: Widen) => void;
    },
  ): Promise<RoundResult>;
}

export interface SamplerParts extends ProbeParts {
  readonly limiter: ProbeLimiter;
  /** Makes one call; by default over HTTP. The simulation puts its own network in its place. */
  readonly call?: typeof probeCall;
}

export function createSampler(parts: SamplerParts): Sampler {
  const silent = createBoundedSet(limits.probeSilentGroups);
  return {
    async sample(round, { signal, onHealthy, onBegun }) {
      const tally = new Tally(round, parts, onHealthy);
      const ending = new AbortController();
      const timer = createEnd(parts.clock, ending, () => tally.cut());
      const bound = { calls: Math.min(round.calls, limits.probeCallsPerRound) };
      onBegun?.(({ calls, wanted }) => {
        bound.calls = Math.max(bound.calls, Math.min(calls, limits.probeCallsPerRound));
        tally.want(wanted);
      });
      const both = AbortSignal.any([signal, ending.signal]);
      try {
        await makeCalls({
          round,
          bound,
          tally,
          parts,
          ending,
          timer,
          signal: both,
          isDoubtful: silent.has(round.group),
        });
      } finally {
        timer.cancel();
      }
      signal.throwIfAborted();
      // A round that got no turn missed nobody: it fails.
      if (tally.result.calls === 0) ending.signal.throwIfAborted();
      silent.put(round.group, tally.isSilent);
      return tally.result;
    },
  };
}

interface Calls {
  readonly round: Round;
  /** The most calls; grows when the round is widened. */
  readonly bound: { readonly calls: number };
  readonly tally: Tally;
  readonly parts: SamplerParts;
  readonly ending: AbortController;
  readonly timer: RoundEnd;
  readonly signal: AbortSignal;
  /** Nothing answered in the last round: one call at a time, until something does. */
  readonly isDoubtful: boolean;
}

async function makeCalls({
  round,
  bound,
  tally,
  parts,
  ending,
  timer,
  signal,
  isDoubtful,
}: Calls): Promise<void> {
  let begun = 0;
  const workers: Promise<void>[] = [];
  let failure: unknown;
  const backends = () => (round.replicas * bound.calls) / Math.max(1, round.calls);
  const isBegun = () => {
    if (begun >= bound.calls || tally.isOver || signal.aborted) return false;
    begun += 1;
    return true;
  };
  const work = async () => {
    try {
      while (isBegun()) {
        const turn = {
          group: round.group,
          isDoubtful: isDoubtful && !tally.hasAnswer,
          hasAnswer: () => tally.hasAnswer,
          cost: tally.callsPerAnswer(backends()),
        };
        await parts.limiter.run(turn, callWhile, signal);
      }
    } catch (thrown) {
      // Also set by a call that waited for its turn when the round ended; that is no failure.
      failure ??= thrown;
    }
  };
  const makeCall = parts.call ?? probeCall;
  const call = () => {
    tally.begin();
    return makeCall(round, parts, signal, (answer) => {
      tally.note(answer);
      if (tally.isOver) ending.abort(new Error('the round is over'));
    });
  };
  const callWhile = async (lasts: () => boolean) => {
    timer.start();
    do {
      await call();
      widen();
    } while (lasts() && isBegun());
  };
  const widen = () => {
    const wanted = isDoubtful && !tally.hasAnswer ? 1 : limits.probeCallsAtOnce;
    while (workers.length < wanted) workers.push(work());
  };
  widen();
  // Workers may be added while the first ones are awaited.
  for (const worker of workers) await worker;
  if (failure !== undefined && !ending.signal.aborted) throw failure;
}

/** What a round has seen so far. */
class Tally {
  readonly #round: Round;
  readonly #parse: ProbeParts['parseAddress'];
  readonly #onHealthy: (ip: string) => void;
  readonly #missing: Set<string>;
  /** An answer proves a Pod only in the family that was asked for. */
  readonly #families: ReadonlySet<IpFamily>;
  readonly #healthy = new Set<string>();
  readonly #told = new Set<string>();
  readonly #unhealthy = new Set<string>();
  #calls = 0;
  #answered = 0;
  #anonymous = 0;
  #unreachable = 0;
  #lastError: string | null = null;

  constructor(round: Round, { parseAddress }: ProbeParts, onHealthy: (ip: string) => void) {
    this.#round = round;
    this.#parse = parseAddress;
    this.#onHealthy = onHealthy;
    this.#missing = new Set(round.wanted);
    this.#families = new Set(round.wanted.flatMap((ip) => parseAddress(ip)?.family ?? []));
  }

  begin(): void {
    this.#calls += 1;
  }

  /** Adds addresses that the round has to meet from now on. */
  want(more: readonly string[]): void {
    for (const ip of more) {
      const { family } = this.#parse(ip) ?? {};
      if (family === undefined || !this.#families.has(family)) continue;
      this.#missing.add(ip);
      // An answer from before this request proves nothing for it: the next one is reported again.
      this.#told.delete(ip);
    }
  }

  note(answer: ProbeAnswer): void {
    if (answer.kind === 'unreachable') {
      this.#unreachable += 1;
      this.#lastError = answer.error;
      return;
    }
    this.#answered += 1;
    if (answer.kind === 'anonymous') this.#anonymous += 1;
    else this.#noteNamed(answer);
  }

  #noteNamed({ status, addresses, unreadable }: ProbeAnswer & { kind: 'named' }): void {
    for (const value of unreadable) {
      // Not an address, but not anonymous either: a backend that names itself wrongly can name itself.
      this.#unhealthy.add(value);
      this.#lastError = `the address header holds "${value}"`;
    }
    for (const { ip, family } of addresses) {
      if (status !== 200) this.#unhealthy.add(ip);
      if (status !== 200 || this.#told.has(ip)) continue;
      this.#healthy.add(ip);
      this.#told.add(ip);
      this.#missing.delete(ip);
      if (this.#families.has(family)) this.#onHealthy(ip);
    }
  }

  /** Ends the round's time: calls still in flight count as unreachable. */
  cut(): void {
    const inFlight = this.#calls - this.#answered - this.#unreachable;
    this.#unreachable += inFlight;
    if (inFlight > 0) this.#lastError = 'no answer before the end of the round';
  }

  get isOver(): boolean {
    const isMute =
      this.#answered === 0 && this.#unreachable >= Math.max(limits.probeCallsAtOnce, this.#round.replicas);
    return isMute || this.#missing.size === 0;
  }

  get hasAnswer(): boolean {
    return this.#answered > 0;
  }

  /** Calls were made, and nothing answered. */
  get isSilent(): boolean {
    return this.#calls > 0 && this.#answered === 0;
  }

  /** Average number of calls for each missing answer, if every call meets a random backend. */
  callsPerAnswer(backends: number): number {
    const missing = this.#missing.size;
    let harmonic = 0;
    for (let nth = 1; nth <= missing; nth += 1) harmonic += 1 / nth;
    return (Math.max(backends, missing) * harmonic) / Math.max(1, missing);
  }

  get result(): RoundResult {
    return {
      calls: this.#calls,
      summary: {
        healthy: [...this.#healthy],
        unhealthy: [...this.#unhealthy],
        anonymous: this.#anonymous,
        unreachable: this.#unreachable,
        lastError: this.#lastError,
      },
    };
  }
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
