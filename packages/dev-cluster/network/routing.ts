/**
 * The service routing stand-in, kube-proxy's part: each port of each Service listens on the Service's cluster
 * IP, which must be a loopback address (127.x), and balances real TCP connections at random over its ready
 * endpoints.
 *
 * Between a change of a slice and the routing's knowledge of it lies a delay, which is the effect that Orrery
 * exists for: `addDelay` until a new endpoint gets connections, `removeDelay` until an old one gets no more;
 * a Service can name its own by the annotations `dev.orrery.dev/routing-delay` and
 * `dev.orrery.dev/routing-removal-delay` (`800ms`, or a range `200ms-3s`). Promises: without endpoints
 * nothing listens, so connections are refused; established connections survive the removal of their endpoint;
 * each address that became reachable is told once. Absent: UDP, node ports, session affinity.
 */

import { asError, hasCode } from '../../../src/base/errors.ts';
import { endpointSlices, services as serviceResource } from '../../../src/kube/api/resources.ts';
import { isLoopback, type Network, parseNetwork, socketAddress } from '../../kube-api/socket-addresses.ts';
import { serviceLabel } from '../controllers/endpoint-slices.ts';
import { startInformer } from '../controllers/informer.ts';
import { createReconciler } from '../controllers/reconciler.ts';
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
import { type Relay, startRelay } from './relay.ts';
import { createRouteTable, type RouteChange, type RouteTable, targetsOf } from './route-table.ts';

export interface RoutingParts extends DevParts {
  /**
   * Pods are advertised from this network; only their addresses lead to sockets of this machine
   * (addresses.ts).
   */
  readonly podCidr: string;
  /** Machines outside the cluster are called by these addresses; they lead to sockets here, too. */
  readonly outsideCidr?: string;
  readonly addDelay?: DurationRange;
  readonly removeDelay?: DurationRange;
  readonly onEvent?: (event: RoutingEvent) => void;
}

/** `programmed`: from now on connections to the Service can reach the address; `withdrawn`: no more. */
export interface RoutingEvent extends RouteChange {
  readonly namespace: string;
  readonly service: string;
  /** Wall time, ms. */
  readonly at: number;
}

/** A connection to a port of a Service was led to a Pod. */
export interface RoutedConnection {
  readonly namespace: string;
  readonly service: string;
  readonly portName: string;
  readonly address: string;
}

export interface Routing extends DevPart {
  readonly started: Promise<void>;
  /** Calls back for each event from now on; the answer ends it. */
  onEvent(listener: (event: RoutingEvent) => void): () => void;
  /** Calls back for each connection from now on; the answer ends it. */
  onConnection(listener: (connection: RoutedConnection) => void): () => void;
  /** When the address became reachable through the Service (wall time, ms), if it is. */
  reachableSince(namespace: string, service: string, address: string): number | undefined;
  /** What is listened on now: `127.96.0.10:80`. */
  listening(): string[];
}

interface ServiceRoutes {
  readonly table: RouteTable;
  readonly relays: Map<string, Relay>;
  readonly since: Map<string, number>;
  news: RouteChange[];
  targetCount: number;
}

/** Slices of a burst are looked at together; the pause grows with the work that a look is, ms. */
const restMs = 10;
const restMsPerTarget = 0.1;
const none: DurationRange = { minMs: 0, maxMs: 0 };

function createListeners<T>(first?: (told: T) => void) {
  const listeners = new Set(first === undefined ? [] : [first]);
  return {
    on(listener: (told: T) => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    tell(told: T): void {
      for (const listener of listeners) listener(told);
    },
  };
}

export function startRouting(parts: RoutingParts): Routing {
  const { clock, random, log } = parts;
  const networks: Network[] = [parts.podCidr, parts.outsideCidr ?? parts.podCidr].map(parseNetwork);
  const routes = new Map<string, ServiceRoutes>();
  const closing = new Set<Relay>();
  const events = createListeners(parts.onEvent);
  const connections = createListeners<RoutedConnection>();
  /** Services with slices from before the routing started: what these say is known at once. */
  const early = new Set<string>();
  let isSynced = false;

  const delayFor = (key: string) => (kind: 'add' | 'remove') => {
    const service = services.get(key);
    const name = kind === 'add' ? 'routing-delay' : 'routing-removal-delay';
    const text = service === undefined ? undefined : devAnnotation(service, name);
    const fallback = (kind === 'add' ? parts.addDelay : parts.removeDelay) ?? none;
    return drawMs(text === undefined ? fallback : rangeOr(text, fallback), random);
  };
  const routesOf = (key: string): ServiceRoutes => {
    const held = routes.get(key);
    if (held !== undefined) return held;
    const made: ServiceRoutes = {
      table: createRouteTable({
        clock,
        delayMs: delayFor(key),
        onChange(changes) {
          made.news.push(...changes);
          queue.enqueue(key);
        },
      }),
      relays: new Map(),
      since: new Map(),
      news: [],
      targetCount: 0,
    };
    routes.set(key, made);
    return made;
  };
  const notice = (slice: EndpointSliceObject) => {
    if (!isSynced) early.add(serviceKeyOf(slice));
    observer.enqueue(serviceKeyOf(slice));
  };
  const restFor = (key: string) => restMs + restMsPerTarget * routesOf(key).targetCount;
  const observe = async (key: string) => {
    const held = slices.all().filter((slice) => serviceKeyOf(slice) === key && !isDeleting(slice));
    const targets = targetsOf(held);
    routesOf(key).targetCount = targets.length;
    routesOf(key).table.want(targets, early.delete(key));
    queue.enqueue(key);
  };

  const reconcile = async (key: string) => {
    await synced;
    const service = services.get(key);
    const held = routesOf(key);
    const wanted = service === undefined ? new Map<string, string>() : listensOf(service, held.table);
    for (const [address, relay] of held.relays) {
      if (wanted.has(address)) continue;
      held.relays.delete(address);
      retire(relay);
    }
    const failures: unknown[] = [];
    for (const [address, portName] of wanted) {
      if (held.relays.has(address)) continue;
      try {
        held.relays.set(address, await open(key, address, portName, held.table));
      } catch (thrown) {
        failures.push(thrown);
      }
    }
    if (failures.length > 0) throw asError(failures[0]);
    tell(key, held);
    if (service === undefined && slices.all().every((slice) => serviceKeyOf(slice) !== key)) drop(key, held);
  };
  const retire = (relay: Relay) => {
    closing.add(relay);
    relay.close();
    void relay.ended.then(() => closing.delete(relay));
  };
  const open = (key: string, address: string, portName: string, table: RouteTable): Promise<Relay> => {
    const [host = '', port = ''] = address.split(/[:/]/);
    const pick = () => {
      const targets = table.targets(portName);
      const target = targets[Math.floor(random.next() * targets.length)];
      if (target === undefined) return undefined;
      const { namespace, name: service } = splitKey(key);
      connections.tell({ namespace, service, portName, address: target.address });
      const isHere = networks.some((network) => network.contains(target.address));
      return { host: isHere ? socketAddress(target.address) : target.address, port: target.port };
    };
    log.debug({ service: key, address }, 'routing listens');
    return startRelay({ host, port: Number(port), clock, pick });
  };
  const tell = (key: string, held: ServiceRoutes) => {
    const { namespace, name: service } = splitKey(key);
    for (const change of held.news.splice(0)) {
      const at = clock.now();
      if (change.type === 'programmed') held.since.set(change.address, at);
      else held.since.delete(change.address);
      events.tell({ ...change, namespace, service, at });
    }
  };
  const drop = (key: string, held: ServiceRoutes) => {
    held.table.stop();
    routes.delete(key);
  };

  const queue = createReconciler({ ...parts, name: 'routing', reconcile });
  const observer = createReconciler({ ...parts, name: 'routing', reconcile: observe, restMs: restFor });
  const services = startInformer<ServiceObject>({
    ...parts,
    resource: serviceResource,
    onChange({ type, object }) {
      warnIfUnreachable(type, object);
      queue.enqueue(keyOf(object));
    },
  });
  const slices = startInformer<EndpointSliceObject>({
    ...parts,
    resource: endpointSlices,
    onChange(change) {
      notice(change.object);
      const previous = change.type === 'set' ? change.previous : undefined;
      if (previous !== undefined && serviceKeyOf(previous) !== serviceKeyOf(change.object)) notice(previous);
    },
  });
  const synced = Promise.all([services.synced, slices.synced]).then(() => {
    isSynced = true;
  });
  const warnIfUnreachable = (type: string, service: ServiceObject) => {
    const ip = service.spec?.clusterIP ?? 'None';
    if (type === 'gone' || ip === 'None' || ip === '' || isLoopback(ip)) return;
    log.debug({ service: keyOf(service), clusterIP: ip }, 'no loopback address: not routed here');
  };

  return {
    started: synced,
    onEvent: events.on,
    onConnection: connections.on,
    reachableSince: (namespace, service, address) =>
      routes.get(`${namespace}/${service}`)?.since.get(address),
    listening: () => [...routes.values()].flatMap((held) => [...held.relays.keys()]).map(withoutName),
    async stop() {
      await Promise.all([services.stop(), slices.stop()]);
      await observer.stop();
      for (const held of routes.values()) held.table.stop();
      await queue.stop();
      const relays = [...routes.values()].flatMap((held) => [...held.relays.values()]);
      await Promise.all([...relays, ...closing].map((relay) => relay.kill()));
      routes.clear();
    },
  };
}

/**
 * Addresses to listen on (`127.96.0.10:80/http`), with the name of the port behind each: only ports that lead
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

/** An annotation that cannot be read counts as none. */
function rangeOr(text: string, fallback: DurationRange): DurationRange {
  try {
    return parseDurationRange(text);
  } catch (thrown) {
    if (hasCode(thrown, 'USAGE')) return fallback;
    throw asError(thrown);
  }
}
