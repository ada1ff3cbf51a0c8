/**
 * The join of Pods with the Services of their group: which routes a Pod needs proven, and how to ask a
 * Service.
 *
 * Promise: actors hear only facts that rest on complete lists. The Pods and Services of a RouteGate hear
 * nothing until each kind of object that it needs has been listed for this very version of it by a mirror
 * that is alive. A Service that is merely not listed yet must not look like one that does not exist (never
 * Ready early).
 */

import { hash } from '../../actors/shards/rendezvous.ts';
import type { Affected, Join } from '../../actors/world/join.ts';
import type { World } from '../../actors/world/world.ts';
import type { IpFamily } from '../../base/address.ts';
import { type AnyDigest, asDigest, type SyncedDigest, type WorldEntry } from '../../base/digests.ts';
import { limits } from '../../base/limits.ts';
import type { PodFacts } from '../../machines/pod/pod-facts.ts';
import type { RouteProbe, ServiceFacts } from '../../machines/service/route-facts.ts';
import { hindrancesOf } from './deadlocks.ts';
import type { EndpointSliceDigest, PodDigest, ServiceDigest, ServicePortDigest } from './digests.ts';
import { type Gate, gateOf } from './gate.ts';
import { ownerKindOf, ownerOf, ownerStateOf, statedReplicas } from './groups/group-owner.ts';
import { type Group, Groups, objectOf, type Stray } from './groups/groups.ts';
import { servingPods } from './groups/listed-addresses.ts';
import { sharerOf } from './groups/node-addresses.ts';
import type { RouteGateSpec } from './route-gate.ts';

export interface RoutesJoin extends Join {
  /** The index over the picture, for those who count. */
  readonly groups: Groups;
  /** Whether everything that the RouteGate asks for has been listed for its present version. */
  isComplete(namespace: string, gate: string): boolean;
  /** Whether the owner of that group is not one that the RouteGate requires: its Pods are not held (§2.7). */
  isForeign(namespace: string, gate: string, value: string): boolean;
  /** The kind of the groups' owner, `<apiVersion>/<kind>`, if nothing else is unlisted; otherwise null. */
  unlistedOwner(namespace: string, gate: string): string | null;
  /** The kind of the groups' owner if the cluster has no such kind; otherwise null. */
  unservedOwner(namespace: string, gate: string): string | null;
}

/** Resources that every RouteGate needs. */
const neededResources = ['pods', 'services', 'endpointslices'] as const;

export function createRoutesJoin(parts: {
  readonly world: Pick<World, 'get' | 'statement'>;
  /** The end of `<svc>.<ns>.svc.<cluster domain>`. */
  readonly clusterDomain: () => string;
  /** Takes actors that may be told a moment later; absent: all are told at once. */
  readonly later?: Later;
}): RoutesJoin {
  const { world, clusterDomain, later } = parts;
  const groups = new Groups();

  const isListed = (gate: Gate, resource: string) => syncedGates(world, resource).includes(gate.version);
  const isOwnListed = (gate: Gate) =>
    world.statement('routegates') !== null && neededResources.every((resource) => isListed(gate, resource));
  const isOwnerListed = (gate: Gate) => {
    const owner = ownerKindOf(gate);
    return owner === null || isListed(gate, owner);
  };
  const isComplete = (gate: Gate) => isOwnListed(gate) && isOwnerListed(gate);

  const gateNamed = (namespace: string, name: string) =>
    groups.gatesIn(namespace).find((one) => one.name === name);

  return {
    groups,
    isComplete(namespace, name) {
      const gate = gateNamed(namespace, name);
      return gate !== undefined && isComplete(gate);
    },
    isForeign(namespace, name, value) {
      const gate = gateNamed(namespace, name);
      return gate !== undefined && ownerStateOf(world, gate, value) === 'mismatch';
    },
    unlistedOwner(namespace, name) {
      const gate = gateNamed(namespace, name);
      return gate !== undefined && isOwnListed(gate) && !isOwnerListed(gate) ? ownerKindOf(gate) : null;
    },
    unservedOwner(namespace, name) {
      const gate = gateNamed(namespace, name);
      const owner = gate === undefined || !isOwnerListed(gate) ? null : ownerKindOf(gate);
      return owner !== null && world.statement(owner)?.resource === null ? owner : null;
    },
    kinds: ['pod', 'service'],
    fold: (entry, before) => fold(groups, entry, before, later),
    members: () => groups.members(),
    observe(kind, namespace, name) {
      if (kind !== 'pod' && kind !== 'service') return null;
      const group =
        kind === 'pod' ? groups.groupOfPod(namespace, name) : groups.groupOfService(namespace, name);
      const stray = group === null && kind === 'pod' ? groups.strayOf(namespace, name) : null;
      if (stray !== null)
        return isOwnListed(stray.gate) ? { type: 'pod.observed', facts: strayFacts(stray) } : null;
      if (group === null) return isAnySynced(world, kind) ? { type: `${kind}.observed`, facts: null } : null;
      if (!isComplete(group.gate)) return null;
      if (isCrowded(group)) return kind === 'pod' ? refusedPod(world, group, name) : null;
      if (kind === 'pod') return { type: 'pod.observed', facts: podFacts(world, group, name) };
      const ready = groups.readyAddresses(group, name);
      return { type: 'service.observed', facts: serviceFacts(world, group, name, ready, clusterDomain()) };
    },
  };
}

/** Reasons of a True condition for which nothing was verified. */
export const unverifiedReasons: ReadonlySet<string> = new Set(['Unverified', 'NothingToVerify']);

/**
 * Whether the group has more Services than a Pod can remember. Its Services hear nothing; its Pods and the
 * RouteGate say why.
 */
export const isCrowded = ({ services }: Group): boolean => services.size > limits.groupServices;

/** Of a group that is too large: nothing is asked for, and the Pod is held back (§2.12). */
function refusedPod(world: Pick<World, 'get' | 'statement'>, group: Group, name: string) {
  const facts = podFacts(world, { ...group, services: new Map() }, name);
  if (facts === null || facts.groupResource === 'missing' || facts.groupResource === 'mismatch')
    return { type: 'pod.observed', facts };
  const message = `This Pod's group has more than ${limits.groupServices} Services, and in such a group nothing is verified. Split the group, or narrow the serviceSelector of RouteGate ${group.gate.name}.`;
  const refused = { reason: 'TooManyServices', message };
  return { type: 'pod.observed', facts: { ...facts, groupResource: 'missing', refused } };
}

type Later = (ids: Affected) => void;

function fold(groups: Groups, entry: WorldEntry, before: AnyDigest | null, later?: Later): Affected {
  const { namespace, name, digest } = entry;
  switch (digest?.kind ?? before?.kind) {
    case 'routegates':
      return groups.setGate(namespace, name, gateOf(namespace, name, digest));
    case 'pods':
      return podAffected(groups.setPod(namespace, name, asDigest<PodDigest>(digest, 'pods')), later);
    case 'services':
      return groups.setService(namespace, name, asDigest<ServiceDigest>(digest, 'services'));
    case 'endpointslices': {
      const was = asDigest<EndpointSliceDigest>(before, 'endpointslices')?.service ?? null;
      const is = asDigest<EndpointSliceDigest>(digest, 'endpointslices');
      const affected =
        was !== null && was !== is?.service ? groups.setSlice(namespace, name, was, null) : new Set<string>();
      return is === null ? affected : union(affected, groups.setSlice(namespace, name, is.service, is));
    }
    case 'groupresource':
      return affectedByGates(
        groups,
        (gate) => gate.spec.groupResource !== null && (namespace === '' || namespace === gate.namespace),
        name,
      );
    case 'synced':
      return affectedByGates(groups, isSpokenOf(statementOf(digest), statementOf(before), name));
    default:
      return new Set();
  }
}

function podAffected(
  { affected, later: ids }: { readonly affected: Affected; readonly later: Affected },
  later?: Later,
): Affected {
  if (later === undefined) return union(affected, ids);
  if (ids.size > 0) later(ids);
  return affected;
}

/** @param value of the group's label; absent: every group of the RouteGates */
function affectedByGates(groups: Groups, isMeant: (gate: Gate) => boolean, value?: string): Affected {
  const affected: Affected = new Set();
  for (const gate of groups.gates()) if (isMeant(gate)) union(affected, groups.affectedBy(gate, value));
  return affected;
}

interface Statement {
  readonly gates: readonly string[];
  readonly resource: string | null;
}

const statementOf = (digest: AnyDigest | null): Statement =>
  asDigest<SyncedDigest>(digest, 'synced') ?? { gates: [], resource: null };

/**
 * The gates that a new statement about a resource (or about a kind that owns groups) concerns: those that it
 * adds or drops, and those whose owner's resource changed. The actors of all others have heard everything
 * already.
 */
function isSpokenOf(now: Statement, before: Statement, about: string): (gate: Gate) => boolean {
  const [is, was] = [new Set(now.gates), new Set(before.gates)];
  return ({ version, spec: { groupResource } }) => {
    if (is.has(version) !== was.has(version)) return true;
    const isOwner = groupResource !== null && `${groupResource.apiVersion}/${groupResource.kind}` === about;
    return isOwner && now.resource !== before.resource;
  };
}

function union(into: Affected, other: Affected): Affected {
  for (const id of other) into.add(id);
  return into;
}

/** Versions of the RouteGates for which the resource has been mirrored completely. */
function syncedGates(world: Pick<World, 'get' | 'statement'>, resource: string): readonly string[] {
  return world.statement(resource)?.gates ?? [];
}

function isAnySynced(world: Pick<World, 'get' | 'statement'>, kind: 'pod' | 'service'): boolean {
  return world.statement(`${kind}s`) !== null && world.statement('routegates') !== null;
}

function podFacts(world: Pick<World, 'get' | 'statement'>, group: Group, name: string): PodFacts | null {
  const digest: PodDigest | undefined = group.pods.get(name);
  if (!digest) return null;
  const { gate } = group;
  const { spec } = gate;
  const { onlyIfEnv } = spec.probe;
  const services = [...group.services].sort(byName);
  const hasVariable =
    onlyIfEnv === null || digest.matchedEnv.includes(`${onlyIfEnv.name}=${onlyIfEnv.value}`);
  const sharer = sharerOf(group.nodeAddresses, name, digest);
  return {
    uid: digest.uid,
    address: digest.address,
    // A Pod that has ended serves no more, so no route is asked for.
    deleting: digest.deleting || digest.finished === true,
    gated: digest.readinessGates.includes(spec.conditionType),
    condition: digest.conditions[spec.conditionType] ?? null,
    ...(isSaidUnverified(spec, digest) && { saysUnverified: true as const }),
    verifiable: sharer === null && hasVariable,
    ...(sharer !== null && { sharesAddressWith: objectOf(sharer) }),
    gate: {
      name: gate.name,
      conditionType: spec.conditionType,
      whenRouteIsLost: spec.whenRouteIsLost,
      whenUnverifiable: spec.whenUnverifiable ?? 'pass',
    },
    ...ownerOf(world, gate, group.value),
    ...(group.services.size === 0 && {
      noService: { label: spec.group.serviceLabel, value: group.value },
    }),
    services: Object.fromEntries(
      services.map(([service, one]) => [service, unaskable(gate, one) === null ? one.uid.slice(0, 8) : null]),
    ),
    unaskable: Object.fromEntries(
      services.flatMap(([service, one]): Array<[string, string]> => {
        const why = unaskable(gate, one);
        return why === null ? [] : [[service, why]];
      }),
    ),
    ...deadlocksFor(services, digest, servingPods(group)),
  };
}

/**
 * Of a Pod that waits for a RouteGate that does not select it, whoever owns its group. To an earlier release
 * that is one whose owner does not match, of which nothing is probed or written either.
 */
function strayFacts({ gate, pod }: Stray): PodFacts {
  const { conditionType, whenRouteIsLost, whenUnverifiable = 'pass', group } = gate.spec;
  return {
    uid: pod.uid,
    address: pod.address,
    deleting: pod.deleting || pod.finished === true,
    gated: true,
    condition: pod.conditions[conditionType] ?? null,
    verifiable: false,
    gate: { name: gate.name, conditionType, whenRouteIsLost, whenUnverifiable },
    groupResource: 'mismatch',
    unselected: { lacks: pod.labels[group.podLabel] === undefined ? group.podLabel : null },
    services: {},
    unaskable: {},
  };
}

const isSaidUnverified = ({ whenRouteIsLost, conditionType }: RouteGateSpec, { reasons }: PodDigest) =>
  whenRouteIsLost === 'withdraw' && unverifiedReasons.has(reasons?.[conditionType] ?? '');

function deadlocksFor(
  services: ReadonlyArray<readonly [string, ServiceDigest]>,
  pod: PodDigest,
  groupSize: number,
): Pick<PodFacts, 'deadlocks'> {
  const found = services.flatMap(([name, service]) => {
    const hindrances = hindrancesOf(service, pod, groupSize);
    return hindrances.length > 0 ? [[name, hindrances] as const] : [];
  });
  return found.length > 0 ? { deadlocks: Object.fromEntries(found) } : {};
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1);

function portOf({ spec }: Gate, service: ServiceDigest): number | null {
  const isMeant = ({ name, protocol }: ServicePortDigest) =>
    name === spec.probe.portName && protocol === 'TCP';
  return service.ports.find(isMeant)?.port ?? null;
}

/** Why the Service cannot be asked; null if it can. */
export function unaskable(gate: Gate, service: ServiceDigest): string | null {
  const { portName, address } = gate.spec.probe;
  if (portOf(gate, service) === null) {
    const isThere = service.ports.some(({ name }) => name === portName);
    return `has no ${isThere ? 'TCP ' : ''}port named ${portName}`;
  }
  if (service.routing?.external) return 'is of type ExternalName';
  return address === 'clusterIP' && service.clusterIPs.length === 0 ? 'has no cluster IP' : null;
}

/**
 * Address → uid of the Pods whose answers may be kept; absent if they are too many for every Service to know.
 */
function podsByAddress(group: Group): Pick<ServiceFacts, 'pods' | 'shared'> {
  const { pods, nodeAddresses } = group;
  if (servingPods(group) > limits.probeKeptAnswers) return {};
  const known = Object.fromEntries(
    [...pods.values()]
      .flatMap(({ uid, address, deleting, finished }): Array<[string, string]> => {
        if (address === null || !('ip' in address) || deleting || finished) return [];
        return (nodeAddresses.get(address.ip)?.size ?? 0) > 1 ? [] : [[address.ip, uid]];
      })
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
  const shared = [...nodeAddresses].flatMap(([ip, actors]) => (actors.size > 1 ? [ip] : [])).sort();
  return { pods: known, ...(shared.length > 0 && { shared }) };
}

function serviceFacts(
  world: Pick<World, 'get' | 'statement'>,
  group: Group,
  name: string,
  ready: readonly string[],
  clusterDomain: string,
): ServiceFacts | null {
  const digest = group.services.get(name);
  if (!digest) return null;
  const { gate } = group;
  return {
    gate: gate.name,
    uid: digest.uid,
    deleting: digest.deleting,
    probes: {
      IPv4: probeOf(gate, name, digest, 'IPv4', clusterDomain),
      IPv6: probeOf(gate, name, digest, 'IPv6', clusterDomain),
    },
    replicas: replicasOf(world, group),
    routesToken: `${group.podsSum.toString(36)}.${hash(ready.join()).toString(36)}`,
    ...podsByAddress(group),
    peers: [...group.services.keys()].filter((peer) => peer !== name).sort(),
    ...(gate.spec.whenUnverifiable === 'hold' && { holds: true as const }),
    readyAddresses: isLossNoticed(world, group) ? ready : null,
  };
}

/** Of Pods that the gate does not hold nothing is probed (docs/features/routes.md §2.7). */
const isLossNoticed = (world: Pick<World, 'get' | 'statement'>, { gate, value }: Group): boolean =>
  gate.spec.whenRouteIsLost === 'withdraw' && ownerStateOf(world, gate, value) !== 'mismatch';

function probeOf(
  gate: Gate,
  name: string,
  service: ServiceDigest,
  family: 'IPv4' | 'IPv6',
  clusterDomain: string,
): RouteProbe | null {
  const { probe } = gate.spec;
  const port = portOf(gate, service);
  // A Service that waits for its deletion still routes, and still owes its Pods a proof.
  if (port === null || unaskable(gate, service) !== null) return null;
  const { host, asked } = addressOf(gate, name, service, family, clusterDomain);
  return {
    url: `http://${host}:${port}${probe.path}`,
    family: asked,
    podIPHeaders: probe.podIPHeaders,
    timeoutMs: Math.round(probe.timeoutSeconds * 1000),
    attemptsPerReplica: probe.attemptsPerReplica,
  };
}

/**
 * The Service's address of the wanted family, or else the one that it has. The DNS name of a headless Service
 * leads to Pods in the families that it has.
 */
function addressOf(
  gate: Gate,
  name: string,
  { clusterIPs, families = [] }: ServiceDigest,
  family: IpFamily,
  clusterDomain: string,
): { readonly host: string; readonly asked: IpFamily } {
  const own = clusterIPs.find((one) => one.family === family) ?? clusterIPs[0];
  const [only] = families.includes(family) ? [family] : families;
  const asked = own?.family ?? only ?? family;
  if (gate.spec.probe.address === 'dns')
    return { host: `${objectOf(name)}.${gate.namespace}.svc.${clusterDomain}`, asked };
  return { host: asked === 'IPv6' ? `[${own?.ip ?? ''}]` : (own?.ip ?? ''), asked };
}

/** What the group's owner states, or else the number of Pods with an address; at least 1. */
function replicasOf(world: Pick<World, 'get' | 'statement'>, group: Group): number {
  // A Pod without an address cannot be met yet.
  const running = [...group.pods.values()].filter(({ finished, address }) => !finished && address).length;
  return statedReplicas(world, group.gate, group.value) ?? Math.max(1, running);
}
