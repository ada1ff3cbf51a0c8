/**
 * I3: "A replica that cannot save does nothing outside."
 *
 * A replica begins no effect once its connection has been cut, or all its saves have been lost, for some
 * time. Nor does it begin one for an actor whose shard has belonged to another replica for some time. What
 * was saved before may still begin within moments, because its acknowledgement was on its way.
 */

import type { ShardName } from '../../../src/base/ids.ts';
import { limits } from '../../../src/base/limits.ts';
import { shardOf } from '../../../src/bus/partition.ts';
import type { CheckerKind } from './checker.ts';

/**
 * Messages that were delivered but are read late (process-bus.ts) can open a shard, and with it its outbox,
 * this much later.
 */
const momentMs = 2_500;
/** A process that was stopped for less than this may still believe an acknowledgement that it finds. */
const beliefMs = limits.appendTimeoutMs + momentMs;

export const silence: CheckerKind = {
  name: 'I3',
  create(eye) {
    const owners = new Map<ShardName, { readonly replica: string; readonly since: number }>();
    /** The shards of actors that their names do not determine. */
    const homes = new Map<string, ShardName>();
    const pausedAt = new Map<string, number>();
    return (sighting) => {
      if (sighting.kind === 'second')
        for (const { name, process } of eye.replicas())
          if (process?.state === 'paused') pausedAt.set(name, eye.now());
      if (sighting.kind === 'saved') homes.set(sighting.id, sighting.shard);
      if (sighting.kind === 'fence' && sighting.replica !== null)
        owners.set(sighting.shard, { replica: sighting.replica, since: eye.now() });
      if (sighting.kind !== 'effect') return;
      const { replica, key, mutedAt, actor } = sighting;
      const mutedMs = mutedAt === null ? 0 : eye.now() - mutedAt;
      const wasPaused = eye.now() - (pausedAt.get(replica) ?? 0) < 2_000;
      if (mutedMs > (wasPaused ? beliefMs : momentMs))
        eye.breach(`${replica} begins ${key} after ${Math.round(mutedMs)} ms without a save`);
      const owner = owners.get(homes.get(actor) ?? shardOf(actor, eye.world.shards));
      const lostMs = owner === undefined || owner.replica === replica ? 0 : eye.now() - owner.since;
      if (lostMs > beliefMs)
        eye.breach(
          `${replica} begins ${key}, ${Math.round(lostMs)} ms after ${owner?.replica} took the shard`,
        );
    };
  },
};
