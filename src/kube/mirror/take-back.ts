/**
 * Removes from the world everything that it holds of a resource that nobody wants any more: its statement
 * and every digest.
 *
 * Promises: guarded by the fence of the mirror, like everything it wrote; whatever was still on its way when
 * the mirror stopped is removed, too. Absent: the fence, which goes with the holding
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
 * @param mirror its name, under which it stated
 * @param resource as it stands in the world
 * @throws OrreryError BUS_CONFLICT if the fence is another's by now
 */
export async function takeBack(
  { bus, subjects, encode, world, random }: TakeBackParts,
  { mirror, resource, fence }: { readonly mirror: string; readonly resource: string; readonly fence: number },
): Promise<void> {
  const guard = { subject: subjects.worldFence(mirror), sequence: fence };
  const ttlSeconds = limits.worldTombstoneSeconds;
  const bury = (subject: string, facts: object) =>
    bus.append(subject, encode({ deleted: true, ...facts }), { guard, msgId: random.id(), ttlSeconds });
  // Whatever the mirror sent before stands before this.
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

/** The same resource is named by another version of its kind, too: its mirror needs what stands there. */
function isMirroredElsewhere(world: TakeBackParts['world'], mirror: string, resource: string): boolean {
  return [...world.entries('_synced')].some(
    ({ name, digest }) => name !== mirror && asDigest<SyncedDigest>(digest, 'synced')?.resource === resource,
  );
}

const nobody = { uid: '', resourceVersion: '' };
