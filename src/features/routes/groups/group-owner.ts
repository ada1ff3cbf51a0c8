/**
 * The object that owns a group: its name is the value of the group's label, its kind is what the RouteGate
 * names. Pure, over the picture.
 */
import type { World } from '../../../actors/world/world.ts';
import { asDigest } from '../../../base/digests.ts';
import type { PodFacts } from '../../../machines/pod/pod-facts.ts';
import type { GroupResourceDigest } from '../digests.ts';
import type { Gate } from '../gate.ts';

type Picture = Pick<World, 'get' | 'statement'>;

/** The name of the mirror of the kind that owns the groups; null: none does. */
export const ownerKindOf = ({ spec: { groupResource } }: Gate): string | null =>
  groupResource === null ? null : `${groupResource.apiVersion}/${groupResource.kind}`;

/** `mismatch`: the owner is not one that the RouteGate requires. */
export function ownerStateOf(world: Picture, gate: Gate, value: string): PodFacts['groupResource'] {
  const { groupResource } = gate.spec;
  if (groupResource === null) return 'none';
  const digest = findOwner(world, gate, value);
  if (digest === null) return 'missing';
  const isRequired = Object.entries(groupResource.require).every(
    ([path, wanted]) => String(digest.fields[path] ?? '') === wanted,
  );
  return isRequired ? 'found' : 'mismatch';
}

/** Whether the group's owner is there; where it is not, which object is missing. */
export function ownerOf(
  world: Picture,
  gate: Gate,
  value: string,
): Pick<PodFacts, 'groupResource' | 'owner'> {
  const state = ownerStateOf(world, gate, value);
  const { groupResource, group } = gate.spec;
  if (state !== 'missing' || groupResource === null) return { groupResource: state };
  const { apiVersion, kind } = groupResource;
  const owner = { apiVersion, kind, name: value, label: group.podLabel };
  return { groupResource: state, owner };
}

/** The number of Pods that the owner states, or the RouteGate in its place; null: neither does. */
export function statedReplicas(world: Picture, gate: Gate, value: string): number | null {
  const replicas = gate.spec.groupResource?.replicas;
  if (!replicas) return null;
  const stated = Number(findOwner(world, gate, value)?.fields[replicas.path] ?? replicas.default);
  return Number.isInteger(stated) && stated > 0 ? stated : null;
}

/** It is in the RouteGate's namespace or in none. */
function findOwner(world: Picture, gate: Gate, value: string): GroupResourceDigest | null {
  const kind = ownerKindOf(gate);
  const resource = kind === null ? null : (world.statement(kind)?.resource ?? null);
  if (resource === null) return null;
  const digest = world.get(resource, '', value) ?? world.get(resource, gate.namespace, value);
  return asDigest<GroupResourceDigest>(digest, 'groupresource');
}
