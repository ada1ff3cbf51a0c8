/**
 * Decides who answers for an actor whose shard is not open here: its owner or, if there is none, this
 * replica.
 */
import { OrreryError } from '../../base/errors.ts';
import type { ActorId, ShardName } from '../../base/ids.ts';
import { ledShard } from '../../base/limits.ts';
import type { EngineView } from '../feature.ts';
import { holdingName } from '../shards/shard-run.ts';

/**
 * Returns undefined to leave the answer to the owner. If there is none, or it is this replica and the shard
 * is on its way here or away, that is said, so that nobody waits in vain.
 *
 * @throws OrreryError NOT_OWNER if no live replica can answer for the actor's shard
 */
export function leaveToOwner(
  engine: Pick<EngineView, 'ownership' | 'directory' | 'parts' | 'shards'>,
  id: ActorId,
): undefined {
  const shard = engine.parts.homes.homeOf(id);
  const owner = engine.ownership.ownerOf(holdingName(shard));
  const run = engine.shards.runOf(id);
  const isOurs = owner === engine.parts.replica || run?.phase === 'loading';
  if (isOurs) throw new OrreryError('NOT_OWNER', `shard ${shard} of ${id} is moving; try again`);
  const isOwned = owner !== null && isHeard(engine, owner);
  if (isOwned || isOwnedElsewhere(engine, shard)) return undefined;
  if (shard === ledShard) {
    throw new OrreryError(
      'NOT_OWNER',
      `no replica leads ${id}: only one of the newest release may, with a bundle`,
    );
  }
  throw new OrreryError('NOT_OWNER', `shard ${shard} of ${id} has no owner at the moment; try again`);
}

/** By a replica that works with other streams, whose fences are not seen here (members/one-store.ts). */
function isOwnedElsewhere(
  { directory, parts }: Pick<EngineView, 'directory' | 'parts'>,
  shard: ShardName,
): boolean {
  const live = directory.live();
  const own = live?.get(parts.replica)?.store;
  if (live === null || own === undefined || typeof shard !== 'number') return false;
  return [...live.values()].some(({ store = own, shards }) => store !== own && shards.includes(shard));
}

/** A replica that is leaving answers until it has handed over. */
function isHeard({ directory }: Pick<EngineView, 'directory'>, replica: string): boolean {
  const live = directory.live();
  return (
    live === null ||
    live.has(replica) ||
    directory.all().some((one) => one.replica === replica && directory.isPresent(replica, one.incarnation))
  );
}
