/**
 * The event that each shard has been processing longest: it distinguishes a stuck shard from a busy one.
 */
import type { ActorId, ShardName } from '../../base/ids.ts';
import type { Cell } from './owned.ts';

/** Shard → the event in progress for longest, with its start in monotonic ms. */
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
