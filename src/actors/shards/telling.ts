/**
 * When actors are told what the world says: only while the picture is consistent (world.ts). Until then they
 * wait.
 *
 * Bounded in time, because a wrong count of messages still to come must not silence a replica.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { ActorId } from '../../base/ids.ts';
import type { ShardRun } from '../host/owned.ts';
import type { World } from '../world/world.ts';

/** Catching up takes a moment; after this time the picture is used as it is. */
const patienceMs = 5_000;

export function createTelling(parts: {
  readonly world: Pick<World, 'isWhole' | 'onWhole'>;
  readonly clock: Clock;
  readonly tell: (id: ActorId) => void;
  readonly tellAll: (run: ShardRun) => void;
}) {
  const { world, clock } = parts;
  const ids = new Set<string>();
  const runs = new Set<ShardRun>();
  let timer: Timer | null = null;

  const tellNow = () => {
    timer?.cancel();
    timer = null;
    for (const run of runs) if (run.phase === 'active') parts.tellAll(run);
    runs.clear();
    for (const id of ids) parts.tell(id as ActorId);
    ids.clear();
  };
  const tellWhenWhole = () => {
    if (world.isWhole) tellNow();
    else timer ??= clock.after(patienceMs, tellNow);
  };
  world.onWhole(tellNow);

  return {
    /** Tells these actors, if their shards are open here. */
    tell(affected: Iterable<string>): void {
      for (const id of affected) ids.add(id);
      tellWhenWhole();
    },
    /** Tells every actor of a shard that was just opened. */
    tellAll(run: ShardRun): void {
      runs.add(run);
      tellWhenWhole();
    },
  };
}
