/** The views of an actor (`src/base/views.ts`), made from its cell. */

import { type Clock, sleep } from '../../base/clock.ts';
import { attempt } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { ActorSummary, ActorView, Transition } from '../../base/views.ts';
import { timerName } from '../../base/words.ts';
import { asOfNow, type Chart } from '../../machines/chart.ts';
import type { Admission } from '../admission.ts';
import { livingRecordOf } from '../host/cell.ts';
import type { HostParts } from '../host/host-parts.ts';
import type { Cell, ShardRun } from '../host/owned.ts';
import { type ActorRecord, lastErrorIn } from '../host/records.ts';
import type { Snapshot, Stepper } from '../host/step.ts';
import { isParked, isStillborn, reasonOf } from './reason.ts';
import { dayMs } from './stored-pages.ts';

/** As lists show it; empty for an actor that is gone or never took an event. */
export const stateOf = (cell: Cell): string =>
  cell.unreadable === null && !isStillborn(cell) ? cell.state : 'parked';

/**
 * The number of actors in a shard, counted only if some came or went since the last call: each heartbeat
 * tells it. A cell without a state belongs to an actor that has ended or is about to take its first event.
 */
export function livingIn(run: ShardRun): number {
  if (run.living !== null) return run.living;
  let living = 0;
  for (const cell of run.cells.values()) if (stateOf(cell) !== '') living++;
  run.living = living;
  return living;
}

/** The record, if there is one that can be shown; a parked actor's may be unreadable. */
export function shownRecordOf(cell: Cell): ActorRecord | null {
  if (cell.unreadable === null) return livingRecordOf(cell);
  return attempt(() => livingRecordOf(cell), null);
}

export interface SummaryFacts {
  readonly owner: string;
  /** The kind's chart; undefined: this replica does not know the kind. */
  readonly chart: Chart | undefined;
  /** The time of the request, ms since the epoch. */
  readonly at: number;
  /** Whether to include the actor's facts. */
  readonly facts?: boolean | undefined;
}

export function summaryOf(cell: Cell, record: ActorRecord | null, asked: SummaryFacts): ActorSummary {
  const { summary, facts } = withFacts(cell, record, asked);
  return asked.facts ? { ...summary, facts } : summary;
}

function withFacts(cell: Cell, record: ActorRecord | null, { owner, chart, at }: SummaryFacts) {
  const { reason, facts } = reasonOf(cell, record, chart, at);
  const place = placeOf(cell, record, owner);
  // A chart may remember an error long after it was overcome; it would look like a trouble of now.
  const lastError = reason.health === 'ok' ? null : place.lastError;
  return { summary: { ...place, lastError, reason }, facts };
}

function placeOf(cell: Cell, record: ActorRecord | null, owner: string): Omit<ActorSummary, 'reason'> {
  const next = record?.timers.reduce<{ at: number; event: string } | null>(
    (earliest, { at, event }) =>
      earliest === null || at < earliest.at ? { at, event: timerName(event.type) } : earliest,
    null,
  );
  return {
    id: cell.id,
    state: stateOf(cell) || 'new',
    since: record?.since ?? cell.trouble ?? 0,
    owner,
    shard: cell.shard.shard,
    rev: record?.rev ?? 0,
    nextTimer: next ?? null,
    lastError: cell.unreadable ?? cell.error ?? lastErrorIn(record),
    parked: isParked(cell),
  };
}

export async function viewOf(
  parts: Pick<HostParts, 'bus' | 'subjects' | 'clock'> & {
    readonly stepper: Stepper | undefined;
    readonly admission: Admission;
  },
  cell: Cell,
  record: ActorRecord | null,
  { owner, history }: { readonly owner: string; readonly history: boolean },
): Promise<ActorView> {
  const recent = history ? await recentTransitions(parts, cell) : [];
  return { ...standingOf(parts, cell, record, owner), recent };
}

/** The whole view except the recent transitions. */
export function standingOf(
  parts: {
    readonly clock: Clock;
    readonly stepper: Stepper | undefined;
    readonly admission: Admission;
  },
  cell: Cell,
  record: ActorRecord | null,
  owner: string,
): Omit<ActorView, 'recent'> {
  const { stepper, admission, clock } = parts;
  const { chart } = stepper ?? {};
  const nodes = record && stepper ? nodesOf(stepper, record) : [];
  const { summary, facts } = withFacts(cell, record, { owner, chart, at: clock.now() });
  return {
    ...summary,
    facts,
    machine: record?.machine ?? chart?.name ?? '',
    machineVersion: record?.version ?? chart?.version ?? 0,
    meaning: meaningOf(nodes),
    fence: cell.shard.fence,
    ...(record && chart?.explain ? { notes: attempt(() => notesOf(chart, record), []) } : {}),
    context: record === null ? null : contextNow(chart, record),
    timers: (record?.timers ?? []).map(({ event, at }) => ({ event: timerName(event.type), at })),
    pending: (record?.outbox ?? []).map(({ key, effect }) => ({ key, type: effect.type })),
    accepts: record === null || record.gone ? [] : acceptedEvents(nodes, record.machine, admission),
  };
}

const notesOf = (chart: Chart, record: ActorRecord): readonly string[] =>
  (chart.explain?.(contextNow(chart, record)) ?? []).map(String);

/** The context in its present form, also from a record of an earlier version. */
const contextNow = (chart: Chart | undefined, { snapshot, version }: ActorRecord): unknown =>
  (chart === undefined ? snapshot : asOfNow(chart, snapshot, version)).context;

type StateNodes = Snapshot['_nodes'];

/** The active states; none, if this release does not know them. */
function nodesOf(stepper: Stepper, { snapshot, version }: ActorRecord): StateNodes {
  return version > stepper.chart.version ? [] : stepper.restore(snapshot, version)._nodes;
}

/** Events from outside for which one of the active states, or one of their parents, has a transition. */
function acceptedEvents(nodes: StateNodes, kind: string, admission: Admission): string[] {
  const handled = new Set(nodes.flatMap(({ ownEvents }) => ownEvents));
  return admission.eventsOf(kind).filter((type) => handled.has(type));
}

function meaningOf(nodes: StateNodes): ActorView['meaning'] {
  return [...nodes]
    .sort((a, b) => a.path.length - b.path.length)
    .flatMap(({ path, config }) =>
      path.length > 0 && config.description !== undefined
        ? [{ state: path.join('.'), description: config.description }]
        : [],
    );
}

/**
 * Read from the event stream, because records contain only transitions that are not published yet. If the
 * stream does not answer in time, as without a leader, the view has those that came until then.
 */
async function recentTransitions(
  { bus, subjects, clock }: Pick<HostParts, 'bus' | 'subjects' | 'clock'>,
  cell: Cell,
): Promise<Transition[]> {
  const recent: Transition[] = [];
  const text = new TextDecoder();
  const ending = new AbortController();
  const { signal } = ending;
  const beginning = bus.follow('event', {
    subjects: [subjects.eventsOf(cell.id)],
    from: { kind: 'time', at: clock.now() - dayMs },
    onMessage: ({ data }) => {
      recent.push(JSON.parse(text.decode(data)) as Transition);
      if (recent.length > limits.viewTransitions) recent.shift();
    },
    signal,
  });
  const whole = beginning.then(({ caughtUp }) => caughtUp);
  await Promise.race([whole, sleep(clock, limits.requestTimeoutMs / 2, signal)]).finally(() =>
    ending.abort(),
  );
  return recent;
}
