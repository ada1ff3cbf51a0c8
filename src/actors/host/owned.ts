/**
 * The data that a replica keeps of the shards it owns and of their actors: types only. A shard refers to its
 * cells and a cell to its shard, so both are here; cell.ts, shard-run.ts and host.ts work with them.
 */
import type { Timer } from '../../base/clock.ts';
import type { ErrorCode } from '../../base/errors.ts';
import type { ActorId, ShardName } from '../../base/ids.ts';
import type { PlainEvent } from '../../base/plain-event.ts';
import type { TraceContext } from '../../base/tracing.ts';
import type { Transition } from '../../base/views.ts';
import type { Following, StoredMessage } from '../../bus/bus.ts';
import type { ActorRecord } from './records.ts';
import type { Snapshot, Stepper } from './step.ts';

/** An event that waits for its turn. */
export interface MailboxItem {
  readonly event: PlainEvent;
  /** Id of the event's cause; null if it came from the host. */
  readonly cause: string | null;
  /** Its sequence in the mail stream, if it came from there. */
  readonly mail?: number;
  /** How far the world stream was read when the observation was made. */
  readonly world?: number;
  /** The sender's own id of the message. */
  readonly messageId?: string;
  /** The senders' own ids, if several messages were merged into this item (mailbox.ts, `takeNext`). */
  readonly messageIds?: readonly string[];
  /** The span that the event follows from, if tracing is on. */
  readonly trace?: TraceContext | undefined;
  /** The effect that ends with this event. */
  readonly completes?: string;
  /** The deadline that this event represents. */
  readonly timer?: { readonly id: string; readonly at: number };
  /** Replaces a waiting event with the same word: only the latest observation counts. */
  readonly replaces?: string;
  /** How often the actor has failed on this event. */
  readonly failures?: number;
  /**
   * Called when its turn comes: whether its sender takes it back, because it has to wait behind an earlier
   * message.
   */
  readonly takesBack?: () => boolean;
  /** Called once with the outcome. If it returns a promise, the next events in the mailbox wait for it. */
  readonly onTaken?: (outcome: Taken) => unknown;
}

export type Taken =
  | { readonly kind: 'stepped'; readonly transition: Transition }
  | { readonly kind: 'ignored' }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly reason: string };

export interface Hot {
  /** undefined: this release has no chart for its kind. */
  readonly stepper: Stepper | undefined;
  /** null: the actor has not taken its first event. */
  record: ActorRecord | null;
  snapshot: Snapshot | null;
  readonly mailbox: MailboxItem[];
  /** An event of this actor is being processed; one at a time. */
  working: boolean;
  /** Keys of running effects. */
  readonly effects: Set<string>;
  /** The stored record still names effects or deadlines that are over. */
  stale: boolean;
  /** Its last steps are not saved (time/deferral.ts): the stored context; null: all steps are saved. */
  deferred: { readonly saved: unknown } | null;
  publishing: boolean;
  /** Sequences of the saved records whose transitions are still in the feed. */
  readonly unpublished: number[];
  /** Called when the feed has become shorter. */
  onPublished: (() => void) | null;
  /**
   * The actor takes no event before this time, because its chart failed; milliseconds since the epoch; 0: no
   * pause.
   */
  parkedUntil: number;
  /** Why it waits for a share of the replica (time/pace.ts), in words; null: it does not wait. */
  held: string | null;
  /** The mailbox waits for more items until then, monotonic ms (time/company.ts); null: it does not. */
  company: { readonly until: number; readonly timer: Timer } | null;
  /** When the present event's processing started, monotonic ms; null: none is in progress. */
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
  /**
   * When the trouble began, ms since the epoch: no state was `ok` since; null: the state is ok, or the actor
   * is gone or new.
   */
  trouble: number | null;
  /** Somebody should look, whatever the state (`Chart.needsLook`). */
  needsLook: boolean;
  /** Why the actor takes no event until a replica that knows its version owns it; otherwise null. */
  unreadable: string | null;
  /** Why the chart failed last; null once it has taken an event again. */
  error: string | null;
  /** The span of its last step, and when that trace reached this actor; null without tracing. */
  trace: { readonly context: TraceContext; readonly since: number } | null;
  /** Mail for it was turned away because the mailbox was full; it will be read again from the stream. */
  overflowed: boolean;
}

export interface Letter {
  readonly id: ActorId;
  readonly item: MailboxItem;
  readonly message: StoredMessage;
  /** An actor sent it; a replica vouches for that. */
  readonly isFromActor: boolean;
  /** Until when it waits for an actor that is missing, monotonic ms; absent: it did not have to yet. */
  readonly waitsUntil?: number;
}

/**
 * A shard that this replica owns: the fence, the cells, and the signal that ends all work under that fence.
 */
export interface ShardRun {
  readonly shard: ShardName;
  /** Sequence of the fence message that made this replica the owner; every save is conditional on it. */
  readonly fence: number;
  readonly cells: Map<ActorId, Cell>;
  /** How many of them live (control/actor-views.ts); null: to be counted, because some came or went. */
  living: number | null;
  /** Aborted when the shard is given up or lost: effects end, nothing more is saved. */
  readonly abort: AbortController;
  /** loading: accepts events but does not process them; active; draining: finishes what it started. */
  phase: 'loading' | 'active' | 'draining' | 'closed';
  /** Saves in progress, each with the last known sequence at its start; its own sequence will be higher. */
  readonly saving: Set<{ readonly after: number }>;
  /**
   * Actors are not told of the world before this sequence is reached, because an earlier owner told them of
   * it.
   */
  world: number;
  readonly mail: Progress;
  /**
   * Messages over `send` stored before this time may come from actors (mail-origin.ts); ms since the epoch.
   */
  sendIsOpenUntil: number;
  /** The same, as stored in the checkpoint; null: the checkpoint does not have it. */
  savedOpenUntil: number | null;
  /**
   * The mail stream to which positions belong (`mailEpoch`); in another stream of the name they are
   * meaningless.
   */
  mailOf: string;
  /** The mail stream for records that name none: those of earlier releases. */
  unnamedMailOf: string | null;
  /** Sequences of saved records whose transitions are not on the event stream yet. */
  readonly feed: Progress;
  /** Loaded records whose transitions may not be on the event stream: actor → sequence of its record. */
  readonly unpublished: Map<ActorId, number>;
  /** Some loaded record has effects that may not have run; they will run again. */
  owesEffects: boolean;
  /** Mail before this sequence was removed from the stream. */
  purged: number;
  /** Mail that waits in a mailbox. */
  readonly queuedMail: Set<number>;
  /** Mail to actors that do not exist yet, in order. */
  readonly waitingMail: Map<ActorId, Letter[]>;
  /** Actors with dead letters that are not stored yet, and their number. */
  readonly burying: Map<ActorId, number>;
  /** Number of letters that wait for a release that can read the record of their parked actor. */
  parkedMail: number;
  /** Number of the current reading of the mail; earlier readings are void. */
  reading: number;
  /** Until when the stream keeps the records of actors that ended, monotonic ms; in order. */
  readonly ended: Map<ActorId, number>;
  /** The current reading of the mail; null while there is none. */
  following: Following | null;
}

/** How far a sequence of messages has been processed when they finish in another order than they start. */
export interface Progress {
  readonly outstanding: Set<number>;
  /** The last sequence that was started. */
  begun: number;
  /** The position in the stored checkpoint. */
  saved: number;
}
