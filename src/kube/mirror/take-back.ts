/**
 * Removes a resource that nobody wants any more from the world: its statement and every digest.
 *
 * Promises: guarded by the mirror's fence, like everything it wrote; messages that were in transit when the
 * mirror stopped are removed, too. Absent: the fence, which goes with the holding
 * (actors/shards/ownership.ts).
 */
import { asDigest, isOfObject, type SyncedDigest, type WorldEntry } from '../../base/digests.ts';
import { limits } from '../../base/limits.ts';
import type { Random } from '../../base/random.ts';
import type { StoreBus } from './publisher.ts';

export interface TakeBackParts {
  readonly bus: Pick<StoreBus, 'append'>;
  readonly subjects: {
    world(resource: string, namespace: string, name: string): string;
    worldFence(resource: string): string;
  };
  readonly encode: (value: unknown) => Uint8Array;
  readonly world: {
    entries(resource: string): Iterable<WorldEntry>;
    ready(resource: string, sequence: number): Promise<void>;
  };
  readonly random: Random;
}

/**
 * @param mirror the name of its statement
 * @param resource as in the world
 * @throws OrreryError BUS_CONFLICT if another replica has the fence now
 */
export async function takeBack(
  { bus, subjects, encode, world, random }: TakeBackParts,
  { mirror, resource, fence }: { readonly mirror: string; readonly resource: string; readonly fence: number },
): Promise<void> {
  const guard = { subject: subjects.worldFence(mirror), sequence: fence };
  const ttlSeconds = limits.worldTombstoneSeconds;
  const bury = (subject: string, facts: object) =>
    bus.append(subject, encode({ deleted: true, ...facts }), { guard, msgId: random.id(), ttlSeconds });
  // Everything that the mirror sent precedes this message in the stream.
  const { sequence } = await bury(subjects.world('_synced', '', mirror), {});
  await world.ready(resource, sequence);
  const left = isMirroredElsewhere(world, mirror, resource) ? [] : [...world.entries(resource)];
  while (left.length > 0) {
    const some = left.splice(0, limits.worldPublishesInFlight);
    await Promise.all(
      some.map(({ namespace, name, digest }) => {
        const { uid, resourceVersion } = digest !== null && isOfObject(digest) ? digest : nobody;
        return bury(subjects.world(resource, namespace, name), { uid, resourceVersion });
      }),
    );
  }
}

/** The same resource is named by another version of its kind, whose mirror needs these entries. */
function isMirroredElsewhere(world: TakeBackParts['world'], mirror: string, resource: string): boolean {
  return [...world.entries('_synced')].some(
    ({ name, digest }) => name !== mirror && asDigest<SyncedDigest>(digest, 'synced')?.resource === resource,
  );
}

const nobody = { uid: '', resourceVersion: '' };
