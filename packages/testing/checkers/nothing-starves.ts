/**
 * "Nothing starves: every actor that can make progress does within a bound", and "every waiting actor has a
 * deadline", or an effect of its own in progress.
 *
 * Judged in quiet times, lulls included, where no other checker looks: an actor that does not come to rest,
 * events in a mailbox from which nothing is taken, a deadline that passes, an effect that nobody runs. This
 * finds what sits behind a queue forever. The feature says what rightly waits for the world.
 */

import { type ActorRecord, isForgotten } from '../../../src/actors/host/records.ts';
import { stateText } from '../../../src/actors/host/step.ts';
import type { Chart } from '../../../src/machines/chart.ts';
import type { CheckerKind, Eye } from './checker.ts';
import { createDueTimes, type DueTimes } from './due-times.ts';
import { createQuiet, type TroubledWorld } from './quiet-time.ts';
import { tidyTimes } from './to-nothing.ts';

export interface Progress {
  readonly charts: readonly Chart[];
  /** Time in which an actor that can continue comes to rest, ms. */
  readonly restMs: number;
  /** Effects that last as long as their actor. */
  readonly standing: readonly string[];
  /** Whether it rightly waits for something that the world does not give it. */
  readonly mayWait: (id: string, record: ActorRecord) => boolean;
}

/** Allowance for clocks that differ, a shard that was claimed again, and messages that lag. */
const slackMs = 45_000;
/** An event waits for the save of the one before it: a lost answer is given up after five seconds. */
const mailboxMs = 30_000;

interface Standing {
  readonly record: ActorRecord;
  /** Since when it has not been at rest, world time; null: it is. */
  readonly unrestSince: number | null;
  /** Since when it has been at this very step. */
  readonly stepAt: number;
}

export const nothingStarves = (progress: Progress): CheckerKind<TroubledWorld> => ({
  name: 'nothing starves',
  create(eye) {
    const quiet = createQuiet(eye, eye.world);
    const rest = restOf(progress.charts);
    const actors = new Map<string, Standing>();
    const mailboxes = mailboxLook(eye, actors);
    const due = createDueTimes(eye.now);
    const tidyOf = tidyTimes(progress.charts);
    return (sighting) => {
      quiet.see(sighting);
      if (sighting.kind === 'saved') {
        const { id, record } = sighting;
        due.note(id, record);
        actors.set(id, standingOf(record, actors.get(id), rest, eye.now()));
        const idle = record.gone ? null : rest(record).idle;
        if (idle !== null && record.outbox.length === 0 && record.timers.length === 0)
          eye.breach(`${id} rev ${record.rev} waits in ${idle}, and nothing will end that`);
      }
      if (sighting.kind !== 'second') return;
      for (const [id, standing] of actors) {
        // It has its time from when the world gives it what it waited for.
        const waits = standing.unrestSince !== null && progress.mayWait(id, standing.record);
        const judged = waits ? { ...standing, unrestSince: eye.now() } : standing;
        if (waits) actors.set(id, judged);
        lookAt(eye, id, judged, quiet.since(), { ...progress, due, tidyOf });
      }
      mailboxes(quiet.since());
    };
  },
});

/** Actors that are not at rest, and do not rightly wait. */
export function workingIn(
  records: ReadonlyMap<string, ActorRecord>,
  { charts, mayWait }: Pick<Progress, 'charts' | 'mayWait'>,
): readonly string[] {
  const rest = restOf(charts);
  return [...records].flatMap(([id, record]) =>
    record.gone || rest(record).isAtRest || mayWait(id, record) ? [] : [id],
  );
}

function standingOf(record: ActorRecord, before: Standing | undefined, rest: RestOf, now: number): Standing {
  const { isAtRest } = rest(record);
  return { record, unrestSince: isAtRest ? null : (before?.unrestSince ?? now), stepAt: now };
}

interface Judging extends Progress {
  readonly due: DueTimes;
  readonly tidyOf: ReturnType<typeof tidyTimes>;
}

function lookAt(
  { now, breach }: Eye<TroubledWorld>,
  id: string,
  actor: Standing,
  quietSince: number,
  progress: Judging,
): void {
  if (actor.record.gone || isForgotten(actor.record, now())) return;
  const isOver: IsOver = (at, patienceMs) => now() - Math.max(at, quietSince) > patienceMs;
  const trouble = troubleOf(id, now(), actor, isOver, progress);
  if (trouble !== null) breach(`${id} rev ${actor.record.rev}${trouble}`);
}

/** Whether that much quiet time has passed since then. */
type IsOver = (at: number, patienceMs: number) => boolean;

function troubleOf(
  id: string,
  now: number,
  { record, unrestSince, stepAt }: Standing,
  isOver: IsOver,
  { restMs, standing, due, tidyOf }: Judging,
): string | null {
  const overdue = record.timers.find((timer) => {
    const at = due.of(id, timer);
    return isOver(at, slackMs) && isOver(at, slackMs + tidyOf(record, timer, now));
  });
  if (overdue) return `: the deadline ${overdue.id} has passed, unheard`;
  const first = record.outbox.find(({ effect }) => !standing.includes(effect.type));
  if (first && isOver(stepAt, slackMs + longestEffectMs))
    return `: nobody runs the effect ${first.key} (${first.effect.type})`;
  if (unrestSince === null || !isOver(unrestSince, restMs)) return null;
  return ` is in ${stateText(record.snapshot.value)} and has not come to rest for ${restMs / 1_000} s`;
}

/** No effect of a feature takes longer. */
const longestEffectMs = 330_000;

/** @returns a function that looks at the mailboxes, at a time that has been quiet since a known time */
function mailboxLook(
  { replicas, now, breach }: Eye<TroubledWorld>,
  actors: ReadonlyMap<string, Standing>,
): (quietSince: number) => void {
  /** Since which look events have been in it, by replica and actor, world time. */
  let since = new Map<string, number>();
  return (quietSince) => {
    const before = since;
    since = new Map();
    for (const { engine, name } of replicas()) {
      for (const run of engine?.shards.open() ?? []) {
        for (const { id, hot } of run.cells.values()) {
          const waiting = hot?.mailbox.length ?? 0;
          if (waiting === 0) continue;
          const key = `${name} ${id}`;
          const seenAt = before.get(key) ?? now();
          since.set(key, seenAt);
          const stepAt = actors.get(id)?.stepAt ?? 0;
          if (now() - Math.max(seenAt, stepAt, quietSince) > mailboxMs)
            breach(`${id}: ${waiting} events wait at ${name}, and none is taken`);
        }
      }
    }
  };
}

interface Rest {
  readonly isAtRest: boolean;
  /** A waiting state that no deadline ends; null: none. */
  readonly idle: string | null;
}

type RestOf = (record: ActorRecord) => Rest;

/** What follows from the states alone is looked up once for each. */
function restOf(charts: readonly Chart[]): RestOf {
  const byName = new Map(charts.map((chart) => [chart.name, chart]));
  const known = new Map<string, Rest>();
  return ({ machine, snapshot }) => {
    const state = stateText(snapshot.value);
    const key = `${machine} ${state}`;
    const found = known.get(key) ?? readRest(byName.get(machine), state);
    known.set(key, found);
    return found;
  };
}

function readRest(chart: Chart | undefined, state: string): Rest {
  const regions = state.split(',').map((path) => regionRest(chart, path));
  const idle = regions.find((region) => region.idle !== null)?.idle ?? null;
  return { isAtRest: regions.every((region) => region.isAtRest), idle };
}

function regionRest(chart: Chart | undefined, path: string): Rest {
  let node = chart?.machine.root;
  let [isAtRest, hasDeadline] = [false, false];
  for (const key of path.split('.')) {
    node = node?.states[key];
    if (node?.tags.includes('settled') || node?.type === 'final') isAtRest = true;
    if ((node?.after.length ?? 0) > 0) hasDeadline = true;
  }
  return { isAtRest, idle: isAtRest || hasDeadline ? null : path };
}
