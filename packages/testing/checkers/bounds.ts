/**
 * I6: "Nothing is unbounded. Each bound is in `limits.ts`": none is ever exceeded, and nobody retries without
 * a pause.
 */
import type { Engine } from '../../../src/actors/engine.ts';
import { ledHolding } from '../../../src/actors/shards/shard-run.ts';
import { limits } from '../../../src/base/limits.ts';
import type { CheckerKind, Eye, SeenReplica } from './checker.ts';

/**
 * A simulated replica has a few dozen actors; when it takes over all shards it writes some hundred messages.
 */
const appendsPerSecond = 1_500;

export const bounds: CheckerKind = {
  name: 'I6',
  create(eye) {
    const appends = new Map<SeenReplica, number>();
    return (sighting) => {
      if (sighting.kind === 'second') {
        for (const replica of eye.replicas()) {
          checkReplica(eye, replica);
          const more = replica.appends - (appends.get(replica) ?? 0);
          appends.set(replica, replica.appends);
          if (more > appendsPerSecond) eye.breach(`${replica.name} writes ${more} messages in a second`);
        }
      }
      if (sighting.kind !== 'saved') return;
      const { id, record, bytes } = sighting;
      const sizes = [
        ['bytes', bytes, limits.recordBytes],
        ['effects', record.outbox.length, limits.outboxEffects],
        ['unpublished transitions', record.feed.length, limits.unpublishedTransitions],
        ['remembered ids', record.recentIds.length, limits.recentMessageIds],
      ] as const;
      for (const [what, size, most] of sizes)
        if (size > most) eye.breach(`${id} rev ${record.rev} has ${size} ${what}, allowed are ${most}`);
    };
  },
};

function checkReplica({ breach }: Eye, { engine, name }: SeenReplica): void {
  if (engine === undefined) return;
  for (const run of engine.shards.open()) {
    for (const { id, hot } of run.cells.values()) {
      const waiting = hot?.mailbox.length ?? 0;
      // Outcomes are accepted whatever the mailbox holds; there are no more of them than effects.
      const most = limits.mailboxEvents + limits.outboxEffects;
      if (waiting > most) breach(`${name}: ${id} has ${waiting} events waiting`);
    }
  }
  // What may not be kept is given back besides; the work of a lost lead is.
  const moving = engine.ownership
    .views()
    .filter(({ name: holding, state }) => holding !== ledHolding && /draining/.test(state)).length;
  // A graceful stop hands over everything at once; only planned moves are few.
  if (moving > limits.plannedMoves && engine.ownership.active().length > 0 && !isLeaving(engine))
    breach(`${name} hands over ${moving} holdings at a time`);
}

function isLeaving(engine: Engine): boolean {
  return engine.directory.live()?.has(engine.parts.replica) === false;
}
