/**
 * What a replica reports about itself: its gauges, and whether it is ready. Everything is read from the parts
 * that know it.
 */
import { healthOf, isParked } from '../actors/control/reason.ts';
import type { Engine } from '../actors/engine.ts';
import type { Gauge, Labels } from '../actors/feature.ts';
import { kindOf } from '../actors/host/cell.ts';
import type { Clock } from '../base/clock.ts';
import type { ShardName } from '../base/ids.ts';
import { shardCount } from '../base/limits.ts';
import type { Readiness } from '../base/views.ts';
import type { Bus } from '../bus/bus.ts';
import type { Storing } from '../bus/storing.ts';
import { type BusTrouble, lastingText } from '../bus/troubles.ts';
import { neededDefinitions, neededMirrors } from '../kube/mirror/holdings.ts';
import type { Mirror } from '../kube/mirror/mirror.ts';
import { watchTroubles } from './health/own-health.ts';
import type { Pipelines } from './health/pipelines.ts';
import { leftOutNotes } from './left-out.ts';

/** The gauges, evaluated on request. */
export function* gaugesOf(engine: Engine, bus: Bus, health: Pipelines, now: number): Iterable<Gauge> {
  yield { name: 'orrery_pipelines_late', value: health.complaints().length };
  yield { name: 'orrery_nats_connected', value: bus.status === 'connected' ? 1 : 0 };
  yield { name: 'orrery_nats_disconnects_total', value: bus.counters.disconnects };
  const isAnsweredTwice = bus.troubles().some(({ what }) => what === 'takers');
  yield { name: 'orrery_nats_second_store', labels: { sign: 'answers' }, value: isAnsweredTwice ? 1 : 0 };
  for (const { feature, busyMs, heldMs } of engine.parts.paces.used()) {
    yield { name: 'orrery_feature_busy_seconds_total', labels: { feature }, value: busyMs / 1_000 };
    yield { name: 'orrery_feature_held_seconds_total', labels: { feature }, value: heldMs / 1_000 };
  }
  yield* actorsIn(engine);
  yield* troublesIn(engine, now);
  yield* shardsOf(engine);
  for (const { gauges } of engine.runs) yield* gauges?.() ?? [];
}

function* actorsIn(engine: Engine): Iterable<Gauge> {
  const counts = new Map<string, { readonly labels: Labels; value: number }>();
  for (const run of engine.shards.open()) {
    for (const cell of run.cells.values()) {
      const state = isParked(cell) ? 'parked' : cell.state;
      if (state === '') continue;
      const kind = kindOf(cell);
      const health = healthOf(cell, engine.parts.steppers.get(kind)?.chart);
      const key = `${kind} ${state} ${health}`;
      const known = counts.get(key);
      if (known) known.value++;
      else counts.set(key, { labels: { kind, state, health }, value: 1 });
    }
  }
  for (const count of counts.values()) yield { name: 'orrery_actors', ...count };
}

/** The longest trouble for each kind and health: alerts are about the present, not the past. */
function* troublesIn(engine: Engine, now: number): Iterable<Gauge> {
  const oldest = new Map<string, { readonly labels: Labels; readonly since: number }>();
  for (const run of engine.shards.open()) {
    for (const cell of run.cells.values()) {
      if (cell.trouble === null) continue;
      const kind = kindOf(cell);
      const health = healthOf(cell, engine.parts.steppers.get(kind)?.chart);
      const key = `${kind} ${health}`;
      if (cell.trouble < (oldest.get(key)?.since ?? Number.POSITIVE_INFINITY)) {
        oldest.set(key, { labels: { kind, health }, since: cell.trouble });
      }
    }
  }
  for (const { labels, since } of oldest.values()) {
    yield { name: 'orrery_trouble_seconds', labels, value: Math.max(0, now - since) / 1000 };
  }
}

function* shardsOf(engine: Engine): Iterable<Gauge> {
  const owned = new Set<ShardName>();
  for (const run of engine.shards.open()) {
    let depth = 0;
    for (const { hot } of run.cells.values()) depth += hot?.mailbox.length ?? 0;
    yield { name: 'orrery_mailbox_depth', labels: { shard: String(run.shard) }, value: depth };
    if (run.phase === 'active') owned.add(run.shard);
  }
  for (let shard = 0; shard < shardCount; shard++) {
    const value = owned.has(shard) ? 1 : 0;
    yield { name: 'orrery_shard_owner', labels: { shard: String(shard) }, value };
  }
}

export interface ReadinessParts {
  readonly bus: Pick<Bus, 'status' | 'troubles'>;
  readonly storing: Pick<Storing, 'troubles'>;
  readonly engine: Engine;
  readonly health: Pick<Pipelines, 'complaints'>;
  /** Names of the mirrors whose first list makes the world complete. */
  readonly needed: readonly string[];
  /** By the name of the mirror: the definition without which there is nothing to list. */
  readonly definitions?: ReadonlyMap<string, string>;
  /** This replica's own mirrors. */
  readonly mirrors?: Iterable<Pick<Mirror, 'status'>>;
  /** Monotonic ms. */
  readonly now: number;
}

/** A stream elects its leader within this time. */
const storeTroubleMs = 5_000;

/** A user without permissions is refused some forty subscriptions. */
const troublesShown = 3;

/** Why there is no connection is known at once; other troubles may pass. Many readers have the same. */
function busTroubles(bus: ReadinessParts['bus'], now: number) {
  const isTold = ({ what, since }: BusTrouble) => what === 'connection' || now - since >= storeTroubleMs;
  const told = bus.troubles().filter(isTold);
  const isNote = ({ what, isMinor }: BusTrouble) => what === 'streams' || isMinor === true;
  const distinct = [
    ...Map.groupBy(
      told.filter((one) => !isNote(one)),
      ({ text }) => text,
    ).values(),
  ];
  const texts = distinct.flatMap(([first]) => (first === undefined ? [] : [lastingText(first, now)]));
  const more = texts.length - troublesShown;
  return {
    reasons: [
      ...(bus.status === 'connected' ? [] : ['NATS is not connected']),
      ...texts.slice(0, troublesShown),
      ...(more > 0 ? [`and ${more} more of this kind: see the log`] : []),
    ],
    // What is there is served; it is only not known to be as it should be.
    notes: told.filter(isNote).map((one) => lastingText(one, now)),
  };
}

/** A server whose disk was full takes writes, answers none, and does not recover when there is room again. */
export function storeAdvice(error: string): string {
  return error.endsWith('timeout')
    ? '; if the disk of a NATS server was full, make room and restart that server'
    : '';
}

/**
 * A cluster without a definition has nothing to list; our own are in a chart. Where kinds are missing that
 * every cluster has, that is not why.
 */
function listingAdvice(unlisted: readonly string[], definitions: ReadonlyMap<string, string>): string {
  const names = unlisted.flatMap((mirror) => definitions.get(mirror) ?? []);
  if (names.length < unlisted.length)
    return 'if this goes on, the Kubernetes API does not answer these replicas, or refuses them the list: their logs have its answers';
  const ours = names.every((name) => name.endsWith('.orrery.dev'));
  const how = ours ? ': helm upgrade --install orrery-crds deploy/chart-crds' : '';
  return `if \`kubectl get crd ${names.join(' ')}\` finds nothing, install it${how}`;
}

/** Why the replica does not do its work, and what else an operator should know, apart from its shards. */
function troublesOf({
  bus,
  storing,
  engine,
  health,
  needed,
  definitions = new Map(),
  mirrors = [],
  now,
}: ReadinessParts): { readonly reasons: readonly string[]; readonly notes: readonly string[] } {
  const reasons: string[] = health.complaints();
  const blocked = engine.blocked();
  if (blocked !== null) reasons.push(`must not serve: ${blocked}`);
  const troubles = busTroubles(bus, now);
  reasons.push(...troubles.reasons);
  for (const { stream, error, since } of storing.troubles()) {
    const forMs = now - since;
    if (forMs >= storeTroubleMs)
      reasons.push(
        `NATS stores nothing in ${stream} for ${Math.round(forMs / 1000)} s: ${error}${storeAdvice(error)}`,
      );
  }
  const unlisted = needed.filter((resource) => engine.world.statement(resource) === null);
  if (unlisted.length > 0)
    reasons.push(`not listed yet by the replicas that mirror them: ${unlisted.join(', ')}`);
  if (unlisted.length > 0) reasons.push(listingAdvice(unlisted, definitions));
  const notes = [...troubles.notes, ...watchTroubles(mirrors), ...leftOutNotes(mirrors), ...engine.remarks()];
  return { reasons, notes };
}

/** Whether the replica may get requests, and if not, why. */
export function readinessOf(parts: ReadinessParts): Readiness {
  const { engine } = parts;
  const troubles = troublesOf(parts);
  const { notes } = troubles;
  const reasons = [...troubles.reasons];
  const shards = engine.ownership.views().filter(({ name }) => name.startsWith('shard/'));
  const unowned = shardCount - shards.filter(({ owner }) => owner !== null).length;
  if (unowned > 0) reasons.push(`${unowned} of ${shardCount} shards have no owner`);
  const moving = shards.filter(({ state }) => state !== 'unowned' && state !== 'held.active').length;
  if (moving > 0) reasons.push(`${moving} shards are being taken over or handed over`);
  return { ready: reasons.length === 0, reasons, ...(notes.length === 0 ? {} : { notes }) };
}

/** How a replica stands, at the time of asking. */
export function standingOf(
  features: Parameters<typeof neededMirrors>[0],
  parts: Omit<ReadinessParts, 'needed' | 'definitions' | 'now'>,
  clock: Pick<Clock, 'monotonic'>,
) {
  const [needed, definitions] = [neededMirrors(features), neededDefinitions(features)];
  const now = () => ({ ...parts, needed, definitions, now: clock.monotonic() });
  return {
    readiness: () => readinessOf(now()),
    troubles(): readonly string[] {
      const { reasons, notes } = troublesOf(now());
      return [...reasons, ...notes];
    },
  };
}
