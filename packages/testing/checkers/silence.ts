/**
 * I3: "A replica that cannot save does nothing outside."
 *
 * A replica whose connection has been cut, or whose every save is lost, for some time begins no effect; nor
 * does one for an actor whose shard has belonged to another for some time. What was saved before may still
 * begin within moments: its acknowledgement was on its way.
 */

import type { ShardName } from '../../../src/base/ids.ts';
import { limits } from '../../../src/base/limits.ts';
import { shardOf } from '../../../src/bus/partition.ts';
import type { CheckerKind } from './checker.ts';

/**
 * Messages that were delivered but are followed late (process-bus.ts) can open a shard, and with it its
 * outbox, so much later.
 */
const momentMs = 2_500;
/** A process that was stopped for less than this may still believe the acknowledgement that it finds. */
const beliefMs = limits.appendTimeoutMs + momentMs;

export const silence: CheckerKind = {
  name: 'I3',
  create(eye) {
    const owners = new Map<ShardName, { readonly replica: string; readonly since: number }>();
    /** Some actors live in no shard that follows from their name. */
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
