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
import type { Clock, Timer } from '../../base/clock.ts';
import type { HealthReport } from '../../features/proxiers/health-body.ts';
import { type FamilyHealth, isLate, queued, updated } from '../../machines/proxier/health-family.ts';

/** The present state of a pipeline. */
export interface Pipeline {
  /** `shard/7`, `watch/pods` */
  readonly name: string;
  /** When its oldest unfinished input arrived, milliseconds since the epoch; null: nothing waits. */
  readonly pendingSince: number | null;
  /** For people: what waits, as the end of a sentence that starts with the name. */
  readonly waitsFor: string;
}

export interface PipelinesParts {
  readonly clock: Clock;
  readonly look: () => Iterable<Pipeline>;
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

export function startPipelines({ clock, look, isConnected, nodeEligible }: PipelinesParts) {
  let families = new Map<string, FamilyHealth>();
  /** What those wait for that wait at all. */
  const reasons = new Map<string, string>();
  let unfitUntil = Number.NEGATIVE_INFINITY;
  /** Waits from before the reconnection are timed from then on. */
  let connectedAt = clock.now();
  let due = clock.monotonic() + tickMs;
  let timer: Timer;

  const tick = () => {
    const now = clock.now();
    const lag = clock.monotonic() - due;
    reasons.clear();
    const before = families;
    families = follow(before, [loopPipeline(lag, now)], { now, connectedAt: 0, reasons });
    if (isConnected()) {
      for (const [name, family] of follow(before, look(), { now, connectedAt, reasons }))
        families.set(name, family);
    } else {
      connectedAt = now;
      families = new Map([...settleAll(before, now), ...families]);
    }
    if (late().length > 0) unfitUntil = clock.monotonic() + penaltyMs;
    due = clock.monotonic() + tickMs;
    timer = clock.after(tickMs, tick);
  };
  const late = () => {
    const now = clock.now();
    return [...reasons.keys()].filter((name) => {
      const family = families.get(name);
      return family !== undefined && isLate(family, now, pipelineTimeoutMs);
    });
  };
  timer = clock.after(tickMs, tick);
  return {
    picture: (): HealthReport => ({
      families: Object.fromEntries(families),
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

function loopPipeline(lag: number, now: number): Pipeline {
  return {
    name: loopName,
    pendingSince: lag >= loopLagMs ? now - lag : null,
    waitsFor: `was blocked for ${Math.round(lag / 1000)} s`,
  };
}

/** The families of what is owned now; a new one starts with nothing pending. */
function follow(
  before: ReadonlyMap<string, FamilyHealth>,
  pipelines: Iterable<Pipeline>,
  context: { readonly now: number; readonly connectedAt: number; readonly reasons: Map<string, string> },
): Map<string, FamilyHealth> {
  const { now, connectedAt, reasons } = context;
  const settled = updated(now);
  const families = new Map<string, FamilyHealth>();
  for (const { name, pendingSince, waitsFor } of pipelines) {
    if (pendingSince === null) families.set(name, settled);
    else {
      reasons.set(name, waitsFor);
      families.set(name, next(before.get(name) ?? settled, Math.max(pendingSince, connectedAt), now));
    }
  }
  return families;
}

/** Earlier input is finished if only later input waits. */
function next(family: FamilyHealth, since: number, now: number): FamilyHealth {
  const isStuck = family.pendingSince !== null && since <= family.pendingSince;
  return isStuck
    ? family
    : queued(updated(family.pendingSince === null ? (family.lastUpdated ?? now) : now), since);
}

function settleAll(families: ReadonlyMap<string, FamilyHealth>, now: number): Map<string, FamilyHealth> {
  return new Map([...families].map(([name, { lastUpdated }]) => [name, updated(lastUpdated ?? now)]));
}
