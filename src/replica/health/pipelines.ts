/**
 * The replica's own health: kube-proxy's rules (machines/proxier/health-family.ts) over its pipelines, with
 * one family for each shard that it owns, each resource that it watches, and its event loop.
 *
 * Owns what was pending where, sampled once a second. Promises: a family is late when its oldest input has
 * waited for 30 s without being stepped and saved; a holding that is no longer owned is no family; while NATS
 * is away nothing counts, because no replica could do better, and waits are timed again from the
 * reconnection. A replica that was unhealthy counts as unfit for another minute, so that its shards settle
 * elsewhere and do not come back at once. Absent: HTTP, and the consequences of being unfit
 * (actors/engine.ts).
 */
import { type Clock, type Timer, untilNextBeat } from '../../base/clock.ts';
import type { HealthReport } from '../../features/proxiers/health-body.ts';
import { type FamilyHealth, isLate, queued, updated } from '../../machines/proxier/health-family.ts';

/** A pipeline in which something waits. */
export interface Waiting {
  /** `shard/7`, `watch/pods` */
  readonly name: string;
  /** When its oldest unfinished input arrived, milliseconds since the epoch. */
  readonly pendingSince: number;
  /** For people: what waits, as the end of a sentence that starts with the name. */
  readonly waitsFor: string;
}

export interface PipelinesParts {
  readonly clock: Clock;
  /** All pipelines that this replica has. */
  readonly names: () => Iterable<string>;
  readonly look: () => Iterable<Waiting>;
  /** Whether this replica hears NATS, its own heartbeats included. */
  readonly isConnected: () => boolean;
  readonly nodeEligible: () => boolean;
}

/** docs/features/proxiers.md §6.1: 30 s for a replica's own pipelines. */
export const pipelineTimeoutMs = 30_000;
const tickMs = 1_000;
/** A tick this late shows that nothing else ran either. */
const loopLagMs = 1_000;
/** Longer than a planned move of all shards takes. */
const penaltyMs = 60_000;
const loopName = 'event-loop';

export type Pipelines = ReturnType<typeof startPipelines>;

export function startPipelines({ clock, names, look, isConnected, nodeEligible }: PipelinesParts) {
  /** Those in which something waits. All others had finished everything at the last look. */
  let waiting = new Map<string, FamilyHealth>();
  let lookedAt = clock.now();
  /** What those wait for. */
  const reasons = new Map<string, string>();
  let unfitUntil = Number.NEGATIVE_INFINITY;
  /** Waits from before the reconnection are timed from then on. */
  let connectedAt = clock.now();
  let due = 0;
  let timer: Timer;

  const follow = (
    { name, pendingSince, waitsFor }: Waiting,
    before: FamilyHealth | undefined,
    now: number,
  ) => {
    reasons.set(name, waitsFor);
    waiting.set(name, next(before ?? updated(lookedAt), pendingSince, now));
  };
  const tick = () => {
    const now = clock.now();
    const lag = clock.monotonic() - due;
    const before = waiting;
    waiting = new Map();
    reasons.clear();
    if (lag >= loopLagMs) follow(blockedLoop(lag, now), before.get(loopName), now);
    if (isConnected()) {
      for (const one of look())
        follow({ ...one, pendingSince: Math.max(one.pendingSince, connectedAt) }, before.get(one.name), now);
      lookedAt = now;
    } else connectedAt = now;
    if (late().length > 0) unfitUntil = clock.monotonic() + penaltyMs;
    tickLater();
  };
  const tickLater = () => {
    const delayMs = untilNextBeat(clock, tickMs);
    due = clock.monotonic() + delayMs;
    timer = clock.after(delayMs, tick);
  };
  const late = () => {
    const now = clock.now();
    return [...waiting].flatMap(([name, family]) => (isLate(family, now, pipelineTimeoutMs) ? [name] : []));
  };
  tickLater();
  return {
    picture: (): HealthReport => ({
      families: Object.fromEntries(
        [loopName, ...names()].map((name) => [name, waiting.get(name) ?? updated(lookedAt)]),
      ),
      nodeEligible: nodeEligible(),
      timeoutMs: pipelineTimeoutMs,
    }),
    /** One sentence for each family that is late. */
    complaints: (): string[] => late().map((name) => `${name} ${reasons.get(name) ?? 'does not keep up'}`),
    /** Whether shards should be assigned to this replica. */
    isFit: (): boolean => clock.monotonic() >= unfitUntil,
    stop: (): void => timer.cancel(),
  };
}

function blockedLoop(lag: number, now: number): Waiting {
  return {
    name: loopName,
    pendingSince: now - lag,
    waitsFor: `was blocked for ${Math.round(lag / 1000)} s`,
  };
}

/** Earlier input is finished if only later input waits. */
function next(family: FamilyHealth, since: number, now: number): FamilyHealth {
  const isStuck = family.pendingSince !== null && since <= family.pendingSince;
  return isStuck
    ? family
    : queued(updated(family.pendingSince === null ? (family.lastUpdated ?? now) : now), since);
}
