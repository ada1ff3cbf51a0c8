/**
 * What this feature keeps of Kubernetes objects: pure functions that reduce them to the few fields that its
 * charts and RouteGates need (I10).
 *
 * Promises: the result depends only on the object and on what RouteGates name. Addresses are canonical. Of a
 * Pod's environment, only those NAME=VALUE pairs that RouteGates name are kept (I9). Fields of a wrong type
 * count as absent, so one broken object harms no other (I8). Absent: which objects are wanted (interest.ts),
 * and what an invalid value means for a chart.
 */
import { type Address, parseAddress } from '../../base/address.ts';
import type { ConditionStatus, DigestPart } from '../../base/digests.ts';
import type { KubeObject } from '../../base/kube-port.ts';
import { conditionOf } from '../../kube/api/conditions.ts';
import { type Fields, list, record, textMap, texts } from '../../kube/api/fields.ts';
import { generationOf } from '../../kube/mirror/object-digest.ts';
import { saidIn } from '../../machines/routegate/routegate-status.ts';
import { saidNothing } from '../../machines/said.ts';
import type {
  EndpointSliceDigest,
  GroupResourceDigest,
  PodDigest,
  RouteGateDigest,
  ServiceDigest,
  ServicePortDigest,
  ServiceRouting,
} from './digests.ts';
import { readRouteGateSpec } from './route-gate.ts';

/** An environment variable and the value that it must have. */
export interface EnvPair {
  readonly name: string;
  readonly value: string;
}

/** What RouteGates name of the resource that owns their groups. */
export interface GroupFields {
  /** `<plural>.<group>` */
  readonly resource: string;
  readonly paths: readonly string[];
}

export function podPart(object: KubeObject, envPairs: readonly EnvPair[]): DigestPart<PodDigest> {
  const spec = record(object.spec);
  const status = record(object.status);
  const gates = texts(list(spec.readinessGates).map((gate) => record(gate).conditionType));
  const variables = containersThatRun(spec).map(environment);
  const matched = envPairs.filter(({ name, value }) => variables.some((held) => held.get(name) === value));
  return {
    address: firstAddress(status),
    readinessGates: gates,
    conditions: gateConditions(status, gates),
    matchedEnv: matched.map(pairText).sort(),
    ...(spec.hostNetwork === true && { hostNetwork: true }),
    ...gateReasons(status, gates),
    ...routesLost(status, gates),
    ...routesAwaited(status, gates),
    ...finishedPod(status),
  };
}

export function servicePart(object: KubeObject): DigestPart<ServiceDigest> {
  const spec = record(object.spec);
  const listed = texts(list(spec.clusterIPs));
  const addresses = listed.length > 0 ? listed : texts([spec.clusterIP]);
  return {
    // "None" (headless) and "" are not addresses and drop out here.
    clusterIPs: addresses.flatMap((text) => parseAddress(text) ?? []),
    ports: list(spec.ports).flatMap((port) => servicePort(record(port))),
    ...headlessFamilies(spec),
    ...serviceRouting(object),
  };
}

export function slicePart(object: KubeObject): DigestPart<EndpointSliceDigest> {
  const service = object.metadata.labels?.['kubernetes.io/service-name'];
  const ready = list(object.endpoints)
    .map(record)
    // Unknown counts as ready (discovery.k8s.io/v1).
    .filter((endpoint) => record(endpoint.conditions).ready !== false)
    .flatMap((endpoint) => texts(list(endpoint.addresses)))
    .flatMap((text) => parseAddress(text)?.ip ?? []);
  return {
    service: typeof service === 'string' ? service : '',
    // Sorted: controllers reorder endpoints, which is no news.
    readyAddresses: [...new Set(ready)].sort(),
  };
}

export function routeGatePart(object: KubeObject): DigestPart<RouteGateDigest> {
  const spec = readRouteGateSpec(object.spec);
  return { generation: generationOf(object), spec, said: saidBy(object.status) };
}

function saidBy(value: unknown): string {
  if (value == null) return saidNothing;
  const judged = (type: string) => conditionOf(value, type) ?? {};
  return saidIn({ counts: record(value), valid: judged('Valid'), verifying: judged('Verifying') });
}

export function groupPart(
  object: KubeObject,
  { resource, paths }: GroupFields,
): DigestPart<GroupResourceDigest> {
  const fields: Record<string, string | number | boolean> = {};
  for (const path of paths) {
    const value = path.split('.').reduce<unknown>(ownField, object);
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      fields[path] = value;
    }
  }
  return { resource, fields };
}

/** `NAME=VALUE`; a name contains no "=". */
export function pairText({ name, value }: EnvPair): string {
  return `${name}=${value}`;
}

function firstAddress(status: Fields): Address | { readonly invalid: string } | null {
  const ip = record(list(status.podIPs)[0]).ip;
  if (typeof ip !== 'string' || ip === '') return null;
  return parseAddress(ip) ?? { invalid: ip };
}

function gateConditions(status: Fields, gates: readonly string[]): Record<string, ConditionStatus> {
  const found: Record<string, ConditionStatus> = {};
  for (const condition of list(status.conditions).map(record)) {
    const type = condition.type;
    if (typeof type === 'string' && gates.includes(type)) found[type] = conditionStatus(condition.status);
  }
  return found;
}

function conditionStatus(value: unknown): ConditionStatus {
  return value === 'True' || value === 'False' ? value : 'Unknown';
}

/**
 * Containers that run while the Pod is ready: the ordinary ones and sidecars (init containers with
 * restartPolicy Always).
 */
function containersThatRun(spec: Fields): readonly Fields[] {
  const sidecars = list(spec.initContainers)
    .map(record)
    .filter((container) => container.restartPolicy === 'Always');
  return [...list(spec.containers).map(record), ...sidecars];
}

/** Literal variables only; of two with one name the last counts, as in the container. */
function environment(container: Fields): ReadonlyMap<string, string | undefined> {
  const variables = new Map<string, string | undefined>();
  for (const { name, value, valueFrom } of list(container.env).map(record)) {
    if (typeof name !== 'string') continue;
    const literal = typeof value === 'string' ? value : '';
    variables.set(name, valueFrom === undefined || valueFrom === null ? literal : undefined);
  }
  return variables;
}

function servicePort(port: Fields): ServicePortDigest[] {
  const number = port.port;
  if (typeof number !== 'number') return [];
  const protocol = port.protocol === 'UDP' || port.protocol === 'SCTP' ? port.protocol : 'TCP';
  return [{ name: typeof port.name === 'string' ? port.name : '', port: number, protocol }];
}

/** Own fields only, so that a path such as `constructor.name` leads nowhere. */
function ownField(value: unknown, key: string): unknown {
  const fields = record(value);
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}

/** The reasons of the gates' conditions that are True: only the reason says whether anything was verified. */
function gateReasons(status: Fields, gates: readonly string[]): Pick<PodDigest, 'reasons'> {
  const reasons: Record<string, string> = {};
  for (const condition of list(status.conditions).map(record)) {
    const { type, reason } = condition;
    const isOpen = typeof type === 'string' && gates.includes(type) && condition.status === 'True';
    if (isOpen && typeof reason === 'string') reasons[type] = reason;
  }
  return Object.keys(reasons).length > 0 ? { reasons } : {};
}

/** Reasons that a RouteGate alone gives for a condition that is False. */
const awaitingReasons: ReadonlySet<unknown> = new Set([
  'WaitingForRoutes',
  'WaitingForAddress',
  'GroupMissing',
  'TooManyServices',
  'RouteLost',
]);

/** Which conditions a RouteGate has written, of those that are not True. */
function routesAwaited(status: Fields, gates: readonly string[]): Pick<PodDigest, 'heldBack'> {
  const heldBack = list(status.conditions)
    .map(record)
    .flatMap(({ type, status: is, reason }) =>
      typeof type === 'string' && gates.includes(type) && is === 'False' && awaitingReasons.has(reason)
        ? [type]
        : [],
    );
  return heldBack.length > 0 ? { heldBack } : {};
}

/** Since when conditions of the gates are False for a lost route: so long the Pod has waited. */
function routesLost(status: Fields, gates: readonly string[]): Pick<PodDigest, 'lostAt'> {
  const lostAt: Record<string, number> = {};
  for (const condition of list(status.conditions).map(record)) {
    const { type, reason, lastTransitionTime: since } = condition;
    const isLost = condition.status === 'False' && reason === 'RouteLost';
    if (!isLost || typeof type !== 'string' || !gates.includes(type)) continue;
    const at = typeof since === 'string' ? Date.parse(since) : Number.NaN;
    if (!Number.isNaN(at)) lostAt[type] = at;
  }
  return Object.keys(lostAt).length > 0 ? { lostAt } : {};
}

/** Failed, evicted and completed Pods. */
function finishedPod({ phase }: Fields): Pick<PodDigest, 'finished'> {
  return phase === 'Failed' || phase === 'Succeeded' ? { finished: true } : {};
}

/** The families in which the name of a headless Service leads to its Pods. */
function headlessFamilies(spec: Fields): Pick<ServiceDigest, 'families'> {
  if (spec.clusterIP !== 'None') return {};
  const families = list(spec.ipFamilies).filter((one) => one === 'IPv4' || one === 'IPv6');
  return families.length > 0 ? { families } : {};
}

/** Of each Pod's zone or node: annotation and field by which a Service says so. */
const topologyModes = [
  'service.kubernetes.io/topology-mode',
  'service.kubernetes.io/topology-aware-hints',
] as const;

function isNearFirst({ metadata, spec }: KubeObject): boolean {
  const mode = topologyModes.map((name) => metadata.annotations?.[name]).find((text) => text !== undefined);
  const isAuto = typeof mode === 'string' && mode.toLowerCase() === 'auto';
  return isAuto || typeof record(spec).trafficDistribution === 'string';
}

/** What can make a Service and a gate wait for each other (docs/features/routes.md, table of Services). */
function serviceRouting(object: KubeObject): Pick<ServiceDigest, 'routing'> {
  const spec = record(object.spec);
  const isHeadless = spec.clusterIP === 'None';
  const selector = textMap(spec.selector);
  const isSelecting = Object.keys(selector).length > 0 && spec.type !== 'ExternalName';
  const whose = spec.publishNotReadyAddresses === true ? 'selector' : 'readyOnly';
  const routing: ServiceRouting = {
    ...(isSelecting ? { [whose]: selector } : {}),
    ...(spec.sessionAffinity === 'ClientIP' ? { affine: true } : {}),
    ...(spec.internalTrafficPolicy === 'Local' && !isHeadless ? { local: true } : {}),
    ...(isNearFirst(object) && !isHeadless ? { near: true } : {}),
    ...(spec.type === 'ExternalName' ? { external: true } : {}),
  };
  return Object.keys(routing).length > 0 ? { routing } : {};
}
