/**
 * Deadlines of a loaded actor whose record was written by another clock, or by another version of its chart.
 *
 * A deadline is stored under the names of its state and its delay. If the present chart uses other names, the
 * stored timer would match nothing, and the state would wait forever (I4). Promises: every waiting state of
 * the present chart has a deadline; a running deadline keeps its time, and comes no later than the present
 * chart would set it; a new one counts from now. A deadline of an inactive state is dropped, so that it never
 * ends a later wait of the same name.
 */

import { kindOf } from '../host/cell.ts';
import type { HostParts } from '../host/host-parts.ts';
import type { Cell, Hot } from '../host/owned.ts';
import type { ActorRecord, TimerRecord } from '../host/records.ts';
import type { Deadline, Stepper } from '../host/step.ts';
import { stampOf } from './deferral.ts';

/** The record of a loaded actor with the deadlines that hold now; the same object if nothing changes. */
export function recordOfNow(
  parts: Pick<HostParts, 'clock' | 'random' | 'steppers'>,
  cell: Cell,
  stored: ActorRecord,
  /** null: the record is unusable. Called only if the chart differs. */
  wake: () => Hot | null,
): ActorRecord {
  const record = withinReach(stored, parts.clock.now());
  const stepper = parts.steppers.get(kindOf(cell));
  if (stepper === undefined || !isOfOtherChart(stepper, record)) return record;
  const snapshot = wake()?.snapshot ?? null;
  if (snapshot === null) return record;
  const stamp = stampOf(parts, cell, stepper);
  return withDeadlines(record, stepper.deadlinesOf(snapshot, stamp), stamp.at);
}

/** @param wanted the deadlines of the states that are active in the present chart */
function withDeadlines(record: ActorRecord, wanted: readonly Deadline[], now: number): ActorRecord {
  const isWanted = ({ id }: TimerRecord) => wanted.some((one) => one.id === id);
  const left = record.timers.filter((timer) => isDeadline(timer) && !isWanted(timer));
  const missing = wanted.filter(({ id }) => !record.timers.some((timer) => timer.id === id));
  if (left.length === 0 && missing.length === 0) return record;
  const kept = record.timers.filter((timer) => !left.includes(timer));
  const before = predecessors(missing, left);
  const set = missing.map((deadline) => timerFor(deadline, before.get(deadline), now));
  return { ...record, timers: [...kept, ...set] };
}

/** Whether the record may have deadlines that the chart does not know, or lack some that it has. */
function isOfOtherChart({ chart, deadlineIds }: Stepper, { version, timers, gone }: ActorRecord): boolean {
  if (gone) return false;
  return version < chart.version || timers.some((timer) => isDeadline(timer) && !deadlineIds.has(timer.id));
}

/** xstate's own name for it; other timers are events that a chart sends to itself, and stay as they are. */
const isDeadline = ({ id, event }: TimerRecord) => id === event.type && id.startsWith('xstate.after.');

/** @param before the deadline of the record that it continues; undefined: the state had none */
function timerFor({ id, delayMs }: Deadline, before: TimerRecord | undefined, now: number): TimerRecord {
  const event = { type: id };
  const fresh = delayMs === null ? null : { id, event, at: now + delayMs, delayMs };
  if (before === undefined) return fresh ?? { id, event, at: now, delayMs: 0 };
  return fresh !== null && fresh.at < before.at ? fresh : { ...before, id, event };
}

/** The same state under another delay, or the same delay in another state, or any other that was running. */
const likenesses: ReadonlyArray<(deadline: Deadline, timer: TimerRecord) => boolean> = [
  ({ state }, { id }) => id.endsWith(`.${state}`),
  ({ delay }, { id }) => id.startsWith(`xstate.after.${delay}.`),
  () => true,
];

/** @param left deadlines of the record without an active state; each is used once at most */
function predecessors(missing: readonly Deadline[], left: readonly TimerRecord[]) {
  const found = new Map<Deadline, TimerRecord>();
  const free = new Set(left);
  for (const isLike of likenesses) {
    for (const deadline of missing) {
      const timer = found.has(deadline) ? undefined : [...free].find((one) => isLike(deadline, one));
      if (timer === undefined) continue;
      found.set(deadline, timer);
      free.delete(timer);
    }
  }
  return found;
}

/** The record with every deadline at most its delay away, in case the writer's clock was ahead of ours. */
function withinReach(record: ActorRecord, now: number): ActorRecord {
  const isFar = ({ at, delayMs }: TimerRecord) => delayMs !== undefined && at > now + delayMs;
  if (!record.timers.some(isFar)) return record;
  const timers = record.timers.map((one) => (isFar(one) ? { ...one, at: now + (one.delayMs ?? 0) } : one));
  return { ...record, timers };
}
