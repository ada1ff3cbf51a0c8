/**
 * The index over the world picture: which RouteGate holds a Pod, which Services belong to its group, and back.
 *
 * A group is named by (namespace, RouteGate, label value). Each Pod and Service belongs to one group at most: where several
 * RouteGates select it, the oldest wins (then the first by name), so that two of them never fight over one Pod.
 * All look-ups cost the size of the group, none that of the world.
 */

import { hash } from '../../actors/shards/rendezvous.ts';
import type { Affected } from '../../actors/world/join.ts';
import { selects } from '../../base/digests.ts';
import type { EndpointSliceDigest, PodDigest, ServiceDigest } from './digests.ts';
import type { Gate } from './gate.ts';

export interface Group {
  readonly key: string;
  readonly gate: Gate;
  /** The value of the group's label. */
  readonly value: string;
  readonly pods: Map<string, PodDigest>;
  readonly services: Map<string, ServiceDigest>;
  /** Changes when a Pod comes, goes or changes its address: the sum of the Pods' hashes, so their order does not matter. */
  podsSum: number;
}

export class Groups {
  readonly #gates = new Map<string, Gate[]>();
  readonly #groups = new Map<string, Group>();
  readonly #groupOfPod = new Map<string, Group>();
  readonly #groupOfService = new Map<string, Group>();
  /** Slices by Service: slice name → its ready addresses and their hash. */
  readonly #slices = new Map<string, Map<string, { sum: number; ready: readonly string[] }>>();
  readonly #pods = new Map<string, Map<string, PodDigest>>();
  readonly #services = new Map<string, Map<string, ServiceDigest>>();

  gatesIn(namespace: string): readonly Gate[] {
    return this.#gates.get(namespace) ?? [];
  }

  *gates(): Iterable<Gate> {
    for (const gates of this.#gates.values()) yield* gates;
  }

  groupOfPod(namespace: string, name: string): Group | null {
    return this.#groupOfPod.get(`${namespace}/${name}`) ?? null;
  }

  groupOfService(namespace: string, name: string): Group | null {
    return this.#groupOfService.get(`${namespace}/${name}`) ?? null;
  }

  /** Sum over the Service's ready addresses. */
  slicesSum(namespace: string, name: string): number {
    let sum = 0;
    for (const slice of this.#slices.get(`${namespace}/${name}`)?.values() ?? [])
      sum = (sum + slice.sum) >>> 0;
    return sum;
  }

  /** The Service's ready addresses, sorted. */
  readyAddresses(namespace: string, name: string): string[] {
    const slices = [...(this.#slices.get(`${namespace}/${name}`)?.values() ?? [])];
    return [...new Set(slices.flatMap(({ ready }) => ready))].sort();
  }

  /** The Pods that a RouteGate holds. */
  podsOfGate(namespace: string, name: string): PodDigest[] {
    return [...this.#groups.values()].flatMap(({ gate, pods }) =>
      gate.namespace === namespace && gate.name === name ? [...pods.values()] : [],
    );
  }

  /** All actors that the groups call for. */
  *members(): Iterable<string> {
    for (const key of this.#groupOfPod.keys()) yield `pod/${key}`;
    for (const key of this.#groupOfService.keys()) yield `service/${key}`;
  }

  setGate(namespace: string, name: string, gate: Gate | null): Affected {
    const others = (this.#gates.get(namespace) ?? []).filter((one) => one.name !== name);
    const gates = gate === null ? others : [...others, gate];
    gates.sort((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1));
    this.#gates.set(namespace, gates);
    const affected: Affected = new Set();
    for (const [pod, digest] of this.#pods.get(namespace) ?? [])
      this.#placePod(namespace, pod, digest, affected);
    for (const [service, digest] of this.#services.get(namespace) ?? []) {
      this.#placeService(namespace, service, digest, affected);
    }
    return affected;
  }

  setPod(namespace: string, name: string, digest: PodDigest | null): Affected {
    put(this.#pods, namespace, name, digest);
    const affected: Affected = new Set();
    this.#placePod(namespace, name, digest, affected);
    return affected;
  }

  setService(namespace: string, name: string, digest: ServiceDigest | null): Affected {
    put(this.#services, namespace, name, digest);
    const affected: Affected = new Set();
    this.#placeService(namespace, name, digest, affected);
    return affected;
  }

  setSlice(namespace: string, name: string, service: string, digest: EndpointSliceDigest | null): Affected {
    const ready = digest?.readyAddresses ?? [];
    const sum = ready.reduce((total, ip) => (total + hash(ip)) >>> 0, 1);
    put(this.#slices, `${namespace}/${service}`, name, digest === null ? null : { sum, ready });
    return this.#groupOfService.has(`${namespace}/${service}`)
      ? new Set([`service/${namespace}/${service}`])
      : new Set();
  }

  /** Actors of all groups of a RouteGate. */
  affectedBy(gate: Gate, value?: string): Affected {
    const affected: Affected = new Set();
    for (const group of this.#groups.values()) {
      const isOfGate = group.gate.namespace === gate.namespace && group.gate.name === gate.name;
      if (isOfGate && (value === undefined || value === group.value)) addAll(group, affected);
    }
    return affected;
  }

  #placePod(namespace: string, name: string, digest: PodDigest | null, affected: Affected): void {
    const key = `${namespace}/${name}`;
    const before = this.#groupOfPod.get(key);
    const was = before?.pods.get(name);
    const after = digest === null ? null : this.#groupFor(namespace, digest.labels, 'pod');
    affected.add(`pod/${key}`);
    if (before && was) {
      before.pods.delete(name);
      before.podsSum = (before.podsSum - podHash(was)) >>> 0;
      this.#groupOfPod.delete(key);
    }
    if (after && digest) {
      after.pods.set(name, digest);
      after.podsSum = (after.podsSum + podHash(digest)) >>> 0;
      this.#groupOfPod.set(key, after);
    }
    const isSamePod = before === after && was && digest && podHash(was) === podHash(digest);
    for (const group of isSamePod ? [] : [before, after]) {
      for (const service of group?.services.keys() ?? []) affected.add(`service/${namespace}/${service}`);
    }
    this.#forgetEmpty(before);
  }

  #placeService(namespace: string, name: string, digest: ServiceDigest | null, affected: Affected): void {
    const key = `${namespace}/${name}`;
    const before = this.#groupOfService.get(key);
    const after = digest === null ? null : this.#groupFor(namespace, digest.labels, 'service');
    affected.add(`service/${key}`);
    before?.services.delete(name);
    this.#groupOfService.delete(key);
    if (after && digest) {
      after.services.set(name, digest);
      this.#groupOfService.set(key, after);
    }
    for (const group of [before, after]) {
      for (const pod of group?.pods.keys() ?? []) affected.add(`pod/${namespace}/${pod}`);
      // The others of the group know it by name.
      if (before === after) continue;
      for (const peer of group?.services.keys() ?? []) affected.add(`service/${namespace}/${peer}`);
    }
    this.#forgetEmpty(before);
  }

  #groupFor(
    namespace: string,
    labels: Readonly<Record<string, string>>,
    side: 'pod' | 'service',
  ): Group | null {
    for (const gate of this.gatesIn(namespace)) {
      const { spec } = gate;
      const value = labels[side === 'pod' ? spec.group.podLabel : spec.group.serviceLabel];
      if (value === undefined || !selects(side === 'pod' ? spec.podSelector : spec.serviceSelector, labels))
        continue;
      const key = `${namespace}/${gate.name}/${gate.version}/${value}`;
      let group = this.#groups.get(key);
      if (!group) {
        group = { key, gate, value, pods: new Map(), services: new Map(), podsSum: 0 };
        this.#groups.set(key, group);
      }
      return group;
    }
    return null;
  }

  #forgetEmpty(group: Group | undefined): void {
    if (group && group.pods.size === 0 && group.services.size === 0) this.#groups.delete(group.key);
  }
}

/** What of a Pod can alter where a Service's traffic goes. */
function podHash({ uid, address, deleting }: PodDigest): number {
  return hash(`${uid}/${address !== null && 'ip' in address ? address.ip : ''}/${deleting}`);
}

function addAll(group: Group, affected: Affected): void {
  const { namespace } = group.gate;
  for (const pod of group.pods.keys()) affected.add(`pod/${namespace}/${pod}`);
  for (const service of group.services.keys()) affected.add(`service/${namespace}/${service}`);
}

function put<T>(maps: Map<string, Map<string, T>>, outer: string, inner: string, value: T | null): void {
  let map = maps.get(outer);
  if (!map) {
    if (value === null) return;
    map = new Map();
    maps.set(outer, map);
  }
  if (value === null) map.delete(inner);
  else map.set(inner, value);
  if (map.size === 0) maps.delete(outer);
}
