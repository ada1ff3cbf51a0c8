/**
 * One simulated replica: an engine in a process of its own, with a bus and a view of time that can fail. Its
 * `life` says what runs in it.
 */

import { Engine } from '../../../src/actors/engine.ts';
import type { EngineParts } from '../../../src/actors/engine-parts.ts';
import type { EngineView, FeatureRun } from '../../../src/actors/feature.ts';
import type { HoldingSpec } from '../../../src/actors/shards/holding.ts';
import { asError } from '../../../src/base/errors.ts';
import type { Log } from '../../../src/base/log-port.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import type { AppendFate, LinkState } from '../../../src/bus/memory/faults.ts';
import type { MemoryBus } from '../../../src/bus/memory/memory-bus.ts';
import type { Stage } from '../simulation/stage.ts';
import type { Chance } from '../time/chance.ts';
import { createProcess, type SimProcess } from './process.ts';
import { processBus } from './process-bus.ts';

/** What runs in a replica: features, and the runners of their effects. */
export interface Life {
  readonly release: string;
  /** Differs from start to start; absent: the engine makes one up. */
  readonly incarnation?: string;
  readonly features: EngineParts['features'];
  readonly runEffect: NonNullable<EngineParts['runEffect']>;
  start(engine: EngineView): readonly FeatureRun[];
  /** Holdings besides the shards. */
  holdings?(engine: Engine): readonly HoldingSpec[];
  /** It has met the others and claims. */
  started?(engine: Engine): void;
}

/** What a life has to work with. */
export interface LifeParts {
  readonly replica: SimReplica;
  readonly bus: Bus;
  readonly log: Log;
}

export interface ReplicaParts {
  readonly world: Stage;
  readonly name: string;
  readonly chance: Chance;
  readonly skewMs: number;
  readonly sleepsWhilePaused: boolean;
  readonly life: (parts: LifeParts) => Life;
}

export class SimReplica {
  readonly name: string;
  readonly process: SimProcess;
  readonly engine: Engine;
  /** Its connection, as faults see it. */
  readonly link: MemoryBus;
  /** The fate of its appends, by subject; undefined: they are stored. */
  appendFate: ((subject: string) => AppendFate) | undefined;
  /** Since when none of its saves can be stored, world time; null: they can. */
  mutedAt: number | null = null;
  isStopping = false;
  /** Number of appends that it has tried since it began. */
  appends = 0;
  readonly #options: ReplicaParts;

  constructor(options: ReplicaParts) {
    const { world, name, chance, skewMs, sleepsWhilePaused } = options;
    this.#options = options;
    this.name = name;
    this.process = createProcess(world.clock, { skewMs, sleepsWhilePaused });
    this.link = world.hub.connect(name);
    this.link.faults.onAppend = (subject) => {
      this.appends++;
      const fate = this.appendFate?.(subject) ?? 'store';
      // A refusal is final, and the server would refuse no digest of a mirror.
      return fate === 'refuse' && subject.includes('.world.') ? 'requestLost' : fate;
    };
    const bus = processBus({
      bus: this.link,
      process: this.process,
      world: world.clock,
      lagMs: (stream) => world.lagMs(stream),
      onHandlerError: (error) => this.#complain(`a handler threw: ${error.message}`, ''),
    });
    const log = this.#log();
    const life = options.life({ replica: this, bus, log });
    this.engine = new Engine({
      bus,
      subjects: world.subjects,
      clock: this.process.clock,
      rhythm: this.process.rhythm,
      random: chance.of('engine').random,
      log,
      metrics: { transition() {}, stepSeconds() {}, effect() {}, shardMove() {}, deadLetter() {} },
      replica: name,
      release: life.release,
      ...(life.incarnation === undefined ? {} : { incarnation: life.incarnation }),
      shards: world.shards,
      onNameTaken: () => this.kill(true),
      features: life.features,
      start: (view) => life.start(view),
      runEffect: life.runEffect,
    });
    this.engine.start(life.holdings?.(this.engine)).then(
      () => life.started?.(this.engine),
      (error) => this.#complain(`start: ${asError(error).message}`, ''),
    );
  }

  get isRunning(): boolean {
    return this.process.state === 'running' && !this.isStopping;
  }

  /** Whether nothing that it sends or receives is lost, late or refused. */
  get isConnected(): boolean {
    return this.mutedAt === null && this.appendFate === undefined && this.link.faults.onReceive === undefined;
  }

  setLink(state: LinkState): void {
    this.link.faults.setLink(state);
    this.mutedAt = state === 'up' ? null : (this.mutedAt ?? this.#options.world.clock.now());
  }

  /**
   * Ends the process without a word.
   * @param isSent whether what it has written to its connection still arrives
   */
  kill(isSent: boolean): void {
    this.process.die();
    if (!isSent) this.link.faults.setLink('down');
    void this.link.close();
  }

  /** Hands everything over, then ends the process. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.engine.stop(4_000);
    this.kill(true);
  }

  #complain(text: string, actor: string): void {
    if (this.process.state === 'dead') return;
    this.#options.world.see({ kind: 'complaint', replica: this.name, text, actor });
  }

  #log(): Log {
    const quiet = () => {};
    const error = (facts: object, message: string) => {
      const { actor = '', error: cause = '' } = facts as { actor?: string; error?: string };
      this.#complain(`${message}: ${cause}`, actor);
    };
    const { trace } = this.#options.world;
    const say = trace && ((facts: object, message: string) => trace(this.name, facts, message));
    return { debug: say ?? quiet, info: say ?? quiet, warn: say ?? quiet, error };
  }
}
