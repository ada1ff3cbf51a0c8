/**
 * One simulated replica: an engine in a process of its own, with a bus, effects and a view of time that can
 * all fail.
 *
 * The engine, the sampler, the patch, the Event and the message are the real ones; what they reach is
 * simulated.
 */

import { createProcess, type SimProcess } from '../../packages/testing/replicas/process.ts';
import { processBus } from '../../packages/testing/replicas/process-bus.ts';
import type { Chance } from '../../packages/testing/time/chance.ts';
import type { EffectContext } from '../../src/actors/effect-runner.ts';
import { Engine } from '../../src/actors/engine.ts';
import { sendMessage } from '../../src/actors/host/message-send.ts';
import type { EffectData } from '../../src/actors/host/step.ts';
import { parseAddress } from '../../src/base/address.ts';
import { asError } from '../../src/base/errors.ts';
import type { KubePort } from '../../src/base/kube-port.ts';
import { limits } from '../../src/base/limits.ts';
import type { PlainEvent } from '../../src/base/plain-event.ts';
import type { Bus } from '../../src/bus/bus.ts';
import type { AppendFate, LinkState } from '../../src/bus/memory/faults.ts';
import type { MemoryBus } from '../../src/bus/memory/memory-bus.ts';
import { patchPodCondition } from '../../src/features/routes/effects/pod-condition.ts';
import { createLimiter } from '../../src/features/routes/probe/limiter.ts';
import { createSampler } from '../../src/features/routes/probe/probe.ts';
import type { RoutesJoin } from '../../src/features/routes/routes-join.ts';
import { writeKubeEvent } from '../../src/kube/effects/kube-event.ts';
import type { RouteSample } from '../../src/machines/service/route-effects.ts';
import { features, joinsOf } from '../actors/test-features.ts';
import type { Effect } from '../machines/any-effect.ts';
import type { SimWorld } from './sim-world.ts';

export interface ReplicaParts {
  readonly world: SimWorld;
  readonly name: string;
  readonly chance: Chance;
  readonly skewMs: number;
  readonly sleepsWhilePaused: boolean;
}

export class SimReplica {
  readonly name: string;
  readonly process: SimProcess;
  readonly engine: Engine;
  routes: RoutesJoin | undefined;
  /** Its connection, for the faults. */
  readonly link: MemoryBus;
  /** What becomes of its appends, by subject; undefined: they are stored. */
  appendFate: ((subject: string) => AppendFate) | undefined;
  /** Since when no save of it can be stored, world time; null: they can. */
  mutedAt: number | null = null;
  isStopping = false;
  /** What it has tried to store since it began. */
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
      return this.appendFate?.(subject) ?? 'store';
    };
    const bus = processBus({
      bus: this.link,
      process: this.process,
      world: world.clock,
      lagMs: (stream) => world.lagMs(stream),
      onHandlerError: (error) => this.#complain(`a handler threw: ${error.message}`, ''),
    });
    this.engine = new Engine({
      bus,
      subjects: world.subjects,
      clock: this.process.clock,
      random: chance.of('engine').random,
      log: this.#log(),
      metrics: { transition() {}, stepSeconds() {}, effect() {}, shardMove() {}, deadLetter() {} },
      replica: name,
      release: '1.0.0',
      shards: world.shards,
      onNameTaken: () => this.kill(true),
      features,
      start: (view) => {
        const joins = joinsOf(view, { clock: this.process.clock, subjects: world.subjects, bus });
        this.routes = joins.routes;
        return joins.runs;
      },
      runEffect: this.#effects(bus),
    });
    this.engine.start().catch((error) => this.#complain(`start: ${asError(error).message}`, ''));
  }

  get isRunning(): boolean {
    return this.process.state === 'running' && !this.isStopping;
  }

  setLink(state: LinkState): void {
    this.link.faults.setLink(state);
    this.mutedAt = state === 'up' ? null : (this.mutedAt ?? this.#options.world.clock.now());
  }

  /**
   * The process ends without a word. @param isSent whether what it has written to its connection still
   * arrives
   */
  kill(isSent: boolean): void {
    this.process.die();
    if (!isSent) this.link.faults.setLink('down');
    void this.link.close();
  }

  /** Hands everything over, then ends. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.engine.stop(4_000);
    this.kill(true);
  }

  #complain(text: string, actor: string): void {
    if (this.process.state === 'dead') return;
    this.#options.world.see({ kind: 'complaint', replica: this.name, text, actor });
  }

  #log() {
    const quiet = () => {};
    const error = (facts: object, message: string) => {
      const { actor = '', error: cause = '' } = facts as { actor?: string; error?: string };
      this.#complain(`${message}: ${cause}`, actor);
    };
    const { trace } = this.#options.world;
    const say = trace && ((facts: object, message: string) => trace(this.name, facts, message));
    return { debug: say ?? quiet, info: say ?? quiet, warn: say ?? quiet, error };
  }

  #effects(bus: Bus) {
    const { world } = this.#options;
    const send = sendMessage(bus, world.subjects, () => this.engine.hearsEarlier(), world.shards);
    const sample = this.#sampling();
    return (data: EffectData, run: EffectContext): Promise<PlainEvent> => {
      const effect = data as unknown as Effect;
      const { key, actor } = run;
      world.see({ kind: 'effect', replica: this.name, key, actor, effect: data, mutedAt: this.mutedAt });
      const context = run as never;
      const kube = world.kube.portFor(this.process, world.weather, (patched) =>
        world.see({ kind: 'patched', replica: this.name, key, ...patched }),
      ) as KubePort;
      switch (effect.type) {
        case 'message.send':
          return send(effect, context) as Promise<PlainEvent>;
        case 'pod-condition.patch':
          return patchPodCondition(kube)(effect, context) as Promise<PlainEvent>;
        case 'kube-event.write':
          return writeKubeEvent(kube, { replica: this.name })(effect, context) as Promise<PlainEvent>;
        case 'route.sample':
          return sample(effect, run);
        default:
          return Promise.reject(new Error(`the simulated world has nothing that asks for ${effect.type}`));
      }
    };
  }

  /** As effects/route-sample.ts, with calls to the simulated routing. */
  #sampling() {
    const { world } = this.#options;
    const limiter = createLimiter({ inFlight: limits.probeCallsInFlight, waiting: limits.probeCallsWaiting });
    const { clock } = this.process;
    const call = world.routing.callFor(this.process);
    const sampler = createSampler({ limiter, clock, parseAddress, call });
    return async (effect: RouteSample, { signal, emit, actor }: EffectContext): Promise<PlainEvent> => {
      const { group, round, probe, calls, wanted } = effect;
      const { url, podIPHeaders, timeoutMs, attemptsPerReplica } = probe;
      const replicas = Math.max(1, Math.round(calls / Math.max(1, attemptsPerReplica)));
      const result = await sampler.sample(
        { group, url, podIPHeaders, timeoutMs, calls, replicas, wanted },
        { signal, onHealthy: (ip) => emit({ type: 'sample.answered', round, ip }) },
      );
      const { anonymous, healthy, unhealthy } = result.summary;
      const isAnonymous = anonymous > 0 && healthy.length + unhealthy.length === 0;
      world.see({ kind: 'round', actor, isAnonymous });
      return { type: 'sample.finished', round, ...result };
    };
  }
}
