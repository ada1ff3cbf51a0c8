/**
 * One process campaigns for itself on one Lease: the election chart in memory, with the process as its only
 * candidate.
 *
 * How to use it: call `startCampaign` with callbacks for winning and losing. `onLeading` receives a
 * leadership; its `signal` is aborted when it is over, and `check()`, to be called before anything that only
 * a leader may do, also asks the clock, so that a process that slept through the end of its leadership does
 * nothing. After a loss the process does not campaign until `campaign()` is called: what it did as the leader
 * has to end first. `stop()` gives the Lease back and ends. Promises: those of the chart
 * (machines/election/election.ts); `onLost` is called before anything more is asked of the API server.
 */

import { type EffectContext, runnerOf } from '../../actors/effect-runner.ts';
import type { FeatureParts } from '../../actors/feature.ts';
import { type LocalActor, startLocal } from '../../actors/host/local.ts';
import { leaseClock } from '../../actors/time/lease-clock.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { OrreryError } from '../../base/errors.ts';
import { electionChart } from '../../machines/election/election.ts';
import { deadlineOf } from '../../machines/election/election-candidates.ts';
import type { ElectionContext } from '../../machines/election/election-context.ts';
import type { ElectionEvent } from '../../machines/election/election-events.ts';
import {
  defaultTiming,
  type ElectionTiming,
  type LeasePlace,
  timingError,
} from '../../machines/election/lease-record.ts';
import { leaseEffects } from './effects/lease-effects.ts';
import { createLeaseStore } from './lease.ts';
import { createLeaseFollower } from './lease-follower.ts';

export interface Leadership {
  /** Fencing token: greater than that of every earlier leader. */
  readonly term: number;
  /** Aborted as soon as the leadership is over. */
  readonly signal: AbortSignal;
  /** @throws OrreryError NOT_OWNER if the leadership is over, by an event or by the clock */
  check(): void;
  /** How long this process leads if no further write succeeds, ms. */
  leftMs(): number;
  /** How long the Lease lasts if no further write succeeds: after that another candidate may lead, ms. */
  leaseLeftMs(): number;
}

export interface CampaignParts extends Pick<FeatureParts, 'kube' | 'clock' | 'random' | 'log'> {
  readonly place: LeasePlace;
  /** The candidate's identity, shown as the holder of the Lease. It must be unique. */
  readonly id: string;
  /** Default: 15 s, 10 s, 2 s. */
  readonly timing?: ElectionTiming;
  readonly onLeading: (leadership: Leadership) => void;
  /** The Lease was renewed, so the leadership lasts longer. */
  readonly onRenewed?: (leadership: Leadership) => void;
  /** Campaigning or renewing fails; it keeps trying. Called once for each new reason. */
  readonly onTrouble?: (message: string) => void;
  /** @param reason in words */
  readonly onLost: (leadership: Leadership, reason: string) => void;
}

/** @throws OrreryError USAGE if the id is empty or the times are inconsistent */
export function startCampaign(parts: CampaignParts): Campaign {
  const { place, id, timing = defaultTiming } = parts;
  const wrong = id === '' ? 'the identity must not be empty' : timingError(timing);
  if (wrong !== null) throw new OrreryError('USAGE', wrong);
  return new Campaign(parts, timing, `election/${place.namespace}/${place.name}`);
}

export class Campaign {
  readonly #parts: CampaignParts;
  readonly #timing: ElectionTiming;
  readonly #clock: Clock;
  readonly #actor: LocalActor;
  readonly #ended = Promise.withResolvers<void>();
  #current: { readonly leadership: Leadership; end(reason: Error): void } | null = null;
  #context: ElectionContext | null = null;
  #renewedAt = 0;

  constructor(parts: CampaignParts, timing: ElectionTiming, actor: string) {
    const { kube, random, log, place } = parts;
    const clock = leaseClock(parts.clock);
    this.#parts = parts;
    this.#timing = timing;
    this.#clock = clock;
    const store = createLeaseStore({ kube, clock });
    const watching = { kube, store, clock: parts.clock, random, log };
    const follower = createLeaseFollower({ ...watching, breadth: 'object' });
    const run = runnerOf(leaseEffects({ store, follower, clock }));
    const facts = { uid: null, generation: 0, place, timing, releaseOnCancel: true, invalid: null };
    this.#actor = startLocal({
      chart: electionChart,
      input: { id: actor, ...place },
      runEffect: (effect, { signal, emit }) =>
        run(effect, { key: actor, actor: actor as EffectContext['actor'], signal, emit }),
      clock,
      random,
      first: { type: 'election.observed', facts } satisfies ElectionEvent,
      onTransition: ({ snapshot }) => this.#follow(snapshot.context as ElectionContext, snapshot.status),
    });
    void this.#ended.promise.then(() => {
      this.#actor.stop();
      follower.stop();
    });
    this.campaign();
  }

  /** null: this process does not lead now, by the clock too. */
  leading(): Leadership | null {
    const leadership = this.#current?.leadership ?? null;
    return leadership === null || this.#isOver() ? null : leadership;
  }

  /** Campaigns again after a loss or a resignation; otherwise does nothing. */
  campaign(): void {
    this.#send({ type: 'election.campaign', candidate: this.#parts.id, ttlMs: null });
  }

  /** Gives the Lease back if it is held, and stops campaigning. */
  resign(): void {
    this.#send({ type: 'election.resign', candidate: this.#parts.id, term: 0 });
  }

  /** The leader and the chart's state, for people. */
  status() {
    const { seen = null, lastError = null } = this.#context ?? {};
    return { state: this.#actor.state(), holder: seen?.record?.holder || null, lastError };
  }

  /** Resigns and ends; resolves when the Lease is given back or cannot be. */
  async stop(): Promise<void> {
    this.#send({ type: 'election.observed', facts: null });
    const patience = new AbortController();
    // The latest time for two requests and their answers.
    const late = sleep(this.#parts.clock, this.#timing.renewDeadlineMs + 1_000, patience.signal);
    await Promise.race([this.#ended.promise, late]);
    patience.abort();
    late.catch(() => {});
    this.#ended.resolve();
  }

  #send(event: ElectionEvent): void {
    this.#actor.send(event);
  }

  #isOver(): boolean {
    return this.#context === null || this.#clock.now() >= deadlineOf(this.#context);
  }

  #follow(context: ElectionContext, status: string): void {
    const { reign, former, lastError } = context;
    if (lastError !== null && lastError !== this.#context?.lastError) this.#parts.onTrouble?.(lastError);
    this.#context = context;
    const current = this.#current;
    if (current !== null && current.leadership.term !== reign?.term) {
      this.#current = null;
      const reason = former?.reason ?? 'the election is over';
      current.end(new OrreryError('NOT_OWNER', reason));
      this.#parts.onLost(current.leadership, reason);
    }
    if (reign !== null && this.#current === null) this.#begin(reign.term);
    else if (this.#current !== null && reign?.renewedAt !== this.#renewedAt)
      this.#parts.onRenewed?.(this.#current.leadership);
    this.#renewedAt = reign?.renewedAt ?? 0;
    if (status === 'done') this.#ended.resolve();
  }

  #begin(term: number): void {
    const ending = new AbortController();
    const { signal } = ending;
    let leaseEnd = 0;
    const leadership: Leadership = {
      term,
      signal,
      check: () => {
        if (signal.aborted || this.#isOver()) {
          throw new OrreryError('NOT_OWNER', `the leadership of term ${term} is over`);
        }
      },
      leftMs: () =>
        signal.aborted || this.#context === null
          ? 0
          : Math.max(0, deadlineOf(this.#context) - this.#clock.now()),
      leaseLeftMs: () => {
        const reign = this.#context?.reign;
        if (reign?.term === term) leaseEnd = reign.renewedAt + this.#timing.leaseMs;
        else if (this.#context?.former?.term === term) leaseEnd = this.#context.former.leaseEnd;
        return Math.max(0, leaseEnd - this.#clock.now());
      },
    };
    this.#current = { leadership, end: (reason) => ending.abort(reason) };
    this.#parts.onLeading(leadership);
  }
}
