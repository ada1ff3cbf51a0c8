/** What drives any simulation: replicas that come back, and events at drawn times. */

import { type ReplicaParts, SimReplica } from '../replicas/sim-replica.ts';
import type { Chance } from '../time/chance.ts';
import type { Stage } from './stage.ts';

/** The living replicas, and those that died since the last question. Several may share a name. */
export function createReplicas(
  world: Stage,
  { skewMaxMs }: { readonly skewMaxMs: number },
  lives: Chance,
  life: ReplicaParts['life'],
) {
  const replicas = new Set<SimReplica>();
  const all: SimReplica[] = [];
  return {
    live() {
      for (const replica of replicas) if (replica.process.state === 'dead') replicas.delete(replica);
      return [...replicas];
    },
    start(name: string) {
      const skewMs = lives.between(-skewMaxMs, skewMaxMs);
      const sleepsWhilePaused = lives.happens(0.3);
      const chance = lives.of(`${name} ${lives.int(0, 1e9)}`);
      world.see({ kind: 'done', text: `${name} starts` });
      const replica = new SimReplica({ world, name, skewMs, sleepsWhilePaused, chance, life });
      replicas.add(replica);
      all.push(replica);
    },
    /**
     * The simulation is over. A process that died has aborted nothing, and Node keeps a signal that follows
     * others, and all that listens to it, for as long as nobody aborts.
     */
    end() {
      for (const replica of all) {
        replica.kill(false);
        const { engine } = replica;
        for (const { name } of engine.ownership.views()) engine.ownership.fenced(name);
        for (const run of engine.runs) void run.stop?.();
        engine.kill();
      }
    },
  };
}

/** Causes events and faults, at drawn times, until the chaos is over. */
export function act(
  clock: { after(ms: number, fn: () => void): unknown },
  chance: Chance,
  isOver: () => boolean,
  actions: ReadonlyArray<readonly [everyMs: number, action: () => void]>,
  lullMs = 0,
): void {
  if (lullMs > 0) {
    actInBursts(clock, chance, isOver, actions, lullMs);
    return;
  }
  const again = (everyMs: number, action: () => void) => {
    clock.after(chance.between(0, 2 * everyMs), () => {
      if (isOver()) return;
      action();
      again(everyMs, action);
    });
  };
  for (const [everyMs, action] of actions) again(everyMs, action);
}

/** How long things happen at a stretch if there are lulls, ms: as long as a whole run without lulls. */
const burstMs = 30_000;

/**
 * As above, for half a minute at a time; between these nothing is done for a while, and what waits for hours
 * gets its turn.
 */
function actInBursts(
  clock: { after(ms: number, fn: () => void): unknown },
  chance: Chance,
  isOver: () => boolean,
  actions: ReadonlyArray<readonly [everyMs: number, action: () => void]>,
  lullMs: number,
): void {
  const burst = () => {
    let isEnded = false;
    act(clock, chance, () => isEnded || isOver(), actions);
    clock.after(burstMs, () => {
      isEnded = true;
      if (!isOver()) clock.after(chance.between(0, 2 * lullMs), burst);
    });
  };
  burst();
}
