/**
 * I3: "A replica that cannot save does nothing outside."
 *
 * A replica whose connection has been cut, or whose every save is lost, for some time begins no effect; nor
 * does one for an actor whose shard has belonged to another for some time. What was saved before may still
 * begin within moments: its acknowledgement was on its way.
 */

import type { ActorId, ShardName } from '../../../src/base/ids.ts';
import { limits } from '../../../src/base/limits.ts';
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
    /** Kinds of loaded features live in parts of their own: where its record lies an actor is at home. */
    const homes = new Map<ActorId, ShardName>();
    return (sighting) => {
      if (sighting.kind === 'saved') homes.set(sighting.id, sighting.shard);
      if (sighting.kind === 'fence' && sighting.replica !== null)
        owners.set(sighting.shard, { replica: sighting.replica, since: eye.now() });
      if (sighting.kind !== 'effect') return;
      const { replica, key, mutedAt, actor } = sighting;
      const mutedMs = mutedAt === null ? 0 : eye.now() - mutedAt;
      if (mutedMs > momentMs)
        eye.breach(`${replica} begins ${key} after ${Math.round(mutedMs)} ms without a save`);
      const home = homes.get(actor);
      const owner = home === undefined ? undefined : owners.get(home);
      const lostMs = owner === undefined || owner.replica === replica ? 0 : eye.now() - owner.since;
      if (lostMs > beliefMs)
        eye.breach(
          `${replica} begins ${key}, ${Math.round(lostMs)} ms after ${owner?.replica} took the shard`,
        );
    };
  },
};
