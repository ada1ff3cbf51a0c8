/**
 * A cell: what one replica keeps of one actor that it owns.
 *
 * At rest a cell is an id and the bytes of the record (`packed`); while something happens it is `hot`: the
 * live snapshot, the mailbox, the effects in work. The host wakes a cell and lets it rest; nobody else
 * changes one.
 */

import { type ActorId, parseActorId } from '../../base/ids.ts';
import type { Chart } from '../../machines/chart.ts';
import { stateWords } from '../../machines/tell.ts';
import { shortId } from './next-record.ts';
import type { Cell, Hot, MailboxItem, ShardRun } from './owned.ts';
import { type ActorRecord, packRecord, unpackRecord } from './records.ts';
import type { Stepper } from './step.ts';

export function createCell(id: ActorId, shard: ShardRun, packed: Uint8Array | null = null, state = ''): Cell {
  return {
    id,
    shard,
    packed,
    hot: null,
    state,
    trouble: null,
    unreadable: null,
    error: null,
    trace: null,
    overflowed: false,
  };
}

/**
 * What is known of the actor without unpacking its record.
 *
 * @param state as text, in the words of the present chart
 */
export function note(cell: Cell, record: ActorRecord, state: string, chart: Chart | undefined): void {
  cell.state = record.gone ? '' : state;
  const isWell = record.gone || chart === undefined || stateWords(chart, state).health === 'ok';
  // An earlier release kept no time of the trouble.
  cell.trouble = isWell ? null : (record.trouble ?? record.since);
}

export const kindOf = (cell: Cell): string => parseActorId(cell.id).kind;

/**
 * Makes the cell hot. @throws OrreryError if its record cannot be read or is of a state that the chart does
 * not have
 */
export function wake(cell: Cell, stepper: Stepper | undefined, now: number): Hot {
  if (cell.hot) return cell.hot;
  const record = cell.packed === null ? null : unpackRecord(cell.packed, cell.id);
  const isOver = record === null || record.gone;
  const snapshot = isOver ? null : (stepper?.restore(record.snapshot, record.version) ?? null);
  cell.hot = {
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

/** Packs an idle cell; one that never took an event is forgotten. */
export function rest(cell: Cell, hot: Hot): void {
  cell.packed = hot.record === null ? null : packRecord(hot.record);
  cell.hot = null;
  if (hot.record === null) cell.shard.cells.delete(cell.id);
}

export function isIdle(hot: Hot): boolean {
  const isWaiting =
    hot.mailbox.length > 0 || hot.effects.size > 0 || hot.parkedUntil !== 0 || hot.deferred !== null;
  return !hot.working && !hot.publishing && !isWaiting;
}

/** The record as it is now, whether the cell is hot or at rest; null before the first step. */
export function recordOf(cell: Cell): ActorRecord | null {
  return cell.hot?.record ?? (cell.packed === null ? null : unpackRecord(cell.packed, cell.id));
}

/** The record of an actor that exists, null otherwise. */
export function livingRecordOf(cell: Cell): ActorRecord | null {
  const record = recordOf(cell);
  return record?.gone ? null : record;
}

/** Whether the event was taken before, or stands for a deadline that does not hold any more (I5). */
export function isRepetition(record: ActorRecord | null, { mail, messageId, timer }: MailboxItem): boolean {
  if (timer) return !record?.timers.some(({ id, at }) => id === timer.id && at === timer.at);
  if (record === null) return false;
  if (mail !== undefined && mail <= record.mail) return true;
  if (messageId === undefined) return false;
  const short = shortId(messageId);
  return record.recentIds.some((entry) => entry.split(' ').includes(short));
}

/** Forgets actors that ended so long ago that the stream has forgotten them too. */
export function forgetEnded(run: ShardRun, now: number): void {
  for (let first = run.ended[0]; first && first.until < now; first = run.ended[0]) {
    run.ended.shift();
    const cell = run.cells.get(first.id);
    if (cell && cell.hot === null && recordOf(cell)?.gone) run.cells.delete(first.id);
  }
}

/** What was picked from records at rest: each is unpacked once, however often it is asked for. */
const read = new WeakMap<Uint8Array, { readonly picked: unknown }>();

/**
 * Something of an actor's context, without waking it. A record of an earlier version says what it said then.
 *
 * @param pick takes what is wanted from the context, and is kept in its place; the same for every call
 * @returns undefined: the actor is new, or its record cannot be read
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
  const picked = picking(() => pick(unpackRecord(packed, id).snapshot.context));
  read.set(packed, { picked });
  return picked;
}

function picking<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    // A release that is newer than this one wrote it.
    return undefined;
  }
}
