/** Who answers for an actor whose shard is not open here: its owner, or, where there is none, whoever is asked. */
import { shardOf } from '../bus/shard.ts';
import { OrreryError } from '../errors.ts';
import type { ActorId } from '../ids.ts';
import type { Engine } from './engine.ts';

/**
 * Silence leaves the answer to the owner; where there is none, one replica says so, so that nobody waits in vain.
 *
 * @throws OrreryError NOT_OWNER if no live replica owns the actor's shard
 */
export function leaveToOwner(engine: Pick<Engine, 'ownership' | 'directory'>, id: ActorId): undefined {
  const shard = shardOf(id);
  const view = engine.ownership.views().find(({ name }) => name === `shard/${shard}`);
  const live = engine.directory.live();
  const isOwned = view?.owner != null && (live === null || live.has(view.owner));
  if (isOwned) return undefined;
  throw new OrreryError('NOT_OWNER', `shard ${shard} of ${id} has no owner at the moment; try again`);
}
