/**
 * A cell: what one replica keeps of one actor that it owns.
 *
 * At rest, a cell is an id and the bytes of the record (`packed`). While something happens it is `hot`: it
 * has the live snapshot, the mailbox and the running effects. The host wakes a cell and puts it to rest;
 * nothing else changes a cell.
 */

import type { ActorId } from '../../base/ids.ts';
import type { Chart } from '../../machines/chart.ts';
import { isToLookAt, stateWords } from '../../machines/tell.ts';
import { detached } from '../detached.ts';
import { isRemembered } from '../shards/message-ids.ts';
import { goneRecordSeconds } from '../step-order.ts';
import type { Cell, Hot, MailboxItem, ShardRun } from './owned.ts';
import { type ActorRecord, packRecord, unpackRecord } from './records.ts';
import type { Stepper } from './step.ts';

export function createCell(id: ActorId, shard: ShardRun, packed: Uint8Array | null = null, state = ''): Cell {
  return {
    id: detached(id),
    shard,
    packed,
    hot: null,
    state,
    trouble: null,
    needsLook: false,
    unreadable: null,
    error: null,
    trace: null,
    overflowed: false,
  };
}

/**
 * Updates what is known of the actor without unpacking its record. @param state as text, in the terms of the
 * present chart
 */
export function note(cell: Cell, record: ActorRecord, state: string, chart: Chart | undefined): void {
  const now = record.gone ? '' : state;
  if ((now === '') !== (cell.state === '')) cell.shard.living = null;
  cell.state = once(now);
  const isOver = record.gone || chart === undefined;
  cell.needsLook = !isOver && isToLookAt(chart, record.snapshot.context);
  const isWell = isOver || (!cell.needsLook && stateWords(chart, state).health === 'ok');
  // An earlier release did not store when the trouble began.
  cell.trouble = isWell ? null : (record.trouble ?? record.since);
}

/** Many actors are in one state: its text is in memory once. There are as many as the charts have. */
function once(state: string): string {
  const known = states.get(state);
  if (known !== undefined) return known;
  if (states.size >= statesMax) states.clear();
  states.set(state, state);
  return state;
}
const states = new Map<string, string>();
const statesMax = 10_000;

export const kindOf = ({ id }: Cell): string => id.slice(0, id.indexOf('/'));

/**
 * Makes the cell hot.
 *
 * @throws OrreryError if its record is unreadable, or names a state that the chart does not have
 */
export function wake(cell: Cell, stepper: Stepper | undefined, now: number): Hot {
  if (cell.hot) return cell.hot;
  const record = cell.packed === null ? null : unpackRecord(cell.packed, cell.id);
  const isOver = record === null || record.gone;
  const snapshot = isOver ? null : (stepper?.restore(record.snapshot, record.version) ?? null);
  cell.hot = {
    stepper,
    record,
    snapshot,
    mailbox: [],
    working: false,
    effects: new Set(),
    stale: false,
    deferred: null,
    publishing: false,
    unpublished: [],
    onPublished: null,
    parkedUntil: 0,
    held: null,
    company: null,
    takingSince: null,
    lastUsed: now,
  };
  cell.packed = null;
  return cell.hot;
}

/** Packs an idle cell; removes one that never took an event, unless its chart failed: that comes again. */
export function rest(cell: Cell, hot: Hot): void {
  cell.packed = hot.record === null ? null : packRecord(hot.record);
  cell.hot = null;
  if (hot.record === null && cell.error === null) cell.shard.cells.delete(cell.id);
}

export function isIdle(hot: Hot): boolean {
  const isWaiting =
    hot.mailbox.length > 0 || hot.effects.size > 0 || hot.parkedUntil !== 0 || hot.deferred !== null;
  return !hot.working && !hot.publishing && !isWaiting;
}

/** The current record, whether the cell is hot or at rest; null before the first step. */
export function recordOf({ id, hot, packed }: Cell): ActorRecord | null {
  return hot?.record ?? (packed === null ? null : readAtRest(packed, id));
}

/** Whatever unpacks bytes leaves a view of its own at them, a fourth of what a cell at rest takes. */
const readAtRest = (packed: Uint8Array, id: ActorId): ActorRecord => unpackRecord(packed.subarray(), id);

export function livingRecordOf(cell: Cell): ActorRecord | null {
  const record = recordOf(cell);
  return record?.gone ? null : record;
}

/** Whether the event was taken before, or is a deadline that no longer holds (I5). */
export function isRepetition(record: ActorRecord | null, { mail, messageId, timer }: MailboxItem): boolean {
  if (timer) return !record?.timers.some(({ id, at }) => id === timer.id && at === timer.at);
  if (record === null) return false;
  if (mail !== undefined && mail <= record.mail) return true;
  return messageId !== undefined && isRemembered(record.recentIds, messageId);
}

/**
 * The stream keeps the record of an actor that ended for a while, each time that it is stored.
 *
 * @param at when it was stored, monotonic ms
 */
export function noteStored({ ended }: ShardRun, id: ActorId, { gone }: ActorRecord, at: number): void {
  ended.delete(id);
  if (gone) ended.set(id, at + goneRecordSeconds * 1_000);
}

/** Removes actors that the stream has removed, long after their end. Called about once a second. */
export function forgetEnded(run: ShardRun, now: number): void {
  for (const [id, until] of run.ended) {
    if (until >= now) return;
    const cell = run.cells.get(id);
    // Whoever is busy is looked at again.
    if (cell?.hot) continue;
    run.ended.delete(id);
    if (cell && recordOf(cell)?.gone) run.cells.delete(id);
  }
}

/**
 * Results of `pickContext` for records at rest: each record is unpacked once, however often it is asked for.
 */
const read = new WeakMap<Uint8Array, { readonly picked: unknown }>();

/**
 * Reads a value from an actor's context without waking the actor. For a record of an earlier version, the
 * context is that version's.
 *
 * @param pick reads the value from the context; its result is cached, so pass the same function at every call
 * @returns undefined: the actor is new, or its record is unreadable
 */
export function pickContext<T>(cell: Cell, pick: (context: unknown) => T): T | undefined {
  const { hot, packed, id } = cell;
  if (hot !== null) {
    const context = hot.snapshot?.context ?? hot.record?.snapshot.context;
    return context === undefined ? undefined : pick(context);
  }
  if (packed === null) return undefined;
  const known = read.get(packed);
  if (known !== undefined) return known.picked as T | undefined;
  const picked = picking(() => pick(readAtRest(packed, id).snapshot.context));
  read.set(packed, { picked });
  return picked;
}

function picking<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    // A newer release wrote it.
    return undefined;
  }
}
