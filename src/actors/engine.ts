/**
 * The engine: combines the parts of `actors/` into what one replica runs. Several engines may live in one
 * process (tests, simulation); they share nothing but the bus.
 */

import { type Timer, untilNextBeat } from '../base/clock.ts';
import { asError, OrreryError } from '../base/errors.ts';
import { ledShard } from '../base/limits.ts';
import type { Transition } from '../base/views.ts';
import { livingIn } from './control/actor-views.ts';
import { type EngineParts, hostParts } from './engine-parts.ts';
import type { EngineView, FeatureRun } from './feature.ts';
import { forgetEnded } from './host/cell.ts';
import { Host } from './host/host.ts';
import type { HostParts } from './host/host-parts.ts';
import { type Losses, watchLosses } from './lost-messages.ts';
import { type Directory, startDirectory } from './members/directory.ts';
import type { Member } from './members/members.ts';
import { knowsOwners, startAcquaintance } from './shards/acquaintance.ts';
import { editionRemarks, editionsIn, kindsElsewhere } from './shards/editions.ts';
import type { HoldingSpec } from './shards/holding.ts';
import { earlierSilenceMs } from './shards/mail-origin.ts';
import { Ownership } from './shards/ownership.ts';
import { createShards, type Shards } from './shards/shard-work.ts';
import { noCare } from './time/care.ts';
import { heldBack } from './time/pace.ts';
import { createRouter, type Router } from './world/router.ts';
import { createTraceNotes } from './world/trace-notes.ts';
import { World } from './world/world.ts';

/** How often idle cells are put to rest and checkpoints are saved. */
const housekeepingMs = 1_000;
const checkpointFailed =
  'checkpoint failed; it is tried again in a second, and nothing is lost. If this goes on, report it: it is a fault of Orrery';

export class Engine implements EngineView {
  readonly world: World;
  readonly runs: readonly FeatureRun[];
  readonly router: Router;
  readonly host: Host;
  readonly shards: Shards;
  readonly ownership: Ownership;
  readonly parts: HostParts;
  readonly #parts: EngineParts;
  #directory: Directory | null = null;
  #housekeeping: Timer | null = null;
  #losses: Losses | null = null;
  #stepsBefore = 0;
  #stepsPerSecond = 0;
  #isLeaving = false;
  /** Before it claims, other replicas must not leave anything to it. */
  #isClaiming = false;
  #pending: Set<string> | null = null;
  #stepWatcher: ((transition: Transition, context: unknown) => void) | null = null;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    const { bus, subjects, clock, random, log } = parts;
    const onStep = this.#onStep.bind(this);
    this.parts = hostParts(
      {
        ...parts,
        onStep,
        earlierHeardAt: () => this.#directory?.earlierHeardAt() ?? 0,
        elsewhere: () => kindsElsewhere(this.#directory?.all() ?? [], this.ownership.fences() ?? []),
      },
      () => this.runs,
    );
    this.world = new World({
      ...{ bus, subjects, clock, log },
      isAlive: (name, incarnation) => (this.hearsItself ? this.directory.isPresent(name, incarnation) : null),
      onUnreadable: () => parts.metrics.unreadable?.('world'),
    });
    this.runs = parts.start(this);
    this.router = createRouter(
      this.world,
      this.runs.flatMap(({ joins }) => joins ?? []),
    );
    this.host = new Host(this.parts);
    this.ownership = new Ownership({
      ...{ bus, clock, random, log, replica: parts.replica },
      directory: () => this.directory,
      isServing: () => this.#isServing,
      isOutside: () => this.runs.some(({ isOutside }) => isOutside?.() === true),
      fences: [
        { stream: 'state', subject: subjects.fenceAll },
        // The world's own reader may notice this later, and a mirror would start from the old picture.
        { stream: 'world', subject: subjects.worldFenceAll, onAnother: () => this.world.beginAnew() },
      ],
      onUnreadable: (subject) => {
        parts.metrics.unreadable?.('fence');
        log.error({ subject }, 'a fence cannot be read: the holding counts as nobody’s');
      },
      onOrphaned: (feature) => parts.care?.suspect(feature),
      onMove: (name) => {
        if (name.startsWith('shard/')) parts.metrics.shardMove();
      },
    });
    const traces = createTraceNotes();
    this.shards = createShards({
      parts: this.parts,
      host: this.host,
      router: this.router,
      world: this.world,
      onFenced: (holding) => this.ownership.fenced(holding),
      traces,
      shards: parts.shards,
    });
    this.router.onAffected((ids) => {
      if (parts.tracing) traces.note(ids, this.world.trace);
      this.#observeSoon(ids);
    });
    // A mirror that started earlier would compare with a picture that no longer exists.
    this.world.onForgotten(() => this.ownership.streamMadeAnew('world'));
  }

  get directory(): Directory {
    if (this.#directory === null) throw new Error('the engine is not started');
    return this.#directory;
  }

  /** Whether this replica receives its own heartbeats. */
  get hearsItself(): boolean {
    return this.#directory?.hearsSelf() === true;
  }

  /** Whether a replica is, or was until recently, alive that reads actors' messages from `send` only. */
  hearsEarlier(): boolean {
    return this.#parts.clock.now() - this.parts.earlierHeardAt() < earlierSilenceMs;
  }

  /**
   * Resolves once the picture of the world includes the stream up to this sequence, and holds nothing that
   * the stream has lost: a mirror compares Kubernetes with it.
   */
  async pictured(sequence: number): Promise<void> {
    await this.world.reached(sequence);
    if (await this.#losses?.look('world')) this.world.beginAnew();
  }

  get #isServing(): boolean {
    return this.blocked() === null;
  }

  /** Why this replica must not serve, in words; null: it may. */
  blocked(): string | null {
    for (const { blocked } of this.runs) {
      const reason = blocked?.() ?? null;
      if (reason !== null) return reason;
    }
    return null;
  }

  /** What an operator should know about this replica's features, in words. */
  remarks(): readonly string[] {
    const live = this.#directory?.live();
    const { care = noCare } = this.#parts;
    const held = this.parts.paces
      .used()
      .flatMap(({ feature, isHeld }) => (isHeld ? [heldBack(feature)] : []));
    const own = [...held, ...care.remarks(), ...this.runs.flatMap(({ remarks }) => remarks?.() ?? [])];
    if (live == null) return own;
    const { features, replica } = this.#parts;
    return [...own, ...editionRemarks(editionsIn(features), replica, [...live.values()])];
  }

  /** Whether it may serve has changed: hands over what it must not keep, and claims what it may. */
  servingChanged(): void {
    this.#directory?.beat();
    this.ownership.plan();
  }

  get stepsPerSecond(): number {
    return this.#stepsPerSecond;
  }

  /**
   * Reads the world, meets the other replicas, then starts to claim. @param holdings further holdings beside
   * the shards
   */
  async start(holdings: readonly HoldingSpec[] = []): Promise<void> {
    await Promise.all(this.runs.map(({ prepare }) => prepare?.()));
    const { bus, subjects, clock, random, replica, log } = this.#parts;
    const acquaintance = startAcquaintance(clock, () => {
      const fences = this.ownership.fences();
      return fences !== null && knowsOwners(replica, fences, this.directory);
    });
    this.#directory = startDirectory({
      ...{ bus, subjects, log },
      clock: this.#parts.rhythm ?? clock,
      replica,
      incarnation: this.#parts.incarnation ?? random.id(),
      describe: () => this.#describe(),
      onTwin: (incarnation, isElder) => this.#onTwin(incarnation, isElder),
      onChange: () => {
        this.world.judge();
        this.#parts.care?.heard(suspectsOf(this.#directory?.all() ?? []));
        this.ownership.plan();
        acquaintance.look();
      },
    });
    await Promise.all([this.world.start(), this.ownership.learn().then(acquaintance.look)]);
    const { world, ownership } = this;
    this.#losses = watchLosses({ ...this.parts, world, ownership, clock: this.#parts.rhythm ?? clock });
    const own = this.runs.flatMap((run) => run.holdings?.() ?? []);
    for (const holding of [...this.shards.holdings(), ...holdings, ...own]) this.ownership.add(holding);
    await acquaintance.made;
    await this.ownership.start();
    this.#isClaiming = true;
    this.#directory.beat();
    this.#keepHouse();
    for (const { started } of this.runs) started?.();
  }

  /** Hands everything over. @param patienceMs bound on the whole */
  async stop(patienceMs: number): Promise<void> {
    this.#isLeaving = true;
    this.#housekeeping?.cancel();
    this.#losses?.stop();
    this.#directory?.beat();
    await this.ownership.stop(patienceMs);
    await Promise.all(this.runs.map(({ stop }) => stop?.()));
    this.#directory?.stop();
    this.host.stop();
    this.world.stop();
  }

  /** Ends at once, as if the process had died: nothing is handed over. For tests and the simulation. */
  kill(): void {
    this.#housekeeping?.cancel();
    this.#losses?.stop();
    this.#directory?.stop();
    for (const run of this.shards.open()) this.host.drop(run, new Error('killed'));
    this.host.stop();
    this.world.stop();
    void this.ownership.stop(0);
  }

  /** Reports every saved step with its context to one listener; null: stops. */
  watchSteps(watcher: ((transition: Transition, context: unknown) => void) | null): void {
    this.#stepWatcher = watcher;
  }

  #onStep(transition: Transition, context: unknown): void {
    this.#parts.onStep?.(transition, context);
    for (const { onStep } of this.runs) onStep?.(transition, context);
    this.#stepWatcher?.(transition, context);
  }

  /**
   * Many changes of the world arrive in one packet: each actor is told once, after all of them are known.
   */
  #observeSoon(ids: ReadonlySet<string>): void {
    if (this.#pending !== null) {
      for (const id of ids) this.#pending.add(id);
      return;
    }
    const pending = new Set(ids);
    this.#pending = pending;
    queueMicrotask(() => {
      this.#pending = null;
      this.shards.observe(pending);
    });
  }

  #onTwin(incarnation: string, isElder: boolean): void {
    const { log, replica, onNameTaken } = this.#parts;
    const facts = { replica, incarnation };
    if (!isElder) {
      log.error(facts, 'another replica has started under this name; this one must end');
      return;
    }
    this.kill();
    onNameTaken?.(
      new OrreryError('REPLICA_NAME_TAKEN', `another replica lives under the name ${replica}; this one ends`),
    );
  }

  #describe() {
    const shards: number[] = [];
    let actors = 0;
    for (const run of this.shards.open()) {
      if (run.phase !== 'active') continue;
      if (typeof run.shard === 'number' && run.shard !== ledShard) shards.push(run.shard);
      actors += livingIn(run);
    }
    const { release, care = noCare } = this.#parts;
    const suspects = care.suspects();
    return {
      release,
      leaving: this.#isLeaving || !this.#isClaiming || this.#isUnfit(),
      serving: this.#isServing,
      tells: true,
      shards,
      editions: editionsIn(this.#parts.features),
      ...(suspects.length === 0 ? {} : { suspects }),
      ...this.#parts.alsoTold?.(),
      actors,
      stepsPerSecond: this.#stepsPerSecond,
    };
  }

  /** The last remaining replica keeps its holdings: an unfit replica is better than none. */
  #isUnfit(): boolean {
    const { isFit, replica } = this.#parts;
    if (isFit === undefined || isFit()) return false;
    const live = this.#directory?.live() ?? null;
    return live !== null && [...live.keys()].some((name) => name !== replica);
  }

  #keepHouse(): void {
    const { clock, rhythm = clock, log } = this.#parts;
    this.#housekeeping = rhythm.after(untilNextBeat(rhythm, housekeepingMs), () => {
      this.#stepsPerSecond = Math.round(
        ((this.host.stats.steps - this.#stepsBefore) * 1000) / housekeepingMs,
      );
      this.#stepsBefore = this.host.stats.steps;
      this.host.sweep();
      for (const run of this.shards.open()) forgetEnded(run, clock.monotonic());
      this.shards
        .checkpoint()
        .catch((error) => log.warn({ error: asError(error).message }, checkpointFailed))
        .finally(() => {
          if (!this.#isLeaving) this.#keepHouse();
        });
    });
  }
}

const suspectsOf = (members: readonly Member[]) => members.flatMap(({ suspects = [] }) => suspects);
