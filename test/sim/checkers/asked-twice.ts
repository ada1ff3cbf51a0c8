/**
 * "A proven route is not probed again: not after a shard moves, not after every replica restarts"
 * (docs/features/routes.md §4.10), and a proof holds until the Service, the Pod or its address changes
 * (§3.6).
 *
 * No Pod asks a Service for a proof that one of its stored records held, unless something real took the proof
 * back: another address, a Service that left the group or changed its ports, a person who asks to look again,
 * a route that was reported lost, the end of the actor.
 */

import type { CheckerKind } from '../../../packages/testing/checkers/checker.ts';
import type { Sighting } from '../../../packages/testing/simulation/sightings.ts';
import type { PodContext } from '../../../src/machines/pod/pod-context.ts';
import type { Digest } from '../digest.ts';
import type { RoutesScene } from '../routes-scene.ts';

export const askedTwice: CheckerKind<RoutesScene> = {
  name: 'no proof asked twice',
  create(eye) {
    /** Pod actor → proofs that it has held: Service, its uid, Pod uid, address. */
    const held = new Map<string, Set<string>>();
    eye.world.kube.onChange(({ resource, namespace, name, digest }, before) => {
      if (placeOf(digest) === placeOf(before)) return;
      if (resource === 'pods') held.delete(`pod/${namespace}/${name}`);
      for (const proofs of resource === 'services' ? held.values() : []) {
        for (const proof of proofs) if (proof.startsWith(`${name} `)) proofs.delete(proof);
      }
    });
    return (sighting) => {
      if (sighting.kind === 'lost' && sighting.stream === 'state') held.clear();
      if (sighting.kind !== 'saved' || !sighting.id.startsWith('pod/')) return;
      const proofs = held.get(sighting.id) ?? new Set<string>();
      held.set(sighting.id, proofs);
      const type = sighting.record.feed.at(-1)?.event.type ?? '';
      for (const proof of proofs) if (!isWanted(sighting, proof)) proofs.delete(proof);
      if (sighting.record.gone || type === 'pod.recheck' || type === 'route.lost') proofs.clear();
      for (const question of questions(sighting))
        if (proofs.has(question))
          eye.breach(`${sighting.id} rev ${sighting.record.rev} asks again: ${question}`);
      // The record of an ended actor is kept only for its revision.
      if (!sighting.record.gone) for (const proof of proofsOf(sighting)) proofs.add(proof);
    };
  },
};

/** What a proof is about, of an object. */
function placeOf(digest: Digest | null): string {
  if (digest?.kind === 'pods') return JSON.stringify(digest.address);
  return digest?.kind === 'services' ? JSON.stringify([digest.labels, digest.ports]) : '';
}

/**
 * Whether the Service is still among those of the Pod, according to what its actor was told: what really
 * happened may have been told late.
 */
function isWanted({ record }: Saved, proof: string): boolean {
  const { facts } = record.snapshot.context as PodContext;
  const [service = '', uid, , ip] = proof.split(' ');
  if (facts === null) return true;
  const isThere = facts.address !== null && 'ip' in facts.address && facts.address.ip === ip;
  return isThere && facts.services[service] === uid;
}

type Saved = Sighting & { readonly kind: 'saved' };

/**
 * The proofs that the step took. What a True condition vouches for is adopted without proof, and may be asked
 * for later.
 */
function proofsOf({ record }: Saved): string[] {
  const { facts, proofs } = record.snapshot.context as PodContext;
  const event = record.feed.at(-1)?.event as { type?: string; service?: string } | undefined;
  const isProof = event?.type === 'route.proven' || event?.type === 'route.unverifiable';
  if (!isProof || event.service === undefined || facts?.address == null || !('ip' in facts.address))
    return [];
  const uid = proofs[event.service];
  return uid === undefined ? [] : [`${event.service} ${uid} ${facts.uid} ${facts.address.ip}`];
}

/** What the step itself asks; not what an outbox still holds. */
function questions({ record, before }: Saved): string[] {
  const step = record.feed.at(-1);
  if (!step || step.rev !== record.rev || record.rev === before?.rev) return [];
  const { facts } = record.snapshot.context as PodContext;
  return step.effects.flatMap((effect) => {
    const event = effect.event as { type?: string; uid?: string; ip?: string } | undefined;
    if (effect.type !== 'message.send' || event?.type !== 'route.wanted') return [];
    return (effect.to as string[]).map((to) => {
      const service = to.slice(to.lastIndexOf('/') + 1);
      return `${service} ${facts?.services[service]} ${event.uid} ${event.ip}`;
    });
  });
}
