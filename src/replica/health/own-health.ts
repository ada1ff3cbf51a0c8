/**
 * Lists a replica's pipelines (health/pipelines.ts), read from its engine and its mirrors. Composition: it
 * decides nothing.
 */
import type { Engine } from '../../actors/engine.ts';
import { leaseClock } from '../../actors/time/lease-clock.ts';
import type { Clock } from '../../base/clock.ts';
import type { ShardName } from '../../base/ids.ts';
import type { Bus } from '../../bus/bus.ts';
import type { Storing } from '../../bus/storing.ts';
import { nodeEligibility } from '../../features/proxiers/node-digest.ts';
import type { Mirror } from '../../kube/mirror/mirror.ts';
import { type WatchContext, watchSilentSince } from '../../machines/watch/watch.ts';
import { type Pipelines, startPipelines, type Waiting } from './pipelines.ts';

export interface OwnHealthParts {
  readonly engine: () => Engine;
  readonly mirrors: Iterable<Mirror>;
  readonly bus: Bus;
  readonly storing: Pick<Storing, 'troubles'>;
  readonly clock: Clock;
  /** The Node on which the replica runs; null: unknown. */
  readonly node: string | null;
}

export function startOwnHealth({ engine, mirrors, bus, storing, node, ...parts }: OwnHealthParts): Pipelines {
  // Setting the wall clock makes nothing late, and hides nothing that is.
  const clock = leaseClock(parts.clock);
  const start = clock.now() - clock.monotonic();
  let wasNodeSeen = false;
  return startPipelines({
    clock,
    *names() {
      for (const { shard, phase } of engine().shards.open()) if (phase !== 'closed') yield shardName(shard);
      for (const mirror of mirrors) if (mirror.status().fence !== 0) yield watchName(mirror);
    },
    *look() {
      yield* shardsThatWait(engine(), clock, start);
      for (const mirror of mirrors) yield* watchThatWaits(mirror, clock);
    },
    // A replica that does not hear its own beats hears nobody: the broker is away, whatever the connection
    // says. A full store counts likewise: nobody could save, and a restart would not help.
    isConnected: () => bus.status === 'connected' && engine().hearsItself && storing.troubles().length === 0,
    nodeEligible() {
      if (node === null) return true;
      const eligibility = nodeEligibility(engine().world.get('nodes', '', node));
      wasNodeSeen ||= eligibility !== 'absent';
      return !wasNodeSeen || eligibility === 'eligible';
    },
  });
}

const shardName = (shard: ShardName) => (typeof shard === 'number' ? `shard/${shard}` : `part/${shard}`);
const watchName = ({ name }: Pick<Mirror, 'name'>) => `watch/${name}`;

/** @param start when monotonic time began, ms since the epoch */
function* shardsThatWait({ host }: Engine, clock: Clock, start: number): Iterable<Waiting> {
  for (const [shard, { actor, since }] of host.oldestWork()) {
    const pendingSince = start + since;
    const waitsFor = `has been working on one event of ${actor} ${ago(pendingSince, clock)}`;
    yield { name: shardName(shard), pendingSince, waitsFor };
  }
}

/** The pipeline of one watch, if it runs here and waits. */
export function* watchThatWaits(mirror: Mirror, clock: Clock): Iterable<Waiting> {
  const { fence, oldestSince, watches } = mirror.status();
  if (fence === 0) return;
  const name = watchName(mirror);
  const now = clock.now();
  let silentSince = Number.POSITIVE_INFINITY;
  for (const { context } of watches)
    silentSince = Math.min(silentSince, watchSilentSince(context as WatchContext, now) ?? silentSince);
  if (Number.isFinite(silentSince) && silentSince <= (oldestSince ?? silentSince)) {
    const waitsFor = `has heard nothing from the Kubernetes API that was due ${ago(silentSince, clock)}`;
    yield { name, pendingSince: silentSince, waitsFor };
  } else if (oldestSince !== null) {
    const waitsFor = `has a change that is not in the world ${ago(oldestSince, clock)}`;
    yield { name, pendingSince: oldestSince, waitsFor };
  }
}

/** Watches of this replica that fail again and again: what they follow is seen late, or not at all. */
export function watchTroubles(mirrors: Iterable<Pick<Mirror, 'status'>>): string[] {
  return [...mirrors].flatMap((mirror) =>
    mirror.status().watches.flatMap(({ state, context }) => {
      const { resource, failures, lastError } = context as WatchContext;
      if (state === 'watching' || failures < failuresTold) return [];
      return [`${resource} cannot be followed, ${failures} times in a row: ${lastError}`];
    }),
  );
}

/** An API server that is started again refuses once or twice. */
const failuresTold = 3;

function ago(since: number, clock: Clock): string {
  return `for ${Math.round((clock.now() - since) / 1000)} s`;
}
