/**
 * Ownership: which replica holds which shard, and which mirrors which kind of Kubernetes object.
 *
 * A *holding* is anything that one replica at a time may work on. Its fence is a message on one literal subject: whoever writes it,
 * on condition that it is still the one that was seen, is the owner, and its stream sequence is the fence number. Every write made
 * as the owner is conditional on that sequence, so correctness does not rest on anybody's judgement here; planning may be fast.
 *
 * Rules: a holding is claimed when nobody owns it or its owner is missing, by the replica that rendezvous hashing names. It moves
 * by plan only to a replica that has lived for 5 s, at most `limits.plannedMoves` at a time.
 * Absent: what a holding does (each brings its own `Work`), saving, the judgement on who lives (directory.ts).
 */
import type { Bus, Following, StoredMessage, StreamName } from '../bus/bus.ts';
import { decode, encodeJson } from '../bus/codec.ts';
import type { Clock } from '../clock.ts';
import { asError, hasCode } from '../errors.ts';
import { limits } from '../limits.ts';
import { holdingEffectTypes, shardMachine } from '../machines/shard.ts';
import type { Random } from '../random.ts';
import type { Directory } from './directory.ts';
import type { HostLog, PlainEvent } from './host-parts.ts';
import { type LocalActor, startLocal } from './local.ts';
import { wantedOwner } from './rendezvous.ts';
import type { EffectData } from './step.ts';

/** What the owner of a holding does. */
export interface Work {
  /** Makes ready to work; rejects if it cannot be done now. */
  load(fence: number, signal: AbortSignal): Promise<void>;
  open(fence: number): void;
  /** Ends work in good order. */
  drain(fence: number): Promise<void>;
  /** Ends work at once: another replica is the owner. */
  drop(fence: number): void;
}

export interface HoldingSpec {
  /** `shard/7`, `watch/pods` */
  readonly name: string;
  readonly stream: StreamName;
  readonly fenceSubject: string;
  readonly work: Work;
}

/** The value of a fence message (JSON). */
interface FenceValue {
  /** null: given back by its last owner. */
  readonly replica: string | null;
  readonly incarnation: string;
  readonly at: number;
  /** When the owner before gave it back, if it did; the holding was nobody's from then on until `at`. */
  readonly releasedAt: number | null;
}

export interface HoldingView {
  readonly name: string;
  /** The owner as the fence says; null if nobody is. */
  readonly owner: string | null;
  readonly fence: number;
  /** State of this replica's own chart of the holding. */
  readonly state: string;
}

export interface OwnershipOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: HostLog;
  readonly replica: string;
  readonly directory: () => Directory;
  /** Streams and subjects on which fences stand. */
  readonly fences: ReadonlyArray<{ readonly stream: StreamName; readonly subject: string }>;
  readonly onMove?: (name: string) => void;
}

interface Held {
  readonly spec: HoldingSpec;
  readonly chart: LocalActor;
}

/** A replica must have lived so long before holdings are moved to it by plan. */
const provenAfterMs = 5_000;

export class Ownership {
  readonly #options: OwnershipOptions;
  readonly #held = new Map<string, Held>();
  readonly #fences = new Map<string, { value: FenceValue; sequence: number }>();
  readonly #followings: Following[] = [];
  #planning = false;
  #stopping = false;

  constructor(options: OwnershipOptions) {
    this.#options = options;
  }

  /** Learns all fences; nothing is claimed before. */
  async start(): Promise<void> {
    for (const { stream, subject } of this.#options.fences) {
      const following = await this.#options.bus.follow(stream, {
        subjects: [subject],
        from: { kind: 'lastPerSubject' },
        onMessage: (message) => this.#onFence(message),
      });
      this.#followings.push(following);
      await following.caughtUp;
    }
    this.#planning = true;
    this.plan();
  }

  add(spec: HoldingSpec): void {
    if (this.#held.has(spec.name)) return;
    const { clock, random, log } = this.#options;
    const chart = startLocal({
      machine: shardMachine,
      input: { name: spec.name },
      effectTypes: holdingEffectTypes,
      clock,
      random,
      runEffect: (effect, { signal }) => this.#run(spec, effect, signal),
      failureOf: (_effect, message) => ({ type: 'effect.failed', message }),
      onTransition: ({ event, from, to }) => {
        log.debug({ holding: spec.name, event: event.type, from, to }, 'holding');
        if (to === 'held.active') this.#options.onMove?.(spec.name);
        // A claim that was lost, or came before the release: who is to claim now? One that failed waits for the next beat.
        const isOpen = to === 'unowned' && from !== null && event.type !== 'effect.failed';
        if (isOpen) queueMicrotask(() => this.plan());
      },
    });
    this.#held.set(spec.name, { spec, chart });
    this.plan();
  }

  /** Lets go of a holding that does not exist any more. */
  remove(name: string): void {
    const held = this.#held.get(name);
    if (!held) return;
    held.chart.send({ type: 'holding.withdrawn' });
    this.#held.delete(name);
  }

  /** A write was refused, or its outcome is unknown: drop the holding at once; if it is still ours it is claimed anew. */
  fenced(name: string): void {
    this.#held.get(name)?.chart.send({ type: 'holding.fenced' });
    this.plan();
  }

  views(): HoldingView[] {
    return [...this.#held.values()].map(({ spec, chart }) => {
      const fence = this.#fences.get(spec.fenceSubject);
      return {
        name: spec.name,
        owner: fence?.value.replica ?? null,
        fence: fence?.sequence ?? 0,
        state: chart.state(),
      };
    });
  }

  /** Names of what this replica works on. */
  active(): string[] {
    return [...this.#held.values()].flatMap(({ spec, chart }) =>
      chart.state() === 'held.active' ? [spec.name] : [],
    );
  }

  /** Looks at every holding and does what is due. Cheap; called at each beat and each change. */
  plan(): void {
    if (!this.#planning) return;
    const live = this.#options.directory().live();
    if (live === null) return;
    const candidates = [...live.keys()];
    let moves = this.#movesInWork();
    for (const { spec, chart } of this.#held.values()) {
      const state = chart.state();
      const wanted = this.#stopping ? null : wantedOwner(spec.name, candidates);
      const isMine = wanted === this.#options.replica;
      if (state === 'unowned' && this.#mayClaim(spec, isMine)) {
        chart.send({ type: 'holding.assigned', seen: this.#fences.get(spec.fenceSubject)?.sequence ?? 0 });
      } else if (state.startsWith('held.') && !isMine && moves < limits.plannedMoves) {
        const heir = wanted === null ? null : live.get(wanted);
        const isProven = heir && this.#options.clock.monotonic() - heir.firstHeard >= provenAfterMs;
        if (!isProven || state !== 'held.active') continue;
        moves++;
        chart.send({ type: 'holding.withdrawn' });
      }
    }
  }

  /** Hands everything over; resolves when nothing is held any more, or after `patienceMs`. */
  async stop(patienceMs: number): Promise<void> {
    const { clock } = this.#options;
    this.#stopping = true;
    const until = clock.monotonic() + patienceMs;
    // Said again while it waits: a claim that was under way is won meanwhile.
    const withdraw = () => {
      const rest = [...this.#held.values()].filter(({ chart }) => chart.state() !== 'unowned');
      for (const { chart } of rest) chart.send({ type: 'holding.withdrawn' });
      return rest.length > 0;
    };
    while (withdraw() && clock.monotonic() < until)
      await new Promise<void>((resolve) => clock.after(2, resolve));
    for (const { chart } of this.#held.values()) chart.stop();
    for (const following of this.#followings) void following.stop();
  }

  #movesInWork(): number {
    let moves = 0;
    for (const { chart } of this.#held.values()) if (/draining|releasing/.test(chart.state())) moves++;
    return moves;
  }

  #mayClaim(spec: HoldingSpec, isMine: boolean): boolean {
    if (this.#stopping) return false;
    const owner = this.#fences.get(spec.fenceSubject)?.value;
    // Our own claim, of which the answer was lost: take it up again, whoever is wanted; the plan moves it later.
    if (owner?.replica === this.#options.replica) return true;
    if (!isMine) return false;
    if (!owner || owner.replica === null) return true;
    // One that leaves hands over by itself; taking it away meanwhile would cut short what it is finishing.
    return !this.#options.directory().isPresent(owner.replica, owner.incarnation);
  }

  #onFence(message: StoredMessage): void {
    const value = decode(message.data) as FenceValue;
    this.#fences.set(message.subject, { value, sequence: message.sequence });
    for (const { spec, chart } of this.#held.values()) {
      if (spec.fenceSubject !== message.subject) continue;
      const { fence } = chart.snapshot().context as { fence: number };
      const isForeign = value.replica !== null && value.incarnation !== this.#options.directory().incarnation;
      if (fence !== 0 && message.sequence > fence && isForeign) chart.send({ type: 'holding.fenced' });
    }
    if (value.replica === null) this.plan();
  }

  async #run(spec: HoldingSpec, effect: EffectData, signal: AbortSignal): Promise<PlainEvent> {
    const { work } = spec;
    const fence = Number(effect.fence ?? 0);
    switch (effect.type) {
      case 'holding.claim':
        return this.#claim(spec, Number(effect.seen));
      case 'holding.load':
        await work.load(fence, signal);
        return { type: 'holding.loaded' };
      case 'holding.open':
        work.open(fence);
        return { type: 'holding.opened' };
      case 'holding.drain':
        await work.drain(fence);
        return { type: 'holding.drained' };
      case 'holding.drop':
        work.drop(fence);
        return { type: 'holding.dropped' };
      default:
        // The next owner must find everything that was done under this fence before it claims, so work ends first.
        work.drop(fence);
        await this.#write(spec, { replica: null }, fence);
        return { type: 'holding.released' };
    }
  }

  async #claim(spec: HoldingSpec, seen: number): Promise<PlainEvent> {
    try {
      return { type: 'claim.won', fence: await this.#write(spec, { replica: this.#options.replica }, seen) };
    } catch (error) {
      if (hasCode(error, 'BUS_CONFLICT')) return { type: 'claim.lost' };
      this.#options.log.warn({ holding: spec.name, error: asError(error).message }, 'claim failed');
      throw error;
    }
  }

  async #write(spec: HoldingSpec, owner: { replica: string | null }, seen: number): Promise<number> {
    const { bus, clock } = this.#options;
    const { incarnation } = this.#options.directory();
    const before = this.#fences.get(spec.fenceSubject)?.value;
    const releasedAt = before?.replica === null ? before.at : null;
    const value: FenceValue = { ...owner, incarnation, at: clock.now(), releasedAt };
    const guard = { subject: spec.fenceSubject, sequence: seen };
    const { sequence } = await bus.append(spec.fenceSubject, encodeJson(value), { guard });
    return sequence;
  }
}
