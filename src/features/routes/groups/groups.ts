/**
 * The index over the picture: which RouteGates hold a Pod, which Services belong to its groups, and the
 * reverse.
 *
 * A group is named by namespace, RouteGate and label value. Gates of different condition types each hold a
 * Pod separately. Of several gates of one type the oldest holds it (then the first by name), so that two
 * never fight over one condition. A Service belongs to the groups of all gates that select it. The oldest
 * gate of an object speaks to the actor of the object's name, every other gate to `<name>@<gate>`; the
 * members of a group bear their actors' names. To place an object costs the size of its groups, not that of
 * the world. A Pod that waits for a condition of its namespace's RouteGates and that none of them selects is
 * in no group, and has an actor all the same, which says so.
 */

import { hash } from '../../../actors/shards/rendezvous.ts';
import type { Affected } from '../../../actors/world/join.ts';
import { selects } from '../../../base/digests.ts';
import { equal } from '../../../base/equal.ts';
import { limits } from '../../../base/limits.ts';
import type { EndpointSliceDigest, PodDigest, ServiceDigest } from '../digests.ts';
import { type Gate, isAwaiting } from '../gate.ts';
import { ListedAddresses, servingPods } from './listed-addresses.ts';
import { put } from './nested-map.ts';
import { addNodeAddress, type NodeAddresses, removeNodeAddress } from './node-addresses.ts';

export interface Group {
  readonly key: string;
  readonly gate: Gate;
  /** The value of the group's label. */
  readonly value: string;
  readonly pods: Map<string, PodDigest>;
  readonly services: Map<string, ServiceDigest>;
  /**
   * Changes when a Pod comes, goes or changes its address. A sum of the Pods' hashes, so their order does not
   * matter.
   */
  podsSum: number;
  /** Pod → the number of the change (`podChanges`) since which it is as it is. */
  readonly podsSince: Map<string, number>;
  readonly nodeAddresses: NodeAddresses;
  /** How many of its Pods have ended: they stay until somebody deletes them, and serve no more. */
  ended: number;
}

/** Actor name → the group in which it represents its object. */
type Places = ReadonlyMap<string, Group>;
const nowhere: Places = new Map();

/** A Pod that waits for the condition of a RouteGate that does not select it. */
export interface Stray {
  readonly gate: Gate;
  readonly pod: PodDigest;
}
type Strays = ReadonlyMap<string, Stray>;
const noStrays: Strays = new Map();

/** The object that an actor represents. */
export const objectOf = (actor: string): string => actor.split('@')[0] ?? actor;

export class Groups {
  /** Changes of Pods so far. */
  podChanges = 0;
  readonly #gates = new Map<string, Gate[]>();
  readonly #groups = new Map<string, Group>();
  /** By object (`<ns>/<name>`). */
  readonly #placesOfPod = new Map<string, Places>();
  readonly #placesOfService = new Map<string, Places>();
  /** By Pod, as above. */
  readonly #strays = new Map<string, Strays>();
  readonly #listed = new ListedAddresses();
  readonly #pods = new Map<string, Map<string, PodDigest>>();
  readonly #services = new Map<string, Map<string, ServiceDigest>>();

  gatesIn(namespace: string): readonly Gate[] {
    return this.#gates.get(namespace) ?? [];
  }

  /** The oldest gates. The status of the others says that they are not in use (gate-bounds.ts). */
  #gatesInUse(namespace: string): readonly Gate[] {
    return this.gatesIn(namespace).slice(0, limits.routeGatesPerNamespace);
  }

  *gates(): Iterable<Gate> {
    for (const gates of this.#gates.values()) yield* gates;
  }

  /** @param name the actor's */
  groupOfPod(namespace: string, name: string): Group | null {
    return this.#placesOfPod.get(`${namespace}/${objectOf(name)}`)?.get(name) ?? null;
  }

  /** @param name the actor's */
  strayOf(namespace: string, name: string): Stray | null {
    return this.#strays.get(`${namespace}/${objectOf(name)}`)?.get(name) ?? null;
  }

  /** @param name the actor's */
  groupOfService(namespace: string, name: string): Group | null {
    return this.#placesOfService.get(`${namespace}/${objectOf(name)}`)?.get(name) ?? null;
  }

  /** The Service's ready addresses that belong to Pods of the group, sorted; others do not concern it. */
  readyAddresses({ gate, pods }: Group, name: string): string[] {
    const own = new Set(
      [...pods.values()].flatMap(({ address }) => (address && 'ip' in address ? address.ip : [])),
    );
    const listed = this.#listed.read(`${gate.namespace}/${objectOf(name)}`);
    return [...listed].filter((ip) => own.has(ip)).sort();
  }

  /** All ready addresses in the Service's slices. @param name of an actor */
  listedAddresses(namespace: string, name: string): ReadonlySet<string> {
    return this.#listed.of(`${namespace}/${objectOf(name)}`);
  }

  /** Calls back after each change of the Service's slices or Pods, until ended. @param name of an actor */
  onSlices(namespace: string, name: string, listener: () => void): () => void {
    return this.#listed.onChange(`${namespace}/${objectOf(name)}`, listener);
  }

  /** Every known Pod of the namespace, selected or not. */
  podsIn(namespace: string): Iterable<PodDigest> {
    return this.#pods.get(namespace)?.values() ?? [];
  }

  groupsOfGate(namespace: string, name: string): Group[] {
    return [...this.#groups.values()].filter(
      ({ gate }) => gate.namespace === namespace && gate.name === name,
    );
  }

  /** Ids of all actors that the groups call for. */
  *members(): Iterable<string> {
    for (const { gate, pods, services } of this.#groups.values()) {
      for (const pod of pods.keys()) yield `pod/${gate.namespace}/${pod}`;
      for (const service of services.keys()) yield `service/${gate.namespace}/${service}`;
    }
    for (const strays of this.#strays.values())
      for (const [actor, { gate }] of strays) yield `pod/${gate.namespace}/${actor}`;
  }

  /** Nobody is affected by a gate that is what it was: its status is written while Pods wait. */
  setGate(namespace: string, name: string, gate: Gate | null): Affected {
    const before = this.gatesIn(namespace);
    if (equal(before.find((one) => one.name === name) ?? null, gate)) return new Set();
    const others = before.filter((one) => one.name !== name);
    const gates = gate === null ? others : [...others, gate];
    gates.sort((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1));
    if (gates.length > 0) this.#gates.set(namespace, gates);
    else this.#gates.delete(namespace);
    const affected: Affected = new Set();
    for (const [pod, digest] of this.#pods.get(namespace) ?? [])
      this.#placePod(namespace, pod, digest, { affected, later: affected });
    for (const [service, digest] of this.#services.get(namespace) ?? []) {
      this.#placeService(namespace, service, digest, affected);
    }
    return affected;
  }

  /** @returns `later`: Services whose group has a new Pod, which asks them by itself */
  setPod(
    namespace: string,
    name: string,
    digest: PodDigest | null,
  ): { readonly affected: Affected; readonly later: Affected } {
    put(this.#pods, namespace, name, digest);
    const [affected, later]: [Affected, Affected] = [new Set(), new Set()];
    this.#placePod(namespace, name, digest, { affected, later });
    return { affected, later };
  }

  setService(namespace: string, name: string, digest: ServiceDigest | null): Affected {
    put(this.#services, namespace, name, digest);
    const affected: Affected = new Set();
    this.#placeService(namespace, name, digest, affected);
    return affected;
  }

  setSlice(namespace: string, name: string, service: string, digest: EndpointSliceDigest | null): Affected {
    const key = `${namespace}/${service}`;
    this.#listed.set(key, name, digest?.readyAddresses ?? null);
    const actors = [...(this.#placesOfService.get(key)?.keys() ?? [])];
    return new Set(actors.map((actor) => `service/${namespace}/${actor}`));
  }

  /** Actors of the groups of a RouteGate; with `value`, of that group only. */
  affectedBy(gate: Gate, value?: string): Affected {
    const affected: Affected = new Set();
    for (const group of this.#groups.values()) {
      const isOfGate = group.gate.namespace === gate.namespace && group.gate.name === gate.name;
      if (isOfGate && (value === undefined || value === group.value)) addAll(group, affected);
    }
    return affected;
  }

  #placePod(
    namespace: string,
    name: string,
    digest: PodDigest | null,
    { affected, later }: { readonly affected: Affected; readonly later: Affected },
  ): void {
    const key = `${namespace}/${name}`;
    const before = this.#placesOfPod.get(key) ?? nowhere;
    const selecting = digest === null ? [] : gatesOfPod(this.#gatesInUse(namespace), digest);
    const after = selecting.length === 0 ? nowhere : this.#placesFor(namespace, name, selecting);
    this.podChanges += 1;
    affected.add(`pod/${key}`);
    const strays = this.#placeStray(namespace, name, digest, selecting.length);
    for (const actor of [...before.keys(), ...after.keys(), ...strays])
      affected.add(`pod/${namespace}/${actor}`);
    for (const group of new Set([...before.values(), ...after.values()])) {
      const [was, is] = [before, after].map((places) => actorIn(places, group));
      const old = was === undefined ? undefined : group.pods.get(was);
      const wasAlone = servingPods(group) <= 1;
      if (was !== undefined) group.pods.delete(was);
      if (is !== undefined && digest) group.pods.set(is, digest);
      group.ended += (is !== undefined && digest?.finished ? 1 : 0) - (old?.finished ? 1 : 0);
      const [hadSum, hasSum] = [old ? podHash(old) : 0, is !== undefined && digest ? podHash(digest) : 0];
      group.podsSum = (group.podsSum - hadSum + hasSum) >>> 0;
      const isSamePod = was === is && hadSum === hasSum;
      const sharers = [
        ...(was !== undefined && old ? removeNodeAddress(group.nodeAddresses, was, old) : []),
        ...(is !== undefined && digest ? addNodeAddress(group.nodeAddresses, is, digest) : []),
      ];
      const isSameHost = isSamePod && old?.hostNetwork === digest?.hostNetwork;
      for (const sharer of isSameHost ? [] : sharers) affected.add(`pod/${namespace}/${sharer}`);
      // Session affinity hinders no Pod that is alone (deadlocks.ts).
      if (wasAlone !== servingPods(group) <= 1 && isAnyAffine(group))
        for (const other of group.pods.keys()) affected.add(`pod/${namespace}/${other}`);
      if (was !== undefined && was !== is) group.podsSince.delete(was);
      if (is !== undefined && !isSamePod) group.podsSince.set(is, this.podChanges);
      for (const service of isSamePod ? [] : group.services.keys())
        this.#listed.tell(`${namespace}/${objectOf(service)}`);
      const told = hadSum === 0 ? later : affected;
      for (const service of isSamePod ? [] : group.services.keys())
        told.add(`service/${namespace}/${service}`);
    }
    setOrDelete(this.#placesOfPod, key, after);
    for (const group of before.values()) this.#forgetEmpty(group);
  }

  /** @param n its other actors @returns the actors that it had or has as a stray */
  #placeStray(namespace: string, name: string, pod: PodDigest | null, n: number): readonly string[] {
    const key = `${namespace}/${name}`;
    const before = this.#strays.get(key) ?? noStrays;
    const gates = pod === null ? [] : missedBy(this.#gatesInUse(namespace), pod);
    if (pod === null || gates.length === 0) {
      this.#strays.delete(key);
      return [...before.keys()];
    }
    const actorFor = (gate: Gate, index: number) => (n + index === 0 ? name : `${name}@${gate.name}`);
    const after = new Map(gates.map((gate, index) => [actorFor(gate, index), { gate, pod }]));
    this.#strays.set(key, after);
    return [...before.keys(), ...after.keys()];
  }

  #placeService(namespace: string, name: string, digest: ServiceDigest | null, affected: Affected): void {
    const key = `${namespace}/${name}`;
    const before = this.#placesOfService.get(key) ?? nowhere;
    const gates = digest === null ? [] : gatesOfService(this.#gatesInUse(namespace), digest);
    const after = this.#placesFor(namespace, name, gates);
    affected.add(`service/${key}`);
    for (const actor of [...before.keys(), ...after.keys()]) affected.add(`service/${namespace}/${actor}`);
    for (const group of new Set([...before.values(), ...after.values()])) {
      const [was, is] = [before, after].map((places) => actorIn(places, group));
      if (was !== undefined) group.services.delete(was);
      if (is !== undefined && digest) group.services.set(is, digest);
      for (const pod of group.pods.keys()) affected.add(`pod/${namespace}/${pod}`);
      // The other Services of the group know it by name.
      for (const peer of was === is ? [] : group.services.keys())
        affected.add(`service/${namespace}/${peer}`);
    }
    setOrDelete(this.#placesOfService, key, after);
    for (const group of before.values()) this.#forgetEmpty(group);
  }

  /** The oldest gate speaks to the actor of the object's own name. */
  #placesFor(namespace: string, name: string, gates: ReadonlyArray<readonly [Gate, string]>): Places {
    return new Map(
      gates.map(([gate, value], n) => [
        n === 0 ? name : `${name}@${gate.name}`,
        this.#group(namespace, gate, value),
      ]),
    );
  }

  #group(namespace: string, gate: Gate, value: string): Group {
    const key = `${namespace}/${gate.name}/${gate.version}/${value}`;
    const known = this.#groups.get(key);
    if (known) return known;
    const group = {
      key,
      gate,
      value,
      pods: new Map(),
      services: new Map(),
      podsSum: 0,
      podsSince: new Map(),
      nodeAddresses: new Map(),
      ended: 0,
    };
    this.#groups.set(key, group);
    return group;
  }

  #forgetEmpty(group: Group): void {
    if (group.pods.size === 0 && group.services.size === 0) this.#groups.delete(group.key);
  }
}

const actorIn = (places: Places, group: Group) => [...places].find(([, one]) => one === group)?.[0];

function setOrDelete(places: Map<string, Places>, key: string, after: Places): void {
  if (after.size === 0) places.delete(key);
  else places.set(key, after);
}

/**
 * The gates that hold a Pod, oldest first, with the value of the group's label: one for each condition type
 * that the Pod lists. If the Pod lists none of them, the oldest gate follows it, in case that is a mistake.
 */
function gatesOfPod(gates: readonly Gate[], { labels, readinessGates }: PodDigest) {
  const types = new Set<string>();
  const selecting = gates.flatMap((gate): Array<[Gate, string]> => {
    const { conditionType, group } = gate.spec;
    const value = labels[group.podLabel];
    if (value === undefined || types.has(conditionType) || !isSelecting(gate, labels)) return [];
    types.add(conditionType);
    return [[gate, value]];
  });
  const gated = selecting.filter(([{ spec }]) => readinessGates.includes(spec.conditionType));
  return gated.length > 0 ? gated : selecting.slice(0, 1);
}

const isSelecting = ({ spec: { podSelector, group } }: Gate, labels: PodDigest['labels']): boolean =>
  labels[group.podLabel] !== undefined && selects(podSelector, labels);

/** For each condition that the Pod waits for, and of whose gates none selects it: the oldest of them. */
function missedBy(gates: readonly Gate[], pod: PodDigest): Gate[] {
  const missed = pod.readinessGates.flatMap((type) => {
    if (!isAwaiting(pod, type)) return [];
    const ofType = gates.filter(({ spec }) => spec.conditionType === type);
    return ofType.some((gate) => isSelecting(gate, pod.labels)) ? [] : ofType.slice(0, 1);
  });
  return gates.filter((gate) => missed.includes(gate));
}

/** Every gate that selects the Service, oldest first. */
function gatesOfService(gates: readonly Gate[], { labels }: ServiceDigest) {
  return gates.flatMap((gate): Array<[Gate, string]> => {
    const value = labels[gate.spec.group.serviceLabel];
    return value !== undefined && selects(gate.spec.serviceSelector, labels) ? [[gate, value]] : [];
  });
}

/** Hash of what can change where a Service's traffic goes; 0 for a Pod without an address. */
function podHash({ uid, address, deleting, finished }: PodDigest): number {
  if (address === null) return 0;
  return hash(
    `${uid}/${address !== null && 'ip' in address ? address.ip : ''}/${deleting || finished === true}`,
  );
}

const isAnyAffine = ({ services }: Group): boolean =>
  [...services.values()].some(({ routing }) => routing?.affine === true);

function addAll(group: Group, affected: Affected): void {
  const { namespace } = group.gate;
  for (const pod of group.pods.keys()) affected.add(`pod/${namespace}/${pod}`);
  for (const service of group.services.keys()) affected.add(`service/${namespace}/${service}`);
}
