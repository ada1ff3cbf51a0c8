/**
 * A cell: what one replica keeps of one actor that it owns.
 *
 * At rest a cell is an id and the bytes of the record (`packed`); while something happens it is `hot`: the live snapshot, the
 * mailbox, the effects in work. The host wakes a cell and lets it rest; nobody else changes one.
 */
import { type ActorId, parseActorId } from '../../base/ids.ts';
import type { TraceContext } from '../../base/tracing.ts';
import type { Transition } from '../../base/views.ts';
import type { ShardRun } from '../shards/shard-run.ts';
import { shortId } from './next-record.ts';
import { type ActorRecord, packRecord, unpackRecord } from './records.ts';
import type { Snapshot, Stepper } from './step.ts';

/** An event that waits for its turn. */
export interface MailboxItem {
  readonly event: { readonly type: string } & Readonly<Record<string, unknown>>;
  /** Id of what caused the event; null if it came from the host. */
  readonly cause: string | null;
  /** Sequence in the mail stream, if it came from there. */
  readonly mail?: number;
  /** How far the world was known that the event tells of. */
  readonly world?: number;
  /** The sender's own id of the message. */
  readonly messageId?: string;
  /** The senders' own ids, where the event stands for several messages (mailbox.ts, `takeNext`). */
  readonly messageIds?: readonly string[];
  /** The span that the event follows from, where traces are wanted. */
  readonly trace?: TraceContext | undefined;
  /** The effect that ends with this event. */
  readonly completes?: string;
  /** The deadline that this event stands for. */
  readonly timer?: { readonly id: string; readonly at: number };
  /** A waiting event of the same word is replaced: only the latest observation counts. */
  readonly replaces?: string;
  /** Times that the actor failed over this event. */
  readonly failures?: number;
  /** Told once what became of the event. A promise holds back what is behind it in the mailbox. */
  readonly onTaken?: (outcome: Taken) => unknown;
}

export type Taken =
  | { readonly kind: 'stepped'; readonly transition: Transition }
  | { readonly kind: 'ignored' }
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string };

export interface Hot {
  /** null: the actor has not taken its first event. */
  record: ActorRecord | null;
  snapshot: Snapshot | null;
  readonly mailbox: MailboxItem[];
  /** An event of this actor is being taken; one at a time. */
  working: boolean;
  /** Effects in work, by key. */
  readonly effects: Set<string>;
  /** The stored record still names effects or deadlines that are over. */
  stale: boolean;
  /** The feed is being published. */
  publishing: boolean;
  /** Sequences of the saved records whose transitions wait in the feed. */
  readonly unpublished: number[];
  /** Woken when the feed has become shorter. */
  onPublished: (() => void) | null;
  /** Until then the actor takes nothing: its chart failed. Milliseconds since the epoch; 0: it does not wait. */
  parkedUntil: number;
  /** Since when it has been taking the event in hand, ms since the epoch; null: none is in hand. */
  takingSince: number | null;
  /** Monotonic ms. */
  lastUsed: number;
}

export interface Cell {
  readonly id: ActorId;
  readonly shard: ShardRun;
  /** The record at rest; null while the cell is hot or before the first step. */
  packed: Uint8Array | null;
  hot: Hot | null;
  /** The state as text, for counting without unpacking; empty if the actor is gone or new. */
  state: string;
  /** Why the actor takes nothing until a replica that knows its version owns it; null otherwise. */
  unreadable: string | null;
  /** Why the chart failed last; null once it took an event again. */
  error: string | null;
  /** The span of its last step, and since when that trace goes on here; null where no traces are wanted. */
  trace: { readonly context: TraceContext; readonly since: number } | null;
  /** Mail for it was turned away since the mailbox was full; it is read again from the stream. */
  overflowed: boolean;
}

export function createCell(id: ActorId, shard: ShardRun, packed: Uint8Array | null = null, state = ''): Cell {
  return {
    id,
    shard,
    packed,
    hot: null,
    state,
    unreadable: null,
    error: null,
    trace: null,
    overflowed: false,
  };
}

export const kindOf = (cell: Cell): string => parseActorId(cell.id).kind;

/** Makes the cell hot. @throws OrreryError if its record cannot be read or is of a state that the chart does not have */
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
    publishing: false,
    unpublished: [],
    onPublished: null,
    parkedUntil: 0,
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
  const isWaiting = hot.mailbox.length > 0 || hot.effects.size > 0 || hot.parkedUntil !== 0;
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
