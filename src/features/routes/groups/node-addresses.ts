/**
 * Pods on the network of their node (`hostNetwork`) share its address, so an answer that names it does not
 * say which of them gave it. Other Pods have an address of their own, even if the picture shows it at two for
 * a moment. A Pod that is being deleted may still answer.
 */
import type { PodDigest } from '../digests.ts';

/** Address of a node → actors of a group's Pods that use it as theirs. */
export type NodeAddresses = Map<string, Set<string>>;

/** The node's address, if it is the Pod's. */
function nodeAddress({ hostNetwork, finished, address }: PodDigest): string | null {
  const isThere = hostNetwork === true && finished !== true && address !== null;
  return isThere && 'ip' in address ? address.ip : null;
}

/** @returns the actors of those who share the Pod's address */
export function removeNodeAddress(all: NodeAddresses, actor: string, pod: PodDigest): readonly string[] {
  const ip = nodeAddress(pod);
  const there = ip === null ? undefined : all.get(ip);
  if (ip === null || there === undefined) return [];
  there.delete(actor);
  if (there.size === 0) all.delete(ip);
  return [...there];
}

/** @returns the actors of those who share the Pod's address */
export function addNodeAddress(all: NodeAddresses, actor: string, pod: PodDigest): readonly string[] {
  const ip = nodeAddress(pod);
  if (ip === null) return [];
  const others = [...(all.get(ip) ?? [])];
  all.set(ip, new Set([...others, actor]));
  return others;
}

/** Another Pod that answers with the same address, the first by name; null: none does. */
export function sharerOf(all: NodeAddresses, actor: string, pod: PodDigest): string | null {
  const ip = nodeAddress(pod);
  const others = ip === null ? [] : [...(all.get(ip) ?? [])].filter((one) => one !== actor);
  return others.sort()[0] ?? null;
}
