/**
 * Ownership: which replica holds which shard, and which mirrors which kind of Kubernetes object.
 *
 * A *holding* is anything that one replica at a time may work on. Its fence is a message on one literal
 * subject. A replica becomes the owner by writing it, on condition that the fence has not changed since it
 * was read; the message's stream sequence is the fence number. Every write by the owner is conditional on
 * that sequence, so correctness does not depend on any judgement made here, and planning may be fast.
 *
 * Rules: a holding without a live owner is claimed by the replica that rendezvous hashing names. It moves by
 * plan only to a replica that has lived for 5 s, at most `limits.plannedMoves` at a time. Absent: what a
 * holding does (each brings its own `Work`), saving, and judging who lives (directory.ts).
 */

import { asError, hasCode } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { PlainEvent } from '../../base/plain-event.ts';
import type { Following, StoredMessage, StreamName } from '../../bus/bus.ts';
import { encodeJson } from '../../bus/codec.ts';
import { type HoldingContext, type HoldingEffect, shardChart } from '../../machines/shard/shard.ts';
import type { HostParts } from '../host/host-parts.ts';
import { type LocalActor, startLocal } from '../host/local.ts';
import type { Directory } from '../members/directory.ts';
import { createClaimTrouble, failedPauseMs } from './claim-trouble.ts';
import { holdersOf, mayHoldOf } from './editions.ts';
import { createFenceBook, type FenceBook, type KnownFence } from './fence-book.ts';
import { type FenceValue, isOrphaned } from './fence-value.ts';
import {
  type FencePlace,
  type HoldingSpec,
  type HoldingView,
  isGivenBack,
  runWork,
  withdraw,
} from './holding.ts';
import { rememberedOwners } from './rendezvous.ts';

export interface OwnershipParts extends Pick<HostParts, 'bus' | 'clock' | 'random' | 'log'> {
  readonly replica: string;
  readonly directory: () => Directory;
  /**
   * Whether this replica may work at all; false: it gives back all holdings without a `mayHold` of their own.
   */
  readonly isServing: () => boolean;
  /** Whether it may hold nothing at all. Default: it may. */
  readonly isOutside?: () => boolean;
  /** Where fences are stored. */
  readonly fences: readonly FencePlace[];
  readonly onMove?: (name: string) => void;
  /** A part of the feature was taken from a replica that ended without giving it back. */
  readonly onOrphaned?: (feature: string) => void;
  /** A fence is malformed. */
  readonly onUnreadable?: (subject: string) => void;
}

interface Held {
  readonly spec: HoldingSpec;
  readonly chart: LocalActor;
  /** When our last claim failed, or was lost and nobody knows to whom, monotonic ms. */
  failedAt: number;
  /** false: it is given back, then removed. */
  isWanted: boolean;
}

/** How long a replica must have lived before holdings move to it by plan. */
const provenAfterMs = 5_000;
/** What is lost a second time within this time is claimed at the next beat: a fault makes no tight loop. */
const lostAgainMs = 500;

export class Ownership {
  readonly #parts: OwnershipParts;
  readonly #held = new Map<string, Held>();
  /** The same by the subject of the fence. */
  readonly #bySubject = new Map<string, Held>();
  readonly #fences: FenceBook;
  readonly #followings: Following[] = [];
  /** When a holding was last dropped, monotonic ms. */
  readonly #fencedAt = new Map<string, number>();
  readonly #claimTrouble: ReturnType<typeof createClaimTrouble>;
  readonly #ownerAmong = rememberedOwners();
  #learning: Promise<unknown> | null = null;
  #knowsFences = false;
  #planning = false;
  #stopping = false;

  constructor(parts: OwnershipParts) {
    this.#parts = parts;
    this.#fences = createFenceBook(parts);
    this.#claimTrouble = createClaimTrouble(parts);
  }

  /** Reads all fences; claims nothing. */
  async learn(): Promise<void> {
    this.#learning ??= Promise.all(this.#parts.fences.map((fences) => this.#followFences(fences)));
    await this.#learning;
    this.#knowsFences = true;
  }

  /** Starts to claim, once all fences are known. */
  async start(): Promise<void> {
    await this.learn();
    this.#planning = true;
    this.plan();
  }

  /** The values of all fences; null while they are being read. */
  fences(): readonly FenceValue[] | null {
    return this.#knowsFences ? [...this.#fences.all.values()].map(({ value }) => value) : null;
  }

  /** The same by subject, with the sequence. */
  fencesBySubject(): ReadonlyMap<string, KnownFence> {
    return this.#fences.all;
  }

  async #followFences({ stream, subject, onAnother }: FencePlace): Promise<void> {
    const following = await this.#parts.bus.follow(stream, {
      subjects: [subject],
      from: { kind: 'lastPerSubject' },
      onMessage: (message) => this.#onFence(message),
      onAnother: onAnother ?? (() => this.streamMadeAnew(stream)),
    });
    this.#followings.push(following);
    await following.caughtUp;
  }

  add(spec: HoldingSpec): void {
    const known = this.#held.get(spec.name);
    if (known) {
      known.isWanted = true;
      return;
    }
    const { clock, random, log } = this.#parts;
    const chart = startLocal({
      chart: shardChart,
      input: { name: spec.name },
      clock,
      random,
      runEffect: (effect, { signal }) => this.#run(spec, effect as unknown as HoldingEffect, signal),
      onTransition: ({ event, from, to, snapshot }) => {
        log.debug({ holding: spec.name, event: event.type, from, to }, 'holding');
        if (to === 'held.active') this.#parts.onMove?.(spec.name);
        if (to === 'held.loading' && !this.#mayKeep(spec)) chart.send({ type: 'holding.withdrawn' });
        if (event.type === 'claim.lost') this.#onLost(spec, (snapshot.context as HoldingContext).seen);
      },
    });
    const held: Held = { spec, chart, failedAt: Number.NEGATIVE_INFINITY, isWanted: true };
    this.#held.set(spec.name, held);
    this.#bySubject.set(spec.fenceSubject, held);
    this.#planFor([held]);
  }

  /** Lets go of a holding that no longer exists. */
  remove(name: string): void {
    const held = this.#held.get(name);
    if (!held) return;
    held.isWanted = false;
    this.#planFor([held]);
  }

  /** A write was refused or has an unknown outcome: drops the holding; if still ours, it is claimed again. */
  fenced(name: string): void {
    const held = this.#held.get(name);
    held?.chart.send({ type: 'holding.fenced' });
    const now = this.#parts.clock.monotonic();
    const before = this.#fencedAt.get(name) ?? Number.NEGATIVE_INFINITY;
    this.#fencedAt.set(name, now);
    this.#claimTrouble.lost(name, now - before);
    if (held && now - before > lostAgainMs) this.#planFor([held]);
  }

  /** A recreated stream holds no fences: everything owned under one has to be claimed again. */
  streamMadeAnew(stream: StreamName): void {
    for (const held of [...this.#held.values()]) {
      if (held.spec.stream !== stream) continue;
      this.#fences.forget(held.spec.fenceSubject);
      this.fenced(held.spec.name);
    }
  }

  /** The owner that the fence of a holding names; null: nobody, or not one of our holdings. */
  ownerOf(name: string): string | null {
    const fenceSubject = this.#held.get(name)?.spec.fenceSubject ?? '';
    return this.#fences.value(fenceSubject)?.replica ?? null;
  }

  views(): HoldingView[] {
    return [...this.#held.values()].map(({ spec, chart }) => ({
      name: spec.name,
      owner: this.#fences.value(spec.fenceSubject)?.replica ?? null,
      fence: this.#fenceOf(spec),
      state: chart.state(),
    }));
  }

  /** Names of the holdings that this replica works on. */
  active(): string[] {
    return [...this.#held.values()].flatMap(({ spec, chart }) =>
      chart.state() === 'held.active' ? [spec.name] : [],
    );
  }

  /** Checks every holding and does what is due. Cheap; called at each beat. */
  plan(): void {
    this.#planFor([...this.#held.values()]);
  }

  /** Of many holdings that change hands together, each is news for itself only. */
  #planFor(holdings: readonly Held[]): void {
    if (!this.#planning) return;
    const live = this.#parts.directory().live();
    if (live === null) return;
    const members = [...live.values()];
    const serving = [...live].flatMap(([replica, member]) => (member.serving ? [replica] : []));
    let moves: number | undefined;
    const pausedAfter = this.#parts.clock.monotonic() - failedPauseMs;
    for (const held of holdings) {
      const { spec, chart, failedAt, isWanted } = held;
      const state = chart.state();
      if (!isWanted) {
        if (state === 'unowned') this.#forget(held);
        else withdraw(held);
        continue;
      }
      const candidates = spec.feature ? holdersOf(spec.feature.name, members) : serving;
      const wanted = this.#stopping ? null : this.#wantedOwner(spec, candidates);
      const isMine = wanted === this.#parts.replica;
      if (state === 'unowned') {
        if (failedAt > pausedAfter || !this.#mayClaim(spec, isMine)) continue;
        chart.send({ type: 'holding.assigned', seen: this.#fenceOf(spec) });
      } else if (state.startsWith('held.') && !this.#mayKeep(spec)) {
        withdraw(held);
      } else if (state === 'held.active' && !isMine) {
        const heir = wanted === null ? null : live.get(wanted);
        const isProven = heir && this.#parts.clock.monotonic() - heir.firstHeard >= provenAfterMs;
        moves ??= [...this.#held.values()].filter(isGivenBack).length;
        if (!isProven || moves >= limits.plannedMoves) continue;
        moves++;
        chart.send({ type: 'holding.withdrawn' });
      }
    }
  }

  /** Hands everything over; resolves when nothing is held, or after `patienceMs`. */
  async stop(patienceMs: number): Promise<void> {
    const { clock } = this.#parts;
    this.#stopping = true;
    const until = clock.monotonic() + patienceMs;
    // Repeated while waiting, because a claim in progress may be won meanwhile.
    const withdrawAll = () => {
      const rest = [...this.#held.values()].filter(({ chart }) => chart.state() !== 'unowned');
      for (const held of rest) withdraw(held);
      return rest.length > 0;
    };
    while (withdrawAll() && clock.monotonic() < until)
      await new Promise<void>((resolve) => clock.after(2, resolve));
    for (const { chart } of this.#held.values()) chart.stop();
    for (const following of this.#followings) void following.stop();
  }

  #forget(held: Held): void {
    const { name, fenceSubject, onForgotten } = held.spec;
    held.chart.stop();
    this.#held.delete(name);
    this.#bySubject.delete(fenceSubject);
    this.#fencedAt.delete(name);
    onForgotten?.();
  }

  /** Sequence of the last fence message seen. */
  #fenceOf({ fenceSubject }: HoldingSpec): number {
    return this.#fences.sequence(fenceSubject);
  }

  #wantedOwner({ name, mayHold }: HoldingSpec, candidates: readonly string[]): string | null {
    const { replica } = this.#parts;
    if (mayHold !== undefined) return mayHold() ? replica : null;
    return this.#ownerAmong(name, candidates);
  }

  /** Decides only that it must not stay, not where it goes: nobody needs to be there to take it. */
  #mayKeep({ mayHold, feature }: HoldingSpec): boolean {
    const { directory, replica, isServing, isOutside } = this.#parts;
    if (feature !== undefined && !mayHoldOf(feature.name, directory().live(), replica)) return false;
    return mayHold === undefined ? isServing() : mayHold() && isOutside?.() !== true;
  }

  #mayClaim(spec: HoldingSpec, isMine: boolean): boolean {
    if (this.#stopping) return false;
    const owner = this.#fences.value(spec.fenceSubject);
    const directory = this.#parts.directory();
    // Our own claim, whose answer was lost: take it up, whoever is wanted, or others wait as long as we live.
    // The plan moves it later; what may not be kept is given back at once.
    if (owner?.replica === this.#parts.replica && owner.incarnation === directory.incarnation) return true;
    if (!isMine || !this.#mayKeep(spec)) return false;
    if (!owner || owner.replica === null) return true;
    // A leaving replica hands over by itself; taking a holding from it would cut off what it is finishing. A
    // process under our name is not robbed either: one of the two ends (directory.ts).
    return !directory.isPresent(owner.replica, owner.incarnation);
  }

  /**
   * A claim was lost, perhaps to the message that gave the holding back: decides who should claim now. Where
   * the answer shows no newer fence, that one has expired since, or whoever answers has not heard of it yet.
   */
  #onLost(spec: HoldingSpec, seen: number): void {
    const held = this.#held.get(spec.name);
    if (held === undefined) return;
    if (seen === this.#fenceOf(spec)) held.failedAt = this.#parts.clock.monotonic();
    else queueMicrotask(() => this.#planFor([held]));
  }

  #onFence(message: StoredMessage): void {
    const value = this.#fences.hear(message);
    const held = this.#bySubject.get(message.subject);
    if (held === undefined) return;
    const { fence } = held.chart.snapshot().context as { fence: number };
    // A process that gave it back had taken it while we were cut off: only the last message is read.
    const isForeign = value.incarnation !== this.#parts.directory().incarnation;
    if (fence !== 0 && message.sequence > fence && isForeign) {
      this.#noteTwin(value);
      held.chart.send({ type: 'holding.fenced' });
    }
    if (value.replica !== null) return;
    // What we have given back makes room for the next planned move.
    if (isForeign) this.#planFor([held]);
    else this.plan();
  }

  /** A process that takes our fence lives. If it has our name, its beats may only have been lost. */
  #noteTwin({ replica, incarnation, ageMs }: FenceValue): void {
    if (replica !== this.#parts.replica) return;
    this.#parts
      .directory()
      .sawTwin({ incarnation, leaving: false, ...(ageMs === undefined ? {} : { ageMs }) });
  }

  #run(spec: HoldingSpec, effect: HoldingEffect, signal: AbortSignal): Promise<PlainEvent> {
    if (effect.type === 'holding.claim') return this.#claim(spec, effect.seen);
    const { fence } = effect;
    return runWork(spec.work, effect, signal, () => this.#write(spec, { replica: null }, fence));
  }

  async #claim(spec: HoldingSpec, seen: number): Promise<PlainEvent> {
    const before = this.#fences.value(spec.fenceSubject);
    try {
      const fence = await this.#write(spec, { replica: this.#parts.replica }, seen);
      const { incarnation } = this.#parts.directory();
      if (spec.feature && isOrphaned(before, incarnation)) this.#parts.onOrphaned?.(spec.feature.name);
      return { type: 'claim.won', fence };
    } catch (error) {
      if (hasCode(error, 'BUS_CONFLICT')) {
        await this.#fences.ask(spec.stream, spec.fenceSubject);
        return { type: 'claim.lost' };
      }
      this.#claimTrouble.failed(spec.name, asError(error).message);
      const held = this.#held.get(spec.name);
      if (held) held.failedAt = this.#parts.clock.monotonic();
      throw error;
    }
  }

  async #write(spec: HoldingSpec, owner: { replica: string | null }, seen: number): Promise<number> {
    const { bus, clock } = this.#parts;
    const { incarnation, ageMs } = this.#parts.directory();
    const before = this.#fences.value(spec.fenceSubject);
    const releasedAt = before?.replica === null ? before.at : null;
    const isRetired = owner.replica === null && this.#held.get(spec.name)?.isWanted === false;
    const value: FenceValue = {
      ...owner,
      ...{ incarnation, at: clock.now(), releasedAt, statesAnew: true, ageMs: ageMs() },
      ...(spec.feature ? { feature: spec.feature } : {}),
    };
    const guard = { subject: spec.fenceSubject, sequence: seen };
    const [said, ttl] = isRetired
      ? [{ ...value, isRetired }, { ttlSeconds: limits.worldTombstoneSeconds }]
      : [value, {}];
    return (await bus.append(spec.fenceSubject, encodeJson(said), { guard, ...ttl })).sequence;
  }
}
