/**
 * What a replica tells of itself: what it counts, and whether it is ready. Everything is read from the parts that know it.
 */

import { shownRecordOf } from '../actors/control/views.ts';
import type { Engine } from '../actors/engine.ts';
import { kindOf } from '../actors/host/cell.ts';
import { shardCount } from '../base/limits.ts';
import type { Readiness, Transition } from '../base/views.ts';
import type { Bus } from '../bus/bus.ts';
import { certificateExpiries } from '../features/certificates/certificate-parts.ts';
import type { ReplicaRelease } from '../features/releases/release.ts';
import type { ElectionContext } from '../machines/election/election-context.ts';
import type { PodContext } from '../machines/pod/pod-context.ts';
import type { Pipelines } from './health/pipelines.ts';
import type { Metrics } from './metrics.ts';

/** A Service whose slices cannot be written any more. */
export function observeStuck(metrics: Metrics, { id, from, to }: Transition): void {
  const isStuck = (state: string | null) => state?.includes('endpoints.stuck') === true;
  if (id.startsWith('service/') && isStuck(to) && !isStuck(from)) metrics.endpointsStuck();
}

/** The Pod's wait ends when the condition was written; `heldSince` is forgotten in that very step, so the step before tells it. */
export function observeGateWait(metrics: Metrics, { id, from, to, at }: Transition, context: unknown): void {
  if (!id.startsWith('pod/') || !from?.startsWith('marking') || !to.startsWith('ready')) return;
  const { heldBefore } = context as PodContext;
  if (heldBefore !== null) metrics.podGateWait((at - heldBefore) / 1000);
}

/** The gauges, read when somebody asks for them. */
export function gauges(engine: Engine, bus: Bus, health: Pipelines) {
  return {
    lateFamilies: () => health.complaints().length,
    isConnected: () => bus.status === 'connected',
    disconnects: () => bus.counters.disconnects,
    *actors() {
      const counts = new Map<string, { kind: string; state: string; count: number }>();
      for (const run of engine.shards.open()) {
        for (const cell of run.cells.values()) {
          const { id, hot } = cell;
          const isParked = cell.unreadable !== null || (hot?.parkedUntil ?? 0) > 0;
          const state = isParked ? 'parked' : cell.state;
          if (state === '') continue;
          const kind = id.slice(0, id.indexOf('/'));
          const key = `${kind} ${state}`;
          const known = counts.get(key);
          if (known) known.count++;
          else counts.set(key, { kind, state, count: 1 });
        }
      }
      yield* counts.values();
    },
    *mailboxes() {
      for (const run of engine.shards.open()) {
        let depth = 0;
        for (const { hot } of run.cells.values()) depth += hot?.mailbox.length ?? 0;
        yield { shard: run.shard, depth };
      }
    },
    *elections() {
      for (const run of engine.shards.open()) {
        for (const cell of run.cells.values()) {
          if (kindOf(cell) !== 'election') continue;
          const record = shownRecordOf(cell);
          if (record === null) continue;
          const { term } = record.snapshot.context as ElectionContext;
          yield { election: cell.id.slice('election/'.length), term };
        }
      }
    },
    *ownedShards() {
      for (const { shard, phase } of engine.shards.open()) if (phase === 'active') yield shard;
    },
    certificates: () => certificateExpiries(engine),
  };
}

/** Kinds whose first list makes the world complete. */
const neededResources = ['routegates', 'pods', 'services', 'endpointslices'];

/** Whether the replica may get requests, and if not, why. */
export function readinessOf(
  bus: Bus,
  engine: Engine,
  { desk }: ReplicaRelease,
  health: Pipelines,
): Readiness {
  const reasons: string[] = health.complaints();
  if (desk.blocked !== null) reasons.push(`must not serve: ${desk.blocked}`);
  if (bus.status !== 'connected') reasons.push('NATS is not connected');
  const unlisted = neededResources.filter((resource) => engine.world.get('_synced', '', resource) === null);
  if (unlisted.length > 0) reasons.push(`never listed yet: ${unlisted.join(', ')}`);
  const shards = engine.ownership.views().filter(({ name }) => name.startsWith('shard/'));
  const unowned = shardCount - shards.filter(({ owner }) => owner !== null).length;
  if (unowned > 0) reasons.push(`${unowned} of ${shardCount} shards have no owner`);
  const moving = shards.filter(({ state }) => state !== 'unowned' && state !== 'held.active').length;
  if (moving > 0) reasons.push(`${moving} shards are being taken over or handed over`);
  return { ready: reasons.length === 0, reasons };
}
