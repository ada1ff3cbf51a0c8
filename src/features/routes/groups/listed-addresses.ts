/**
 * The addresses that the EndpointSlices of a Service list as ready, and what they say of the Pods of its
 * group: which are on their way into them, which they list though a gate holds them back.
 */
import { limits } from '../../../base/limits.ts';
import type { PodDigest } from '../digests.ts';
import type { Gate } from '../gate.ts';
import { put } from './nested-map.ts';

/** By Service, as `<ns>/<name>`. */
export class ListedAddresses {
  /** By Service, then by slice. */
  readonly #slices = new Map<string, Map<string, readonly string[]>>();
  /** What #slices hold of a Service, once it was asked for. */
  readonly #listed = new Map<string, ReadonlySet<string>>();
  readonly #listeners = new Map<string, Set<() => void>>();

  /** @param addresses null: the slice is gone */
  set(service: string, slice: string, addresses: readonly string[] | null): void {
    put(this.#slices, service, slice, addresses);
    this.#listed.delete(service);
    this.tell(service);
  }

  of(service: string): ReadonlySet<string> {
    const known = this.#listed.get(service);
    const listed = known ?? this.read(service);
    if (known === undefined && listed.size > 0) this.#listed.set(service, listed);
    return listed;
  }

  /** As `of`, but keeps nothing. */
  read(service: string): ReadonlySet<string> {
    return new Set([...(this.#slices.get(service)?.values() ?? [])].flat());
  }

  /** Calls back after each change of the Service's slices, and when told, until ended. */
  onChange(service: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(service) ?? new Set();
    this.#listeners.set(service, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(service) === listeners) this.#listeners.delete(service);
    };
  }

  /** The Pods of the Service have changed. */
  tell(service: string): void {
    for (const listener of this.#listeners.get(service) ?? []) listener();
  }
}

type Listed = ReadonlySet<string>;

/** What is asked of a group (groups.ts). */
interface Members {
  readonly gate: Gate;
  readonly pods: ReadonlyMap<string, PodDigest>;
  readonly podsSince: ReadonlyMap<string, number>;
  readonly ended: number;
}

/** How many of a group's Pods serve, or will: what is left of an eviction counts for nothing. */
export const servingPods = ({ pods, ended }: Pick<Members, 'pods' | 'ended'>): number => pods.size - ended;

/** The number of Pods of a Service's group that its slices do not list yet. */
export function comingTo(group: Members | null, listed: Listed): number {
  let count = 0;
  for (const { address, deleting, finished } of group?.pods.values() ?? []) {
    const isListed = address !== null && (!('ip' in address) || listed.has(address.ip));
    if (!isListed && !deleting && finished !== true) count += 1;
  }
  return count;
}

/**
 * Address → uid of the Pods that the Service's slices list and its gate holds back, if the group is not too
 * large for answers to be kept.
 */
export function heldAt(group: Members | null, listed: Listed): ReadonlyMap<string, string> {
  const held = new Map<string, string>();
  if (group === null || servingPods(group) > limits.probeKeptAnswers) return held;
  for (const { address, uid, deleting, finished, conditions } of group.pods.values()) {
    const isGone = deleting || finished === true || address === null || !('ip' in address);
    if (isGone || conditions[group.gate.spec.conditionType] === 'True') continue;
    if (listed.has(address.ip)) held.set(address.ip, uid);
  }
  return held;
}

/**
 * The uid of the only Pod of a Service's group with this address, if it has had it since before that change
 * of Pods, and if the group is not too large for answers to be kept.
 */
export function podAt(group: Members | null, ip: string, since: number): string | undefined {
  if (group === null || servingPods(group) > limits.probeKeptAnswers) return undefined;
  const pod = onlyPodAt(group, ip);
  if (pod === null) return undefined;
  const { uid, deleting } = group.pods.get(pod) ?? {};
  const isStill = (group.podsSince.get(pod) ?? Number.POSITIVE_INFINITY) <= since;
  return isStill && !deleting ? uid : undefined;
}

/**
 * The actor of the one Pod that has the address; null: none has it, or several do. A Pod that has ended still
 * shows the address that it had, which may be another's by now.
 */
function onlyPodAt({ pods }: Pick<Members, 'pods'>, ip: string): string | null {
  let found: string | null = null;
  for (const [pod, { address, finished }] of pods) {
    if (finished || address === null || !('ip' in address) || address.ip !== ip) continue;
    if (found !== null) return null;
    found = pod;
  }
  return found;
}
