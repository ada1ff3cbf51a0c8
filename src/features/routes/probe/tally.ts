/**
 * The tally of one round of calls: whom it met, whom it still misses, and what else answered.
 *
 * Promises: each address that answers with status 200 is reported once, and once more after it was asked for
 * again. A header value that is not an address counts as unhealthy under that value.
 */
import type { IpFamily } from '../../../base/address.ts';
import { limits } from '../../../base/limits.ts';
import type { SampleSummary } from '../../../machines/service/route-events.ts';
import type { ProbeAnswer, ProbeParts } from './call.ts';
import type { Progress } from './pace.ts';

export interface RoundResult {
  /** Calls that were made. */
  readonly calls: number;
  readonly summary: SampleSummary;
}

export class Tally implements Progress {
  readonly #replicas: number;
  readonly #parse: ProbeParts['parseAddress'];
  readonly #onHealthy: (ip: string, since: number) => void;
  readonly #others: () => number;
  /** Answers in a row from addresses that had answered before. */
  #stale = 0;
  readonly missing: Set<string>;
  /** An answer proves a Pod only in the family that was asked for. */
  readonly #families: ReadonlySet<IpFamily>;
  readonly #healthy = new Set<string>();
  readonly #told = new Set<string>();
  readonly #unhealthy = new Set<string>();
  #calls = 0;
  answered = 0;
  anonymous = 0;
  #anonymousStatus = Number.POSITIVE_INFINITY;
  unreachable = 0;
  fruitless = 0;
  readonly named = new Set<string>();
  #lastError: string | null = null;

  /** @param round.wanted canonical addresses */
  constructor(
    round: { readonly replicas: number; readonly wanted: readonly string[] },
    { parseAddress }: Pick<ProbeParts, 'parseAddress'>,
    /** `since`: when the call began, as it was noted. */
    onHealthy: (ip: string, since: number) => void,
    /** Pods that nobody asked the round for, but somebody will. */
    others: () => number = () => 0,
  ) {
    this.#others = others;
    this.#replicas = round.replicas;
    this.#parse = parseAddress;
    this.#onHealthy = onHealthy;
    this.missing = new Set(round.wanted);
    this.#families = new Set(round.wanted.flatMap((ip) => parseAddress(ip)?.family ?? []));
  }

  begin(): void {
    this.#calls += 1;
  }

  /** Adds addresses that the round has to meet from now on, and takes out those that it need not meet. */
  want(more: readonly string[], unwanted: readonly string[] | 'all' = []): void {
    if (unwanted === 'all') this.missing.clear();
    else for (const ip of unwanted) this.missing.delete(ip);
    for (const ip of more) {
      if (!this.asksFor(ip)) continue;
      this.missing.add(ip);
      // An answer from before this request proves nothing for it: the next one is reported again.
      this.#told.delete(ip);
    }
  }

  /** Whether an answer of the round can prove this address. */
  asksFor(ip: string): boolean {
    const { family } = this.#parse(ip) ?? {};
    return family !== undefined && this.#families.has(family);
  }

  note(answer: ProbeAnswer, since: number): void {
    if (answer.kind === 'unreachable') {
      this.unreachable += 1;
      this.#lastError = answer.error;
      return;
    }
    this.answered += 1;
    if (answer.kind === 'anonymous') this.#noteAnonymous(answer);
    else this.#noteNamed(answer, since);
  }

  #noteAnonymous({ status }: ProbeAnswer & { kind: 'anonymous' }): void {
    this.anonymous += 1;
    if (status !== 200) this.#anonymousStatus = Math.min(this.#anonymousStatus, status);
  }

  #noteNamed({ status, addresses, unreadable }: ProbeAnswer & { kind: 'named' }, since: number): void {
    const missing = this.missing.size;
    this.#stale = addresses.some(({ ip }) => !this.named.has(ip)) ? 0 : this.#stale + 1;
    for (const value of unreadable) {
      // Not an address, but not anonymous either: a backend that names itself wrongly can name itself.
      this.#unhealthy.add(value);
      this.#lastError = `the address header holds "${value}"`;
    }
    for (const { ip, family } of addresses) {
      this.named.add(ip);
      if (status !== 200) this.#unhealthy.add(ip);
      if (status !== 200 || this.#told.has(ip)) continue;
      this.#healthy.add(ip);
      this.#told.add(ip);
      this.missing.delete(ip);
      if (this.#families.has(family)) this.#onHealthy(ip, since);
    }
    this.fruitless = this.missing.size < missing ? 0 : this.fruitless + 1;
  }

  /** Ends the round's time: calls still in flight count as unreachable. */
  cut(): void {
    const inFlight = this.#calls - this.answered - this.unreachable;
    this.unreachable += inFlight;
    if (inFlight > 0) this.#lastError = 'no answer before the end of the round';
  }

  get isOver(): boolean {
    const isMute =
      this.answered === 0 && this.unreachable >= Math.max(limits.probeCallsAtOnce, this.#replicas);
    return isMute || (this.missing.size === 0 && !this.#hopes());
  }

  /**
   * Whether one more call would probably meet a Pod that will ask: together they are met with fewer calls and
   * rounds than one after the other.
   */
  #hopes(): boolean {
    const others = this.named.size > 0 ? this.#others() : 0;
    return others > 0 && this.#stale < this.#replicas / others;
  }

  get hasAnswer(): boolean {
    return this.answered > 0;
  }

  /** Calls were made, and nothing answered. */
  get isSilent(): boolean {
    return this.#calls > 0 && this.answered === 0;
  }

  get result(): RoundResult {
    return {
      calls: this.#calls,
      summary: {
        healthy: [...this.#healthy],
        unhealthy: [...this.#unhealthy],
        anonymous: this.anonymous,
        ...(Number.isFinite(this.#anonymousStatus) && { anonymousStatus: this.#anonymousStatus }),
        unreachable: this.unreachable,
        lastError: this.#lastError,
      },
    };
  }
}
