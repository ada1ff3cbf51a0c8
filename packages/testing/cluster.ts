/**
 * A cluster for tests of features, in one process, on a clock that only the test moves: a broker, a
 * Kubernetes API, and replicas that run the features as `orrery run` does, and die when told to.
 *
 * Promises: the same seed and the same test give the same run. Replicas have only the rights that the
 * features name, so a missing right fails here and not in production.
 */

import type { Feature, FeatureParts } from '../../src/actors/feature.ts';
import type { ActorRecord } from '../../src/actors/host/records.ts';
import { isForgotten } from '../../src/actors/host/records.ts';
import type { EffectData } from '../../src/actors/host/step.ts';
import { stateText } from '../../src/actors/host/step.ts';
import type { ActorId } from '../../src/base/ids.ts';
import type { Health, Transition } from '../../src/base/views.ts';
import { encode } from '../../src/bus/codec.ts';
import type { LinkState } from '../../src/bus/memory/faults.ts';
import { createRestPort } from '../../src/kube/api/rest.ts';
import type { Chart } from '../../src/machines/chart.ts';
import { asOfNow } from '../../src/machines/chart.ts';
import { stateWords, type Told } from '../../src/machines/tell.ts';
import { rightsOf } from '../../src/replica/rights.ts';
import { type ApiWeather, fairWeather, weathered } from './kubernetes/api-weather.ts';
import { MemoryKubernetes } from './kubernetes/memory-kubernetes.ts';
import { processTransport } from './kubernetes/process-transport.ts';
import { featureLife, loaded } from './replicas/feature-life.ts';
import { SimReplica } from './replicas/sim-replica.ts';
import type { Sighting } from './simulation/sightings.ts';
import { createStage, type Stage } from './simulation/stage.ts';
import { type Chance, createChance } from './time/chance.ts';
import { duration } from './time/duration.ts';

export interface ClusterOptions {
  readonly features: readonly Feature[];
  /** Source of ids and small delays; default 1. */
  readonly seed?: number;
  /** `all`: replicas may do everything. Default: what the features need. */
  readonly rights?: 'needed' | 'all';
  /** Answers the features' HTTP calls; absent: nobody does. */
  readonly fetch?: FeatureParts['fetch'];
}

/** An actor as in its last record. */
export interface ActorNow {
  readonly id: ActorId;
  readonly state: string;
  readonly context: unknown;
  readonly rev: number;
  readonly health: Health;
  /** What people are told. */
  readonly told: Told;
  /** Effects that were requested and have no outcome yet. */
  readonly pending: readonly string[];
}

/** An effect that a replica began to run. */
export interface RanEffect {
  readonly atMs: number;
  readonly replica: string;
  readonly key: string;
  readonly effect: EffectData;
}

export interface Replica {
  readonly name: string;
  /** Like SIGKILL. */
  kill(): void;
  /** Like SIGTERM: hands everything over first. */
  stop(): void;
  /** Like SIGSTOP, until `resume`. */
  pause(): void;
  resume(): void;
  /** Its own connection to the broker. `down`: it notices; `silent`: nobody does. */
  link(state: LinkState): void;
  /** What it reported as wrong. */
  readonly complaints: readonly string[];
}

const shards = 8;
const noAnswer: FeatureParts['fetch'] = () => Promise.reject(new Error('nobody answers in this test'));

export class TestCluster implements Disposable {
  readonly kube: MemoryKubernetes;
  /** Every effect that a replica began to run, in order. */
  readonly ran: RanEffect[] = [];
  /** Every step that was told, in order. */
  readonly transitions: Transition[] = [];
  /** What happens to requests to Kubernetes; default: all are served. */
  weather: ApiWeather = fairWeather;
  readonly #stage: Stage;
  readonly #chance: Chance;
  readonly #options: ClusterOptions;
  readonly #records = new Map<ActorId, ActorRecord>();
  readonly #replicas: SimReplica[] = [];
  readonly #complaints = new Map<string, string[]>();
  readonly #listeners: Array<(sighting: Sighting) => void> = [];
  #accounts = 0;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.#chance = createChance(options.seed ?? 1);
    const times = { latencyMaxMs: 1, followLagMaxMs: {} };
    const see = (sighting: Sighting) => this.#see(sighting);
    this.#stage = createStage({ chance: this.#chance, times, see, shards }, this.#chance.of('network'));
    this.kube = new MemoryKubernetes({
      clock: this.#stage.clock,
      random: this.#chance.of('kubernetes').random,
    });
  }

  /** Since the beginning, ms. */
  get atMs(): number {
    return this.#stage.clock.monotonic();
  }

  /** Milliseconds since the epoch, on every clock here. */
  get now(): number {
    return this.#stage.clock.now();
  }

  /**
   * Starts a replica, and gives it time to take its share.
   * @param features absent: those of the cluster
   */
  async start(name: string, features: readonly Feature[] = this.#options.features): Promise<Replica> {
    const used = await loaded(features);
    const transport = processTransport(this.kube.api, await this.#token(features));
    const stage = this.#stage;
    const lives = this.#chance.of(`life ${name} ${this.#replicas.length}`);
    const life = featureLife({
      stage,
      features: used,
      random: (replica) => lives.of(replica).random,
      fetch: this.#options.fetch ?? noAnswer,
      kube: ({ replica: { process } }) => {
        const weather: ApiWeather = {
          latencyMs: () => this.weather.latencyMs(),
          lateMs: () => this.weather.lateMs(),
          fate: (call) => this.weather.fate(call),
        };
        const parts = { transport, weather, clock: stage.clock, process };
        return createRestPort({ transport: weathered(parts), clock: process.clock });
      },
      onEffect: (effect, { key, replica }) => void this.ran.push({ atMs: this.atMs, replica, key, effect }),
    });
    const chance = this.#chance.of(`${name} ${this.#replicas.length}`);
    const times = { skewMs: 0, sleepsWhilePaused: false };
    const replica = new SimReplica({ world: stage, name, chance, ...times, life });
    this.#replicas.push(replica);
    const complaints = this.#complaints.get(name) ?? [];
    this.#complaints.set(name, complaints);
    await this.advance('2s');
    return {
      name,
      complaints,
      kill: () => replica.kill(false),
      stop: () => void replica.stop(),
      pause: () => replica.process.pause(),
      resume: () => replica.process.resume(),
      link: (state) => replica.setLink(state),
    };
  }

  /** Lets time pass: `'30s'`, `'5m'`, or milliseconds. */
  async advance(time: string | number): Promise<void> {
    await this.#stage.clock.run(duration(time));
  }

  /**
   * Lets time pass, in steps of 100 ms, until `probe` returns something truthy.
   * @returns that value
   *
   * @throws Error that names `what` and the state of every actor
   */
  async until<T>(
    what: string,
    probe: () => T | Promise<T>,
    within: string | number = '5m',
  ): Promise<NonNullable<T>> {
    const end = this.atMs + duration(within);
    for (;;) {
      const found = await probe();
      if (found) return found;
      if (this.atMs >= end) throw new Error(`waited ${within} for: ${what}\n${this.describe()}`);
      await this.advance(100);
    }
  }

  /** @returns null if there is none, or no longer */
  actor(id: ActorId): ActorNow | null {
    const record = this.#records.get(id);
    if (record === undefined || record.gone || isForgotten(record, this.now)) return null;
    return this.#now(id, record);
  }

  /** Every living actor, by id. */
  actors(): readonly ActorNow[] {
    return [...this.#records.keys()].sort().flatMap((id) => this.actor(id) ?? []);
  }

  /** Sends a message to an actor, as `orrery send` does. */
  async send(id: ActorId, type: string, fields: object = {}): Promise<void> {
    const { hub, subjects } = this.#stage;
    const bus = hub.connect('people');
    void bus.append(subjects.send(id), encode({ ...fields, type, id: this.#chance.random.id() }));
    await this.advance(100);
  }

  /** The broker, for every replica. `down`: they notice; `silent`: they do not. */
  broker(state: LinkState): void {
    for (const replica of this.#replicas) if (replica.process.state !== 'dead') replica.setLink(state);
  }

  /** The Kubernetes API for every replica; `away`: no request reaches it. */
  kubernetes(state: 'up' | 'away'): void {
    this.weather = state === 'up' ? fairWeather : { ...fairWeather, fate: () => 'reset' };
  }

  /** Calls back for everything that can be seen from outside; for checkers of your own. */
  listen(listener: (sighting: Sighting) => void): void {
    this.#listeners.push(listener);
  }

  /** The state of every actor, in words. */
  describe(): string {
    const lines = this.actors().map(
      ({ id, state, health, told, pending }) =>
        `${id}: ${state} (${health}) ${told.text}${pending.length > 0 ? `; runs ${pending.join(', ')}` : ''}`,
    );
    const wrong = [...this.#complaints].flatMap(([name, texts]) => texts.map((text) => `${name}: ${text}`));
    return [...lines, ...wrong].join('\n');
  }

  [Symbol.dispose](): void {
    for (const replica of this.#replicas) if (replica.process.state !== 'dead') replica.kill(false);
    this.kube.stop();
  }

  #now(id: ActorId, record: ActorRecord): ActorNow {
    const chart = this.#chartOf(record.machine);
    const { value, context } = chart ? asOfNow(chart, record.snapshot, record.version) : record.snapshot;
    const state = stateText(value);
    const { health, text } = chart ? stateWords(chart, state) : { health: 'waiting' as const, text: '' };
    const standing = { states: state.split(','), context, at: this.now, since: record.since };
    const told = chart?.tell?.(standing) ?? { text };
    const pending = record.outbox.map(({ effect }) => effect.type);
    return { id, state, context, rev: record.rev, health, told, pending };
  }

  #chartOf(name: string): Chart | undefined {
    return this.#options.features.flatMap(({ kinds }) => kinds).find(({ chart }) => chart.name === name)
      ?.chart;
  }

  async #token(features: readonly Feature[]): Promise<string> {
    if (this.#options.rights === 'all') return this.kube.api.token;
    const rules = rightsOf(features).map(({ apiGroup, resources, verbs }) => ({
      apiGroups: [apiGroup],
      resources: [...resources],
      verbs: [...verbs],
    }));
    return this.kube.account(`orrery-test-${++this.#accounts}`, rules);
  }

  #see(sighting: Sighting): void {
    if (sighting.kind === 'saved') this.#records.set(sighting.id, sighting.record);
    if (sighting.kind === 'told') this.transitions.push(sighting.transition);
    if (sighting.kind === 'complaint')
      this.#complaints.get(sighting.replica)?.push(`${sighting.actor} ${sighting.text}`.trim());
    for (const listener of this.#listeners) listener(sighting);
  }
}

/**
 * A cluster without replicas at first.
 * @throws OrreryError USAGE if two features do not fit together
 */
export function testCluster(options: ClusterOptions): TestCluster {
  return new TestCluster(options);
}
