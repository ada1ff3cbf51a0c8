/**
 * Several engines on one memory bus with virtual time, and an outside world that the test writes: effects are
 * recorded and answered as the test says.
 */

import type { EffectContext, RunnableEffect } from '../../src/actors/effect-runner.ts';
import { Engine } from '../../src/actors/engine.ts';
import type { Feature, FeatureParts } from '../../src/actors/feature.ts';
import { sendMessage } from '../../src/actors/host/message-send.ts';
import type { EffectData } from '../../src/actors/host/step.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { ActorId } from '../../src/base/ids.ts';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log-port.ts';
import type { PlainEvent } from '../../src/base/plain-event.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Transition } from '../../src/base/views.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { encode } from '../../src/bus/codec.ts';
import { type MemoryHub, memoryHub } from '../../src/bus/memory/hub.ts';
import type { MemoryBus } from '../../src/bus/memory/memory-bus.ts';
import type { Endpoint } from '../../src/bus/rpc.ts';
import { subjects as subjectsOf } from '../../src/bus/subjects.ts';
import type { EndpointsJoin } from '../../src/features/endpoints/endpoints-join.ts';
import type { PodDigest, ServiceDigest } from '../../src/features/routes/digests.ts';
import type { RouteGateSpec } from '../../src/features/routes/route-gate.ts';
import type { RoutesJoin } from '../../src/features/routes/routes-join.ts';
import type { RouteSample } from '../../src/machines/service/route-effects.ts';
import { FakeKube } from '../kube/fake-kube.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { MirrorStandIn } from './mirror-stand-in.ts';
import { features, joinsOf, type TestFeatures } from './test-features.ts';

export interface RanEffect {
  readonly replica: string;
  readonly effect: EffectData;
  readonly key: string;
}

/** The outside's answers; by default it reaches every Pod through every Service and accepts every patch. */
export type Outside = (effect: EffectData, run: EffectContext, replica: string) => Promise<PlainEvent>;

export interface TestReplica {
  readonly name: string;
  readonly engine: Engine;
  readonly bus: MemoryBus;
  readonly routes: RoutesJoin;
  readonly endpoints: EndpointsJoin;
  /** The request subjects of its features. */
  readonly requests: readonly Endpoint[];
  /** Stored messages that it found malformed. */
  readonly unreadable: readonly string[];
  /** Its log, of what is wrong. */
  readonly said: readonly string[];
}

export class TestCluster {
  readonly clock = new VirtualClock();
  readonly hub: MemoryHub;
  readonly subjects = subjectsOf('test');
  readonly #ran: RanEffect[] = [];
  readonly dead: string[] = [];
  /** Replicas that ended because another lives under their name. */
  readonly named: string[] = [];
  outside: Outside = reachable;
  /** Services hear of new Pods of their group a second later, as in the program: for replicas from now on. */
  isUnhurried = false;
  /** Holds the fences of the world that the test writes. */
  readonly mirror: MirrorStandIn;
  readonly #world: MemoryBus;
  readonly #ranByType = new Map<string, RanEffect[]>();
  #seed = 1;
  readonly #more: readonly Feature[];

  /**
   * @param more features besides the program's own joins: they run as they are, unless `outside` answers
   * their effects
   */
  constructor(more: readonly Feature[] = []) {
    this.#more = more;
    this.hub = memoryHub({ clock: this.clock, cluster: 'test' });
    this.#world = this.hub.connect('mirror');
    this.mirror = new MirrorStandIn({ bus: this.#world, subjects: this.subjects, clock: this.clock });
  }

  /**
   * @param options.bend a bus that misbehaves for this replica
   * @param options.isFit whether it should keep its shards
   * @param options.clock of its machine
   */
  async replica(
    name: string,
    options: {
      readonly bend?: (bus: Bus) => Bus;
      readonly isFit?: () => boolean;
      readonly clock?: Clock;
      /** Features of this replica besides the program's own; absent: those of the cluster. */
      readonly more?: readonly Feature[];
    } = {},
  ): Promise<TestReplica> {
    const { clock = this.clock, more: loaded = this.#more } = options;
    const bus = this.hub.connect(name);
    const send = sendMessage(bus, this.subjects, () => engine.hearsEarlier());
    const said: string[] = [];
    const say = (_: object, text: string) => void said.push(text);
    const unreadable: string[] = [];
    let joins: TestFeatures | undefined;
    let own: readonly RunnableEffect[] = [];
    const starters = await Promise.all(loaded.map((feature) => feature.load()));
    const engine: Engine = new Engine({
      bus: options.bend?.(bus) ?? bus,
      ...(options.isFit ? { isFit: options.isFit } : {}),
      subjects: this.subjects,
      clock,
      random: seededRandom(this.#seed++),
      log: { debug() {}, info() {}, warn: say, error: say },
      metrics: {
        transition() {},
        stepSeconds() {},
        effect() {},
        shardMove() {},
        unreadable: (what) => void unreadable.push(what),
        deadLetter: (reason) => void this.dead.push(reason),
      },
      replica: name,
      onNameTaken: ({ code }) => void this.named.push(`${name} ${code}`),
      release: '1.0.0',
      features: distinct([...features, ...loaded]),
      start: (view) => {
        joins = joinsOf(view, { clock, subjects: this.subjects, bus, isUnhurried: this.isUnhurried });
        const ports = { ...this.#portsOf(name, bus), engine: view };
        const more = starters.map((start) => start(ports));
        own = more.flatMap(({ effects = [] }) => effects);
        return [...joins.runs, ...more];
      },
      runEffect: (effect, run) => {
        this.#note({ replica: name, effect, key: run.key });
        const runner = own.find(({ type }) => type === effect.type);
        if (runner) return runner.run(effect, run);
        if (effect.type === 'message.send') return send(effect as never, run as never) as Promise<PlainEvent>;
        return this.outside(effect, run, name);
      },
    });
    await this.#begin(engine);
    if (joins === undefined) throw new Error('an engine starts its features when it is made');
    const { routes, endpoints, runs } = joins;
    const requests = runs.flatMap((run) => run.requests ?? []);
    return { name, engine, bus, routes, endpoints, requests, unreadable, said };
  }

  #note(one: RanEffect): void {
    this.#ran.push(one);
    const { type } = one.effect;
    const alike = this.#ranByType.get(type) ?? [];
    alike.push(one);
    this.#ranByType.set(type, alike);
  }

  async #begin(engine: Engine): Promise<void> {
    const starting = engine.start();
    await this.clock.advance(300);
    await starting;
    await this.clock.advance(50);
  }

  #portsOf(replica: string, bus: Bus): Omit<FeatureParts, 'engine'> {
    const { clock, subjects } = this;
    const metrics = { count() {}, observe() {} };
    const random = seededRandom(this.#seed++);
    const common = { bus, subjects, clock, random, metrics, replica, log: silentLog };
    return { ...common, kube: new FakeKube(), incarnation: replica, release: '1.0.0' };
  }

  /**
   * Puts an object into the world, as a mirror does; a statement goes under the fence of the mirror of its
   * name.
   */
  async put(resource: string, namespace: string, name: string, digest: object | null): Promise<void> {
    if (resource === '_synced' && digest !== null) return this.mirror.state(name, digest);
    await this.#world.append(this.subjects.world(resource, namespace, name), encode(digest));
  }

  /** Sends a message as an outsider does. */
  async mail(id: ActorId, message: object): Promise<void> {
    await this.#world.append(this.subjects.send(id), encode(message));
  }

  /** Lets time pass until the answer is there. */
  async whileTimePasses<T>(answer: Promise<T>): Promise<T> {
    let isThere = false;
    const end = () => {
      isThere = true;
    };
    answer.then(end, end);
    while (!isThere) await this.clock.advance(50);
    return answer;
  }

  /** Removes an object from the world, as a mirror does: with a tombstone that does not stay. */
  async remove(resource: string, namespace: string, name: string): Promise<void> {
    const ttlSeconds = limits.worldTombstoneSeconds;
    await this.#world.append(this.subjects.world(resource, namespace, name), new Uint8Array(), {
      ttlSeconds,
    });
  }

  /** Adds a RouteGate, Pods and Services of one group in namespace `shop`, completely mirrored. */
  /** The RouteGate of the shop, with further fields of its digest. */
  shopGate(more: object = {}): Promise<void> {
    const digest = { kind: 'routegates', ...base('gate-uid', {}), generation: 1, spec: gateSpec };
    return this.put('routegates', 'shop', 'gate', { ...digest, ...more });
  }

  async shop(pods: number, services: number): Promise<void> {
    await this.shopGate();
    for (let n = 0; n < services; n++) await this.put('services', 'shop', `svc-${n}`, service(n));
    for (let n = 0; n < pods; n++) await this.put('pods', 'shop', `web-${n}`, pod(n));
    await this.synced();
    await this.clock.advance(5);
  }

  async synced(): Promise<void> {
    for (const resource of ['routegates', 'pods', 'services', 'endpointslices']) {
      await this.put('_synced', '', resource, { kind: 'synced', gates: ['gate-uid/1'], resource });
    }
  }

  transitions(): Transition[] {
    return this.hub
      .stored('event')
      .map(({ data }) => JSON.parse(new TextDecoder().decode(data)) as Transition);
  }

  /** States after the last transition of each actor, from the event stream. */
  states(): Record<string, string> {
    return Object.fromEntries(this.transitions().map(({ id, to }) => [id, to]));
  }

  /** All effects that began, in order. */
  get ran(): readonly RanEffect[] {
    return this.#ran;
  }

  /** Sorted as they begin: tests ask after every few milliseconds of virtual time. */
  ranOf(type: string): RanEffect[] {
    return [...(this.#ranByType.get(type) ?? [])];
  }
}

export const reachable: Outside = async (effect, run) => {
  if (effect.type === 'route.sample') {
    const { wanted, round } = effect as unknown as RouteSample;
    for (const ip of wanted) run.emit({ type: 'sample.answered', round, ip });
    return finished(round, wanted);
  }
  if (effect.type === 'pod-condition.patch') return { type: 'condition.patched', status: effect.status };
  return { type: 'effect.settled', effect: effect.type, error: null };
};

export function finished(round: number, healthy: readonly string[]): PlainEvent {
  const summary = { healthy, unhealthy: [], anonymous: 0, unreachable: 0, lastError: null };
  return { type: 'sample.finished', round, calls: 1, summary };
}

const base = (uid: string, labels: Record<string, string>) => ({
  uid,
  resourceVersion: '1',
  createdAt: 0,
  deleting: false,
  labels,
});

export function pod(n: number, change: Partial<PodDigest> = {}): PodDigest {
  return {
    kind: 'pods',
    ...base(`pod-uid-${n}`, { app: 'web', group: 'one' }),
    address: { ip: `10.0.0.${n + 1}`, family: 'IPv4' },
    readinessGates: ['example.com/routes'],
    conditions: {},
    matchedEnv: [],
    ...change,
  };
}

export function service(n: number): ServiceDigest {
  return {
    kind: 'services',
    ...base(`svc${n}-uid-rest`, { routed: 'yes', group: 'one' }),
    clusterIPs: [{ ip: `10.1.0.${n + 1}`, family: 'IPv4' }],
    ports: [{ name: 'health', port: 80, protocol: 'TCP' }],
  };
}

export const gateSpec: RouteGateSpec = {
  conditionType: 'example.com/routes',
  podSelector: { matchLabels: { app: 'web' } },
  group: { podLabel: 'group', serviceLabel: 'group' },
  serviceSelector: { matchLabels: { routed: 'yes' } },
  groupResource: null,
  probe: {
    portName: 'health',
    path: '/healthz',
    podIPHeaders: { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' },
    timeoutSeconds: 3,
    attemptsPerReplica: 3,
    address: 'clusterIP',
    onlyIfEnv: null,
  },
  whenRouteIsLost: 'keep',
};

/** One feature per name: a feature under test may be in the list already. */
function distinct(all: readonly Feature[]): readonly Feature[] {
  return all.filter(({ name }, index) => all.findIndex((one) => one.name === name) === index);
}
