/**
 * Decides who answers for an actor whose shard is not open here: its owner or, if there is none, this
 * replica.
 */
import { OrreryError } from '../../base/errors.ts';
import type { ActorId } from '../../base/ids.ts';
import { ledShard } from '../../base/limits.ts';
import type { EngineView } from '../feature.ts';
import { holdingName } from '../shards/shard-run.ts';

/**
 * Returns undefined to leave the answer to the owner. If there is none, one replica says so, so that nobody
 * waits in vain.
 *
 * @throws OrreryError NOT_OWNER if no live replica owns the actor's shard
 */
export function leaveToOwner(
  engine: Pick<EngineView, 'ownership' | 'directory' | 'parts'>,
  id: ActorId,
): undefined {
  const shard = engine.parts.homes.homeOf(id);
  const owner = engine.ownership.ownerOf(holdingName(shard));
  const live = owner === null ? null : engine.directory.live();
  const isOwned = owner !== null && (live === null || live.has(owner));
  if (isOwned) return undefined;
  if (shard === ledShard) {
    throw new OrreryError(
      'NOT_OWNER',
      `no replica leads ${id}: only one of the newest release may, with a bundle`,
    );
  }
  throw new OrreryError('NOT_OWNER', `shard ${shard} of ${id} has no owner at the moment; try again`);
}
