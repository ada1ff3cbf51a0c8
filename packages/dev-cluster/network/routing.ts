/**
 * The service routing stand-in, kube-proxy's part: each port of each Service listens on the Service's cluster
 * IP, which must be a loopback address (127.x), and balances real TCP connections at random over its ready
 * endpoints.
 *
 * A delay lies between a change of a slice and the routing's knowledge of it, which is the effect that Orrery
 * exists for: `addDelay` until a new endpoint gets connections, `removeDelay` until an old one gets no more.
 * A Service can set its own with the annotations `dev.orrery.dev/routing-delay` and
 * `dev.orrery.dev/routing-removal-delay` (`800ms`, or a range `200ms-3s`). Promises: without endpoints
 * nothing listens, so connections are refused. Established connections survive the removal of their endpoint.
 * Each address that becomes reachable is reported once. Absent: UDP, node ports, session affinity.
 */

import { asError, hasCode } from '../../../src/base/errors.ts';
import { endpointSlices, services as serviceResource } from '../../../src/kube/api/resources.ts';
import { isLoopback, type Network, parseNetwork, socketAddress } from '../../kube-api/socket-addresses.ts';
import { serviceLabel } from '../controllers/endpoint-slices.ts';
import { type Informer, startInformer } from '../controllers/informer.ts';
import { createReconciler, type Reconciler } from '../controllers/reconciler.ts';
import {
  devAnnotation,
  type EndpointSliceObject,
  isDeleting,
  keyOf,
  type ServiceObject,
  splitKey,
} from '../objects.ts';
import type { DevPart, DevParts } from '../parts.ts';
import { type DurationRange, drawMs, parseDurationRange } from '../scenarios/durations.ts';
import { type AnswerClient, type Relay, startRelay } from './relay.ts';
import { createRouteTable, type RouteChange, type RouteTable, targetsOf } from './route-table.ts';

export interface RoutingParts extends DevParts {
  /**
   * The network in which Pods are advertised; only its addresses lead to sockets of this machine
   * (socket-addresses.ts).
   */
  readonly podCidr: string;
  /** The addresses of machines outside the cluster; they lead to sockets here, too. */
  readonly outsideCidr?: string;
  readonly addDelay?: DurationRange;
  readonly removeDelay?: DurationRange;
  /** Who answers connections to a Pod's address in its place; absent, or undefined: the Pod itself. */
  readonly answerFor?: (address: string) => AnswerClient | undefined;
  readonly onEvent?: (event: RoutingEvent) => void;
}

/** `programmed`: from now on connections to the Service can reach the address; `withdrawn`: no longer. */
export interface RoutingEvent extends RouteChange {
  readonly namespace: string;
  readonly service: string;
  /** Wall time, ms. */
  readonly at: number;
}

/** A connection to a port of a Service was passed to a Pod. */
export interface RoutedConnection {
  readonly namespace: string;
  readonly service: string;
  readonly portName: string;
  readonly address: string;
}

interface ServiceRoutes {
  readonly table: RouteTable;
  readonly relays: Map<string, Relay>;
  readonly since: Map<string, number>;
  news: RouteChange[];
  targetCount: number;
}

/** Slices of a burst are processed together. The pause, in ms, grows with the work of a look. */
const restMs = 10;
const restMsPerTarget = 0.1;
const none: DurationRange = { minMs: 0, maxMs: 0 };

export class Routing implements DevPart {
  readonly started: Promise<void>;
  readonly #parts: RoutingParts;
  readonly #networks: readonly Network[];
  readonly #routes = new Map<string, ServiceRoutes>();
  readonly #closing = new Set<Relay>();
  readonly #listeners = new Set<(event: RoutingEvent) => void>();
  readonly #watchers = new Set<(connection: RoutedConnection) => void>();
  /** Services whose slices existed before the routing started: their content is known at once. */
  readonly #early = new Set<string>();
  readonly #queue: Reconciler;
  readonly #observer: Reconciler;
  readonly #services: Informer<ServiceObject>;
  readonly #slices: Informer<EndpointSliceObject>;
  #isSynced = false;

  constructor(parts: RoutingParts) {
    this.#parts = parts;
    this.#networks = [parts.podCidr, parts.outsideCidr ?? parts.podCidr].map(parseNetwork);
    if (parts.onEvent !== undefined) this.#listeners.add(parts.onEvent);
    this.#queue = createReconciler({ ...parts, name: 'routing', reconcile: (key) => this.#reconcile(key) });
    this.#observer = createReconciler({
      ...{ ...parts, name: 'routing', reconcile: (key) => this.#observe(key) },
      restMs: (key) => restMs + restMsPerTarget * this.#routesOf(key).targetCount,
    });
    this.#services = startInformer<ServiceObject>({
      ...parts,
      resource: serviceResource,
      onChange: ({ type, object }) => {
        if (type === 'set') this.#noteIfUnreachable(object);
        this.#queue.enqueue(keyOf(object));
      },
    });
    this.#slices = startInformer<EndpointSliceObject>({
      ...parts,
      resource: endpointSlices,
      groupOf: serviceKeyOf,
      onChange: (change) => {
        this.#notice(change.object);
        const previous = change.type === 'set' ? change.previous : undefined;
        if (previous !== undefined && serviceKeyOf(previous) !== serviceKeyOf(change.object))
          this.#notice(previous);
      },
    });
    this.started = Promise.all([this.#services.synced, this.#slices.synced]).then(() => {
      this.#isSynced = true;
    });
  }

  /** Calls back for each event from now on; the returned function ends that. */
  onEvent(listener: (event: RoutingEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Calls back for each connection from now on; the returned function ends that. */
  onConnection(listener: (connection: RoutedConnection) => void): () => void {
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  /** When the address became reachable through the Service (wall time, ms), if it is. */
  reachableSince(namespace: string, service: string, address: string): number | undefined {
    return this.#routes.get(`${namespace}/${service}`)?.since.get(address);
  }

  /** What is listened on now: `127.96.0.10:80`. */
  listening(): string[] {
    return [...this.#routes.values()].flatMap((held) => [...held.relays.keys()]).map(withoutName);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#services.stop(), this.#slices.stop()]);
    await this.#observer.stop();
    for (const held of this.#routes.values()) held.table.stop();
    await this.#queue.stop();
    const relays = [...this.#routes.values()].flatMap((held) => [...held.relays.values()]);
    await Promise.all([...relays, ...this.#closing].map((relay) => relay.kill()));
    this.#routes.clear();
  }

  #notice(slice: EndpointSliceObject): void {
    if (!this.#isSynced) this.#early.add(serviceKeyOf(slice));
    this.#observer.enqueue(serviceKeyOf(slice));
  }

  async #observe(key: string): Promise<void> {
    const slices = this.#slices.inGroup(key).filter((slice) => !isDeleting(slice));
    const targets = targetsOf(slices);
    const held = this.#routesOf(key);
    held.targetCount = targets.length;
    held.table.want(targets, this.#early.delete(key));
    this.#queue.enqueue(key);
  }

  #routesOf(key: string): ServiceRoutes {
    const held = this.#routes.get(key);
    if (held !== undefined) return held;
    const onChange = (changes: readonly RouteChange[]) => {
      made.news.push(...changes);
      this.#queue.enqueue(key);
    };
    const delayMs = (kind: 'add' | 'remove') => this.#delayMs(key, kind);
    const table = createRouteTable({ clock: this.#parts.clock, delayMs, onChange });
    const made: ServiceRoutes = { table, relays: new Map(), since: new Map(), news: [], targetCount: 0 };
    this.#routes.set(key, made);
    return made;
  }

  #delayMs(key: string, kind: 'add' | 'remove'): number {
    const { addDelay, removeDelay, random } = this.#parts;
    const service = this.#services.get(key);
    const name = kind === 'add' ? 'routing-delay' : 'routing-removal-delay';
    const text = service === undefined ? undefined : devAnnotation(service, name);
    const fallback = (kind === 'add' ? addDelay : removeDelay) ?? none;
    return drawMs(text === undefined ? fallback : rangeOr(text, fallback), random);
  }

  async #reconcile(key: string): Promise<void> {
    await this.started;
    const service = this.#services.get(key);
    const held = this.#routesOf(key);
    const wanted = service === undefined ? new Map<string, string>() : listensOf(service, held.table);
    for (const [address, relay] of held.relays) {
      if (wanted.has(address)) continue;
      held.relays.delete(address);
      this.#retire(relay);
    }
    await this.#openAll(key, held, wanted);
    this.#tell(key, held);
    if (service !== undefined || this.#slices.inGroup(key).length > 0) return;
    held.table.stop();
    this.#routes.delete(key);
  }

  /** @throws the error of the first port that cannot be listened on; the others are opened */
  async #openAll(key: string, held: ServiceRoutes, wanted: ReadonlyMap<string, string>): Promise<void> {
    const failures: unknown[] = [];
    for (const [address, portName] of wanted) {
      if (held.relays.has(address)) continue;
      try {
        held.relays.set(address, await this.#open(key, address, portName, held.table));
      } catch (thrown) {
        failures.push(thrown);
      }
    }
    if (failures.length > 0) throw asError(failures[0]);
  }

  #open(key: string, address: string, portName: string, table: RouteTable): Promise<Relay> {
    const { clock, random, log } = this.#parts;
    const [host = '', port = ''] = address.split(/[:/]/);
    const pick = () => {
      const targets = table.targets(portName);
      const target = targets[Math.floor(random.next() * targets.length)];
      if (target === undefined) return undefined;
      const { namespace, name: service } = splitKey(key);
      const { address: to } = target;
      for (const watcher of this.#watchers) watcher({ namespace, service, portName, address: to });
      const isHere = this.#networks.some((network) => network.contains(target.address));
      const host = isHere ? socketAddress(target.address) : target.address;
      return { host, port: target.port, answer: this.#parts.answerFor?.(target.address) };
    };
    log.debug({ service: key, address }, 'routing listens');
    return startRelay({ host, port: Number(port), clock, pick });
  }

  #retire(relay: Relay): void {
    this.#closing.add(relay);
    relay.close();
    void relay.ended.then(() => this.#closing.delete(relay));
  }

  #tell(key: string, held: ServiceRoutes): void {
    const { namespace, name: service } = splitKey(key);
    for (const change of held.news.splice(0)) {
      const at = this.#parts.clock.now();
      if (change.type === 'programmed') held.since.set(change.address, at);
      else held.since.delete(change.address);
      for (const listener of this.#listeners) listener({ ...change, namespace, service, at });
    }
  }

  #noteIfUnreachable(service: ServiceObject): void {
    const ip = service.spec?.clusterIP ?? 'None';
    if (ip === 'None' || ip === '' || isLoopback(ip)) return;
    const facts = { service: keyOf(service), clusterIP: ip };
    this.#parts.log.debug(facts, 'no loopback address: not routed here');
  }
}

/**
 * Addresses to listen on (`127.96.0.10:80/http`), with the name of the port behind each; only ports that lead
 * somewhere.
 */
function listensOf(service: ServiceObject, table: RouteTable): Map<string, string> {
  const ip = service.spec?.clusterIP ?? '';
  if (!isLoopback(ip) || service.spec?.type === 'ExternalName') return new Map();
  const ports = (service.spec?.ports ?? []).filter(
    (port) => (port.protocol ?? 'TCP') === 'TCP' && table.targets(port.name ?? '').length > 0,
  );
  return new Map(ports.map((port) => [`${ip}:${port.port}/${port.name ?? ''}`, port.name ?? '']));
}

function withoutName(address: string): string {
  return address.slice(0, address.indexOf('/'));
}

function serviceKeyOf(slice: EndpointSliceObject): string {
  return `${slice.metadata.namespace ?? ''}/${slice.metadata.labels?.[serviceLabel] ?? ''}`;
}

/** An unreadable annotation counts as none. */
function rangeOr(text: string, fallback: DurationRange): DurationRange {
  try {
    return parseDurationRange(text);
  } catch (thrown) {
    if (hasCode(thrown, 'USAGE')) return fallback;
    throw asError(thrown);
  }
}
