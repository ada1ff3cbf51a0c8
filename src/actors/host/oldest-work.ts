/**
 * What a replica has been working on longest, by shard: this tells a shard that is stuck from one that is
 * busy.
 */
import type { ActorId, ShardName } from '../../base/ids.ts';
import type { Cell } from './owned.ts';

/** Shard → the event that has been in work for longest; since when in monotonic ms. */
export type OldestWork = ReadonlyMap<ShardName, { readonly actor: ActorId; readonly since: number }>;

export function oldestWork(cells: Iterable<Cell>): OldestWork {
  const oldest = new Map<ShardName, { actor: ActorId; since: number }>();
  for (const { id, shard, hot } of cells) {
    const since = hot?.takingSince ?? null;
    if (since === null || shard.phase === 'closed') continue;
    if (since < (oldest.get(shard.shard)?.since ?? Number.POSITIVE_INFINITY)) {
      oldest.set(shard.shard, { actor: id, since });
    }
  }
  return oldest;
}
