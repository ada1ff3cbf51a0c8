/**
 * A candidate of an election over NATS, as it should be written in any language (docs/features/elections.md).
 *
 * Promises: it believes that it leads only until its own count says that its time is over, and it counts from
 * before its request. The event feed tells it of its election at once; if it hears nothing, it asks again
 * within a third of its time.
 */

import type { Clock, Timer } from '../../../src/base/clock.ts';
import { asError } from '../../../src/base/errors.ts';
import type { Log } from '../../../src/base/log.ts';
import type { Bus, Subscription } from '../../../src/bus/bus.ts';
import { decode, encodeJson } from '../../../src/bus/codec.ts';
import { errorInAnswer } from '../../../src/bus/rpc.ts';
import type { ElectionAction, Subjects } from '../../../src/bus/subjects.ts';
import type { LeasePlace } from '../../../src/machines/election/lease-record.ts';

export interface CandidateParts {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly clock: Clock;
  readonly log: Log;
  /** Namespace and name of the Election. */
  readonly election: LeasePlace;
  readonly id: string;
  readonly ttlMs: number;
  readonly onLeading?: (term: number) => void;
  readonly onLost?: (term: number) => void;
}

interface Answer {
  readonly leading: boolean;
  readonly term?: number;
  readonly expiresInMs?: number;
}

export class Candidate {
  readonly id: string;
  readonly #parts: CandidateParts;
  readonly #feed: Subscription;
  #current: { readonly term: number; until: number } | null = null;
  #silentUntil = 0;
  #heardAt = 0;
  #timer: Timer | null = null;
  #isStopped = false;

  constructor(parts: CandidateParts) {
    const { bus, subjects, election, id } = parts;
    this.#parts = parts;
    this.id = id;
    this.#feed = bus.subscribe(
      subjects.event(`election/${election.namespace}/${election.name}`),
      ({ data }) => {
        const { event } = decode(data) as { event?: { type?: string; holder?: string } };
        if (this.#current === null && event?.type === 'lease.written' && event.holder === id) this.#tick();
      },
    );
    this.#tick();
  }

  /** The term in which it leads now; null: it does not lead. */
  term(): number | null {
    const current = this.#current;
    return current !== null && this.#parts.clock.monotonic() < current.until ? current.term : null;
  }

  /** When it last asked successfully whether it leads, monotonic ms; 0: it does not lead. */
  heardAt(): number {
    return this.#heardAt;
  }

  /** Resigns the leadership cleanly; campaigns again after a while. */
  async resign(): Promise<void> {
    const held = this.#current;
    if (held === null) return;
    this.#end();
    this.#again(this.#parts.ttlMs);
    await this.#request('resign', { candidate: this.id, term: held.term });
  }

  /** Says nothing for this long, as if it had died. */
  fallSilent(ms: number): void {
    this.#silentUntil = this.#parts.clock.monotonic() + ms;
    this.#again(ms);
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#feed.stop();
  }

  async #request(action: ElectionAction, body: object): Promise<Answer> {
    const { bus, subjects, election, ttlMs } = this.#parts;
    const subject = subjects.rpcElection(election.namespace, election.name, action);
    const answer = await bus.request(subject, encodeJson(body), { timeoutMs: ttlMs / 3 });
    const refused = errorInAnswer(answer);
    if (refused) throw refused;
    return decode(answer.data) as Answer;
  }

  #end(): void {
    const lost = this.#current;
    this.#current = null;
    this.#heardAt = 0;
    if (lost !== null) this.#parts.onLost?.(lost.term);
  }

  async #ask(): Promise<void> {
    const sentAt = this.#parts.clock.monotonic();
    if (this.#current !== null && sentAt >= this.#current.until) this.#end();
    const held = this.#current;
    const answer =
      held === null
        ? await this.#request('campaign', { candidate: this.id, ttlMs: this.#parts.ttlMs })
        : await this.#request('renew', { candidate: this.id, term: held.term });
    if (this.#isStopped || held !== this.#current) return;
    const { leading, term = 0, expiresInMs = 0 } = answer;
    if (!leading) return this.#end();
    const until = sentAt + expiresInMs;
    this.#heardAt = sentAt;
    if (held !== null) held.until = until;
    else {
      this.#current = { term, until };
      this.#parts.onLeading?.(term);
    }
  }

  #again(ms: number): void {
    this.#timer?.cancel();
    if (!this.#isStopped) this.#timer = this.#parts.clock.after(ms, () => this.#tick());
  }

  #tick(): void {
    const { clock, log, ttlMs } = this.#parts;
    const silentMs = this.#silentUntil - clock.monotonic();
    if (silentMs > 0) return void this.#again(silentMs);
    this.#again(ttlMs / 3);
    this.#ask().catch((error) =>
      log.debug({ candidate: this.id, error: asError(error).message }, 'no answer'),
    );
  }
}
