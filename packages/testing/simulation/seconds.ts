/**
 * Tells a simulation's checkers of each second, and slows heartbeats down while they tell nobody anything
 * new: all replicas live, reach the broker and know one another, and for some seconds nothing was done to
 * them and no shard changed hands. Before that, and from the next trouble on, everything runs at its usual
 * pace.
 */
import type { Timer } from '../../../src/base/clock.ts';
import type { SimReplica } from '../replicas/sim-replica.ts';
import type { Sighting } from './sightings.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

/** Longer than it takes to miss a replica and to take over what it had. */
const troubledMs = 5_000;
const secondMs = 1_000;
/** While nothing changes, checkers look this seldom, ms. */
const steadyMs = 5_000;

const troubling: ReadonlySet<Sighting['kind']> = new Set(['done', 'fence', 'lost', 'complaint', 'calm']);

export function everySecond(
  { clock }: Pick<Stage, 'clock'>,
  { see, listen }: Pick<Story, 'see' | 'listen'>,
  replicas: () => readonly SimReplica[],
): void {
  let troubledAt = clock.monotonic();
  let isSteady = false;
  let timer: Timer | null = null;
  const tick = () => {
    see({ kind: 'second' });
    isSteady = clock.monotonic() - troubledAt >= troubledMs && areAgreed(replicas());
    timer = clock.after(isSteady ? steadyMs : secondMs, tick);
  };
  clock.slowWhile(() => isSteady);
  listen(({ kind }) => {
    if (!troubling.has(kind)) return;
    troubledAt = clock.monotonic();
    if (!isSteady) return;
    isSteady = false;
    timer?.cancel();
    timer = clock.after(secondMs, tick);
  });
  tick();
}

/** Whether all of them work and each knows all others. */
function areAgreed(replicas: readonly SimReplica[]): boolean {
  return replicas.every(
    ({ isRunning, isConnected, engine }) =>
      isRunning && isConnected && engine.hearsItself && engine.directory.live()?.size === replicas.length,
  );
}
