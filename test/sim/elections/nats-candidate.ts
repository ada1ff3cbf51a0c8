/**
 * A candidate over NATS, as docs/features/elections.md §5 requires: it campaigns while it waits and renews
 * while it leads, again within a third of its time. What it may believe of itself is kept for the checkers.
 */

import type { Clock } from '../../../src/base/clock.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import { decode, encodeJson } from '../../../src/bus/codec.ts';
import { headerOf } from '../../../src/bus/envelope.ts';
import type { LinkState } from '../../../src/bus/memory/faults.ts';
import type { Subjects } from '../../../src/bus/subjects.ts';

/** Until when somebody may act as the leader, world time. */
export interface Belief {
  readonly who: string;
  readonly election: string;
  /** null: it knows no terms. */
  readonly term: number | null;
  readonly until: number;
}

export interface CandidateParts {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly subjects: Subjects;
  readonly bus: Pick<Bus, 'request'>;
  /** Sets what happens to what it sends and receives. */
  readonly setLink: (state: LinkState) => void;
  readonly namespace: string;
  readonly election: string;
  readonly name: string;
  readonly ttlMs: number;
  readonly onBelief: (belief: Belief) => void;
}

const patienceMs = 4_000;

export class NatsCandidate {
  readonly name: string;
  belief: Belief | null = null;
  isCampaigning = true;
  /** How often it has stopped. */
  #stops = 0;
  readonly #parts: CandidateParts;

  constructor(parts: CandidateParts) {
    this.#parts = parts;
    this.name = parts.name;
    this.#again();
  }

  /** It says nothing more, and does not act either. */
  stop(): void {
    this.isCampaigning = false;
    this.#stops++;
    this.#believe(null);
  }

  resume(): void {
    this.isCampaigning = true;
  }

  /** Ends first, then reports it. */
  resign(): void {
    const term = this.belief?.term;
    this.stop();
    if (term !== undefined) void this.#ask('resign', { candidate: this.name, term });
  }

  setLink(state: LinkState): void {
    this.#parts.setLink(state);
  }

  get isLeading(): boolean {
    return this.belief !== null && this.belief.until > this.#parts.clock.now();
  }

  #again(): void {
    const { clock, ttlMs } = this.#parts;
    clock.after(ttlMs / 3, () => {
      if (!this.isCampaigning) return this.#again();
      void this.#campaign().finally(() => this.#again());
    });
  }

  async #campaign(): Promise<void> {
    const { clock, ttlMs } = this.#parts;
    const askedAt = clock.now();
    const stops = this.#stops;
    const { term } = this.belief ?? {};
    const answer = this.isLeading
      ? await this.#ask('renew', { candidate: this.name, term })
      : await this.#ask('campaign', { candidate: this.name, ttlMs });
    // What it asked before it resigned says nothing any more (§5.11).
    if (answer === null || stops !== this.#stops) return;
    const { leading, expiresInMs = 0, term: its = 0 } = answer;
    this.#believe(leading ? { until: askedAt + expiresInMs, term: its } : null);
  }

  #believe(led: { readonly until: number; readonly term: number } | null): void {
    const { election, namespace } = this.#parts;
    this.belief = led && { ...led, who: this.name, election: `${namespace}/${election}` };
    if (this.belief) this.#parts.onBelief(this.belief);
  }

  async #ask(verb: 'campaign' | 'renew' | 'resign', body: object): Promise<Answer | null> {
    const { bus, subjects, namespace, election, ttlMs } = this.#parts;
    const subject = subjects.rpcCandidate(namespace, election, this.name, verb);
    const timeoutMs = Math.min(patienceMs, ttlMs);
    try {
      const { data, headers } = await bus.request(subject, encodeJson(body), { timeoutMs });
      return headerOf(headers, 'Orrery-Error') === undefined ? (decode(data) as Answer) : null;
    } catch {
      // Nobody answered: the last answer counts until its end.
      return null;
    }
  }
}

interface Answer {
  readonly leading: boolean;
  readonly expiresInMs?: number;
  readonly term?: number;
}
