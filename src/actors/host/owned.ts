/**
 * What a replica keeps of the shards that it owns and of the actors in them: forms alone. A shard knows its
 * cells and a cell its shard, so both stand here; what is done with them is in cell.ts, shard-run.ts and
 * host.ts.
 */
import type { Timer } from '../../base/clock.ts';
import type { ActorId, ShardName } from '../../base/ids.ts';
import type { PlainEvent } from '../../base/plain-event.ts';
import type { TraceContext } from '../../base/tracing.ts';
import type { Transition } from '../../base/views.ts';
import type { Following, StoredMessage } from '../../bus/bus.ts';
import type { ActorRecord } from './records.ts';
import type { Snapshot } from './step.ts';

/** An event that waits for its turn. */
export interface MailboxItem {
  readonly event: PlainEvent;
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
  /** Its last steps are not saved (time/deferral.ts): the context as it is stored; null: all are. */
  deferred: { readonly saved: unknown } | null;
  /** The feed is being published. */
  publishing: boolean;
  /** Sequences of the saved records whose transitions wait in the feed. */
  readonly unpublished: number[];
  /** Woken when the feed has become shorter. */
  onPublished: (() => void) | null;
  /**
   * Until then the actor takes nothing: its chart failed. Milliseconds since the epoch; 0: it does not wait.
   */
  parkedUntil: number;
  /** Why it waits for a share of the replica (time/pace.ts), in words; null: it does not. */
  held: string | null;
  /** What is in the mailbox waits for more until then, monotonic ms (time/company.ts); null: it does not. */
  company: { readonly until: number; readonly timer: Timer } | null;
  /** Since when it takes the event in hand, monotonic ms; null: none is. */
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
  /** Since when no state was `ok`, ms since the epoch; null: it is, or the actor is gone or new. */
  trouble: number | null;
  /** Why the actor takes nothing until a replica that knows its version owns it; null otherwise. */
  unreadable: string | null;
  /** Why the chart failed last; null once it took an event again. */
  error: string | null;
  /** The span of its last step, and since when that trace goes on here; null where no traces are wanted. */
  trace: { readonly context: TraceContext; readonly since: number } | null;
  /** Mail for it was turned away since the mailbox was full; it is read again from the stream. */
  overflowed: boolean;
}

export interface Letter {
  readonly id: ActorId;
  readonly item: MailboxItem;
  readonly message: StoredMessage;
  /** An actor sent it, as a replica vouches. */
  readonly isFromActor: boolean;
  readonly retriesLeft: number;
}

/**
 * A shard while this replica owns it: the fence, the cells, and the signal that ends everything done under
 * that fence.
 */
export interface ShardRun {
  readonly shard: ShardName;
  /** Sequence of the fence message that made this replica the owner; every save is conditional on it. */
  readonly fence: number;
  readonly cells: Map<ActorId, Cell>;
  /** Aborted when the shard is given up or lost: effects end, nothing more is saved. */
  readonly abort: AbortController;
  /** loading: takes events but does not work; active; draining: finishes what it began. */
  phase: 'loading' | 'active' | 'draining' | 'closed';
  /** Saves in flight; each holds the last sequence that was known when it began: its own will be higher. */
  readonly saving: Set<{ readonly after: number }>;
  /** The world must be known so far before actors are told of it: an earlier owner told them of that. */
  world: number;
  readonly mail: Progress;
  /**
   * Mail over `send` that was stored until then may speak for actors (mail-origin.ts); ms since the
   * epoch.
   */
  sendIsOpenUntil: number;
  /** The same as the stored checkpoint tells it; null: it does not. */
  savedOpenUntil: number | null;
  /** The mail stream to which places belong (`mailEpoch`): in another one of the name they mean nothing. */
  mailOf: string;
  /** That of records that do not say it: those of releases before. */
  unnamedMailOf: string | null;
  /** Sequences of saved records whose transition is not on the event stream yet. */
  readonly feed: Progress;
  /** Loaded records whose transitions may not be on the event stream: actor → sequence of its record. */
  readonly unpublished: Map<ActorId, number>;
  /** Some loaded record asks for effects that may not have run: they will run again. */
  owesEffects: boolean;
  /** Mail below this sequence was removed from the stream. */
  purged: number;
  /** Mail that waits in some mailbox. */
  readonly queuedMail: Set<number>;
  /** Mail to actors that are not there yet, in order. */
  readonly waitingMail: Map<ActorId, Letter[]>;
  /** Actors of which so many dead letters are not stored yet. */
  readonly burying: Map<ActorId, number>;
  /** Letters that wait for a release that knows the record of their parked actor. */
  parkedMail: number;
  /** Number of the reading of the mail that counts. */
  reading: number;
  /** Actors that ended, in order: their records are forgotten one after the other. */
  readonly ended: Array<{ readonly id: ActorId; readonly until: number }>;
  /** The reading of the mail; null while it does not run. */
  following: Following | null;
}

/**
 * How far a sequence of messages was worked off, when their order of ending is not that of their beginning.
 */
export interface Progress {
  /** Sequences that began and are not done. */
  readonly outstanding: Set<number>;
  /** The last sequence that began. */
  begun: number;
  /** The position that the stored checkpoint names. */
  saved: number;
}
