/**
 * The engine: the parts of `actors/` put together into what one replica runs. Several engines may live in one
 * process (tests, simulation); all that they share is the bus they are handed.
 */

import type { Clock, Timer } from '../base/clock.ts';
import { asError, OrreryError } from '../base/errors.ts';
import { parseActorId } from '../base/ids.ts';
import { ledShard } from '../base/limits.ts';
import type { Tracing } from '../base/tracing.ts';
import type { Transition } from '../base/views.ts';
import type { Chart } from '../machines/chart.ts';
import { createAdmission } from './admission.ts';
import { livingIn } from './control/actor-views.ts';
import { type RunnableEffect, runnerOf } from './effect-runner.ts';
import { chartsOf, type EngineView, type Feature, type FeatureRun } from './feature.ts';
import { Host } from './host/host.ts';
import type { HostMetrics, HostParts } from './host/host-parts.ts';
import { createStepper } from './host/step.ts';
import { knowsOwners, startAcquaintance } from './shards/acquaintance.ts';
import { type Directory, startDirectory } from './shards/directory.ts';
import { editionRemarks, editionsIn, kindsElsewhere } from './shards/editions.ts';
import type { HoldingSpec } from './shards/holding.ts';
import { homesOf } from './shards/homes.ts';
import { earlierSilenceMs } from './shards/mail-origin.ts';
import type { Member } from './shards/members.ts';
import { Ownership } from './shards/ownership.ts';
import { createShards, type Shards } from './shards/shard-work.ts';
import { type Care, noCare } from './time/care.ts';
import { carefulStepper } from './time/careful-stepper.ts';
import { createPaces, heldBack } from './time/pace.ts';
import { pacedEffect } from './time/paced-effect.ts';
import { createRouter, type Router } from './world/router.ts';
import { createTraceNotes } from './world/trace-notes.ts';
import { World } from './world/world.ts';

export interface EngineParts extends Pick<HostParts, 'bus' | 'subjects' | 'clock' | 'random' | 'log'> {
  /** Of what only repeats itself, heartbeats and housekeeping; absent: `clock`. A simulation skips them. */
  readonly rhythm?: Clock | undefined;
  readonly metrics: HostMetrics & { shardMove(): void };
  readonly replica: string;
  /** Differs from start to start; made up if absent. */
  readonly incarnation?: string;
  readonly release: string;
  readonly features: readonly Pick<Feature, 'name' | 'kinds' | 'edition'>[];
  /** Brings the features to life in this engine. */
  readonly start: (engine: EngineView) => readonly FeatureRun[];
  /**
   * Whether this replica keeps up; while it does not, its holdings go to others, if there are any. Absent: it
   * does.
   */
  readonly isFit?: () => boolean;
  /** Runs the effects of charts; absent: `effects` and those of the features do. */
  readonly runEffect?: HostParts['runEffect'];
  /** Effects that charts of every feature may ask for. */
  readonly effects?: readonly RunnableEffect[];
  /** Absent: no traces are wanted. */
  readonly tracing?: Tracing | undefined;
  /** How code of loaded features is called; absent: as it is. */
  readonly care?: Care;
  readonly onStep?: (transition: Transition, context: unknown) => void;
  /** Into how many shards the streams deal; absent: as many as the program has (limits.ts). */
  readonly shards?: number;
  /**
   * Another replica that was there before lives under this one's name: it has ended what it did, and must end
   * itself.
   */
  readonly onNameTaken?: (error: OrreryError) => void;
}

/** How often idle cells are put to rest and checkpoints are saved. */
const housekeepingMs = 1_000;

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
  #stepsBefore = 0;
  #stepsPerSecond = 0;
  #isLeaving = false;
  /** Until it claims, nothing is to be left to it. */
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
      fences: [
        { stream: 'state', subject: subjects.fenceAll },
        // The world's own reader may hear of it later, and a mirror would begin with the picture of before.
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
    // A mirror that began before would compare with a picture that is not there any more.
    this.world.onForgotten(() => this.ownership.streamMadeAnew('world'));
  }

  get directory(): Directory {
    if (this.#directory === null) throw new Error('the engine is not started');
    return this.#directory;
  }

  /** Whether this replica's own heartbeats come back to it. */
  get hearsItself(): boolean {
    return this.#directory?.live() != null;
  }

  /**
   * Whether a replica lives, or did a moment ago, that reads what actors say to one another over
   * `send` alone.
   */
  hearsEarlier(): boolean {
    return this.#parts.clock.now() - this.parts.earlierHeardAt() < earlierSilenceMs;
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

  /** What an operator should know of the features of this replica, in words. */
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

  /**
   * Whether it may serve has changed: what it must not keep is handed over, what it may take again is
   * claimed.
   */
  servingChanged(): void {
    this.#directory?.beat();
    this.ownership.plan();
  }

  get stepsPerSecond(): number {
    return this.#stepsPerSecond;
  }

  /**
   * Reads the world, meets the other replicas, then begins to claim. @param holdings further holdings beside
   * the shards
   */
  async start(holdings: readonly HoldingSpec[] = []): Promise<void> {
    await Promise.all(this.runs.map(({ prepare }) => prepare?.()));
    const { bus, subjects, clock, random, replica } = this.#parts;
    const acquaintance = startAcquaintance(clock, () => {
      const fences = this.ownership.fences();
      return fences !== null && knowsOwners(replica, fences, this.directory);
    });
    this.#directory = startDirectory({
      bus,
      subjects,
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
    this.#directory?.stop();
    for (const run of this.shards.open()) this.host.drop(run, new Error('killed'));
    this.host.stop();
    this.world.stop();
    void this.ownership.stop(0);
  }

  /**
   * Tells one listener of every saved step and the context it led to; null: nobody watches, and nothing is
   * done.
   */
  watchSteps(watcher: ((transition: Transition, context: unknown) => void) | null): void {
    this.#stepWatcher = watcher;
  }

  #onStep(transition: Transition, context: unknown): void {
    this.#parts.onStep?.(transition, context);
    for (const { onStep } of this.runs) onStep?.(transition, context);
    this.#stepWatcher?.(transition, context);
  }

  /** Many changes of the world come in one packet: each actor is told once, after all of them are known. */
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
      actors,
      stepsPerSecond: this.#stepsPerSecond,
    };
  }

  /** The last one that is left keeps what it has: a replica that is ill is better than none. */
  #isUnfit(): boolean {
    const { isFit, replica } = this.#parts;
    if (isFit === undefined || isFit()) return false;
    const live = this.#directory?.live() ?? null;
    return live !== null && [...live.keys()].some((name) => name !== replica);
  }

  #keepHouse(): void {
    const { clock, rhythm = clock, log } = this.#parts;
    this.#housekeeping = rhythm.after(housekeepingMs, () => {
      this.#stepsPerSecond = Math.round(
        ((this.host.stats.steps - this.#stepsBefore) * 1000) / housekeepingMs,
      );
      this.#stepsBefore = this.host.stats.steps;
      this.host.sweep();
      for (const run of this.shards.open()) this.host.forgetEnded(run);
      this.shards
        .checkpoint()
        .catch((error) => log.warn({ error: asError(error).message }, 'checkpoint failed'))
        .finally(() => {
          if (!this.#isLeaving) this.#keepHouse();
        });
    });
  }
}

const suspectsOf = (members: readonly Member[]) => members.flatMap(({ suspects = [] }) => suspects);

function hostParts(
  parts: EngineParts & Pick<HostParts, 'earlierHeardAt' | 'elsewhere'>,
  runs: () => readonly FeatureRun[],
): HostParts {
  const charts = chartsOf(parts.features).filter(({ durable }) => durable);
  const homes = homesOf(parts.features, parts.subjects, parts.shards);
  const paces = createPaces(parts.clock, homes.featureOf);
  const stepperOf = (chart: Chart) => {
    const feature = homes.featureOf(chart.name);
    const stepper = createStepper(chart);
    return feature && parts.care
      ? carefulStepper(stepper, feature, parts.care, paces.ofFeature(feature))
      : stepper;
  };
  let runner: HostParts['runEffect'] | undefined = parts.runEffect;
  return {
    ...parts,
    steppers: new Map(charts.map((chart) => [chart.name, stepperOf(chart)])),
    effects: new Map(charts.flatMap(({ effects }) => effects.map((one) => [one.type, one] as const))),
    homes,
    paces,
    admission: createAdmission(parts.features.flatMap(({ kinds }) => kinds)),
    async runEffect(effect, context) {
      runner ??= runnerOf([...(parts.effects ?? []), ...runs().flatMap((run) => run.effects ?? [])]);
      return pacedEffect(paces.ofKind(parseActorId(context.actor).kind), effect, context, runner);
    },
  };
}
