/**
 * Liveness: after the last fault and the last change, everything comes to rest within a bound. Every shard
 * has an owner that works, every actor that the world calls for has the present facts, and every Pod whose
 * routes work has its condition True.
 *
 * `unsettled` says what is still missing. The simulation asks it each second, and reports a breach when the
 * bound is over.
 */

import { namedTwice, ownersMissing, recordsDue } from '../../../packages/testing/checkers/at-rest.ts';
import type { CheckerKind, Eye } from '../../../packages/testing/checkers/checker.ts';
import type { Sighting } from '../../../packages/testing/simulation/sightings.ts';
import type { ActorRecord } from '../../../src/actors/host/records.ts';
import { equal } from '../../../src/base/equal.ts';
import type { ActorId } from '../../../src/base/ids.ts';
import { shardOf } from '../../../src/bus/partition.ts';
import type { PodContext } from '../../../src/machines/pod/pod-context.ts';
import type { Digest } from '../digest.ts';
import { conditionType, namespace } from '../objects.ts';
import { routesOf } from '../routes-life.ts';
import type { RoutesScene } from '../routes-scene.ts';
import type { SimWorld } from '../sim-world.ts';
import { createSince } from './since.ts';
import { trueAndUnproven } from './withdrawn.ts';

/**
 * Longest time to come to rest, ms: a broker's answer that never comes (5 s), a claim (6 s) and a load (30 s)
 * that are given up, and then the longest pauses: a question is repeated after a minute, and an effect is
 * given up after half a minute, twice.
 */
export const restMs = 180_000;
/** A condition taken back unseen is looked for after five minutes (docs/features/routes.md §7.10). */
export const unseenRestMs = 300_000 + restMs;

/** What is known of the actors from outside. */
export interface Settlement {
  readonly records: ReadonlyMap<string, ActorRecord>;
  /**
   * Uids of Pods whose condition was taken back before their actor had seen it True: the actor cannot tell,
   * and believes for a while that it is True.
   */
  readonly takenUnseen: ReadonlySet<string>;
  /** Takes a sighting. */
  see(sighting: Sighting): void;
}

export function createSettlement({ kube }: Pick<RoutesScene, 'kube'>): Settlement {
  const records = new Map<string, ActorRecord>();
  const takenUnseen = new Set<string>();
  const statusOf = (digest: Digest | null) =>
    digest?.kind === 'pods' ? digest.conditions[conditionType] : undefined;
  kube.onChange(({ name, digest }, before) => {
    if (digest?.kind !== 'pods' || statusOf(before) !== 'True' || statusOf(digest) === 'True') return;
    const context = records.get(`pod/${namespace}/${name}`)?.snapshot.context as PodContext | undefined;
    if (context?.facts?.condition !== 'True') takenUnseen.add(digest.uid);
  });
  return {
    records,
    takenUnseen,
    see(sighting) {
      if (sighting.kind === 'saved') records.set(sighting.id, sighting.record);
    },
  };
}

export const settled: CheckerKind<SimWorld> = {
  name: 'liveness',
  create(eye) {
    let calmAt: number | null = null;
    const since = createSince(eye.now);
    const settlement = createSettlement(eye.world);
    return (sighting) => {
      settlement.see(sighting);
      if (sighting.kind === 'calm') calmAt = eye.now();
      if (sighting.kind !== 'second' || calmAt === null) return;
      const isUnseenOver = eye.now() - calmAt > unseenRestMs;
      // Of many Pods whose routes are watched, some may always be in doubt for a moment.
      const missing = unsettled(eye, settlement, isUnseenOver ? nobody : settlement.takenUnseen);
      for (const [one, from] of since(missing))
        if (eye.now() - from > restMs) eye.breach(`${restMs / 1000} s after the last fault: ${one}`);
    };
  },
};

const nobody: ReadonlySet<string> = new Set();

/**
 * What is not at rest yet, in words; nothing: everything is.
 *
 * @param excused uids of Pods that need not be marked
 */
export function unsettled(
  eye: Pick<Eye<SimWorld>, 'world' | 'replicas'>,
  { records }: Pick<Settlement, 'records'>,
  excused: ReadonlySet<string> = nobody,
): string[] {
  const unowned = [...namedTwice(eye), ...ownersMissing(eye)];
  if (unowned.length > 0) return unowned;
  const { world } = eye;
  if (!world.mirror.isIdle || !world.routing.isSettled)
    return ['the simulated cluster itself is not at rest'];
  return [
    ...podsNotReady(eye, excused),
    ...trueAndUnproven(world, records),
    ...actorsBehind(eye, records),
    ...recordsDue(records, world.clock.now()),
  ];
}

export function podsNotReady(
  { world }: Pick<Eye<RoutesScene>, 'world'>,
  excused: ReadonlySet<string>,
): string[] {
  return world.kube.entries('pods').flatMap(({ name, digest }) => {
    if (!digest.readinessGates.includes(conditionType) || excused.has(digest.uid)) return [];
    const status = digest.conditions[conditionType];
    return status === 'True' ? [] : [`${name} (${digest.uid}) is not marked: ${status}`];
  });
}

/** Actors that do not know what the world says of them. */
function actorsBehind(
  { world, replicas }: Pick<Eye<SimWorld>, 'world' | 'replicas'>,
  records: ReadonlyMap<string, ActorRecord>,
): string[] {
  const names = [
    ...world.kube.entries('pods').map(({ name }) => ['pod', name] as const),
    ...world.kube.entries('services').map(({ name }) => ['service', name] as const),
  ];
  const behind: string[] = [];
  for (const [kind, name] of names) {
    const id: ActorId = `${kind}/${namespace}/${name}`;
    const owner = replicas().find(({ engine }) =>
      engine?.ownership.active().includes(`shard/${shardOf(id, world.shards)}`),
    );
    const observation = (owner && routesOf(owner)?.observe(kind, namespace, name)) ?? null;
    const record = records.get(id);
    const known = record && !record.gone ? (record.snapshot.context as { facts: unknown }).facts : null;
    if (observation === null || !equal(known, observation.facts))
      behind.push(`${id} does not know the world`);
  }
  const called = new Set(names.map(([kind, name]) => `${kind}/${namespace}/${name}`));
  for (const [id, { gone }] of records) if (!gone && !called.has(id)) behind.push(`${id} has not ended`);
  return behind;
}
