/**
 * The port through which everything talks: plain messages, stored streams, conditional writes.
 *
 * Owns no policy. `nats/nats.ts` implements it on a NATS server, `memory/hub.ts` in one process; one contract
 * suite (test/bus/contract.ts) runs on both. Payloads are bytes; what they mean is `codec.ts` and
 * `envelope.ts`.
 *
 * Promises of every implementation:
 * - B1 Messages of one publisher on one subject arrive in the order in which they were sent.
 * - B2 `append` resolves only after the message is stored by the stream's leader (its acknowledgement).
 * - B3 A guarded `append` is stored only if the last sequence of the guarded subject is the one given;
 *   otherwise it is refused with BUS_CONFLICT. The guarded subject is always a literal one (a wildcard is not
 *   safe on replicated streams).
 * - B4 An `append` that gets no answer rejects with BUS_UNKNOWN_OUTCOME: it may or may not be stored. One
 *   that surely was not sent rejects with BUS_UNREACHABLE.
 * - B5 `follow` delivers in the order of the stream, without a gap, also over reconnects; it never gives up.
 * - B6 Two appends with one `msgId` within the stream's duplicate window are stored once.
 * - B7 `appendAll` stores all its messages, one right after the other, or none; each may have a guard of its
 *   own, on a subject that no other message of the batch is stored under before it.
 */
import type { BusTrouble } from './troubles.ts';

export type Headers = Readonly<Record<string, string>>;

export interface BusMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers: Headers;
  /** Where an answer is expected; empty if none is. */
  readonly reply: string;
}

export interface StoredMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers: Headers;
  /** The stream's sequence of this message. */
  readonly sequence: number;
  /** When the stream stored it, milliseconds since the epoch. */
  readonly storedAt: number;
  /**
   * Set for followers: how many further messages the stream had for this follower when it sent this one. A
   * stream that keeps only the last message of each subject delivers states on the way to its end that never
   * existed together; at 0 the follower has seen a state that did.
   */
  readonly pending?: number;
}

/** "Store this only if the last message on `subject` has `sequence`"; 0 means that the subject is empty. */
export interface Guard {
  readonly subject: string;
  readonly sequence: number;
}

export interface AppendOptions {
  readonly headers?: Headers;
  /** Identifies duplicates within the stream's window (`Nats-Msg-Id`). */
  readonly msgId?: string;
  readonly guard?: Guard;
  /** The server removes the message after this many seconds (only in streams with per-message TTL). */
  readonly ttlSeconds?: number;
  readonly timeoutMs?: number;
}

export interface BatchMessage extends Pick<AppendOptions, 'headers' | 'guard' | 'ttlSeconds'> {
  readonly subject: string;
  readonly data: Uint8Array;
}

export interface Appended {
  readonly sequence: number;
  readonly duplicate: boolean;
}

/** The five streams; their full definitions are data in `streams.ts`. */
export type StreamName = 'mail' | 'world' | 'state' | 'event' | 'dead';

export type FollowFrom =
  /** The last message of each subject, then every new one. */
  | { readonly kind: 'lastPerSubject' }
  /**
   * From this sequence on (inclusive). `of` names the stream by its time of creation (`streamState`); a
   * stream created later is a different one (`onAnother`).
   */
  | { readonly kind: 'sequence'; readonly sequence: number; readonly of?: string }
  /** From this wall time on. */
  | { readonly kind: 'time'; readonly at: number }
  /** Only messages stored from now on. */
  | { readonly kind: 'new' };

export interface FollowOptions {
  /** Full subjects; wildcards allowed. */
  readonly subjects: readonly string[];
  readonly from: FollowFrom;
  /**
   * Called for each message, in order, synchronously. An exception is logged and counted, and the message
   * counts as delivered: a handler that needs to keep a bad message has to keep it itself.
   */
  readonly onMessage: (message: StoredMessage) => void;
  /**
   * The stream was recreated or restored to an earlier state (from a backup, or a disk that lost its end), so
   * delivered messages may be missing from it. Its messages follow from the first one. Without this callback,
   * a stream that lost its end is followed from its present end.
   */
  readonly onAnother?: () => void;
  /** Ends following, also before it has begun: then the promise is rejected. Absent: only `stop` does. */
  readonly signal?: AbortSignal;
}

/** The present state of a stream, as its leader reports it. */
export interface StreamState {
  /** When it was created; distinguishes it from other streams of the same name. */
  readonly created: string;
  /** The domain of its JetStream, if it has one. */
  readonly domain?: string;
  /** The sequence of the last message it stored, even if that message is gone; 0: none. */
  readonly lastSequence: number;
  /** The sequence of the oldest message that it holds; if there is none, of the next one. */
  readonly firstSequence: number;
  /** How many messages it holds. */
  readonly messages: number;
  /** On how many servers; what one server alone says is never older than what it has delivered. */
  readonly copies: number;
}

export interface Following {
  /**
   * Resolves once every message that was in the stream at the start of following has been delivered; rejects
   * if following ends earlier.
   */
  readonly caughtUp: Promise<void>;
  stop(): Promise<void>;
}

export interface Subscription {
  stop(): void;
}

export interface RequestOptions {
  readonly headers?: Headers;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export type BusStatus = 'connected' | 'disconnected' | 'closed';

/** Counters since the bus was created, for the metrics. */
export interface BusCounters {
  /** Exceptions thrown by handlers of `subscribe` and `follow`. */
  readonly handlerErrors: number;
  /** How often the connection was lost. */
  readonly disconnects: number;
  /** How often a `follow` had to resume. */
  readonly followRestarts: number;
}

export interface Bus {
  readonly status: BusStatus;
  readonly counters: BusCounters;
  /** What NATS does not do for this process now. */
  troubles(): readonly BusTrouble[];
  /** Calls back at each change of `status`. */
  onStatus(callback: (status: BusStatus) => void): Subscription;

  /**
   * Sends without storing. While disconnected, the message is dropped (heartbeats, answers).
   *
   * @throws OrreryError BUS_REFUSED, synchronously, for a message that is too large (1 MiB) or has an illegal
   *   header
   */
  publish(subject: string, data: Uint8Array, options?: { headers?: Headers; reply?: string }): void;
  /**
   * Receives messages on the subject, including those appended to a stream, whether or not they are stored.
   *
   * `queue` shares the messages among the subscribers with the same queue name. The handler must not throw;
   * exceptions are logged.
   */
  subscribe(
    subject: string,
    onMessage: (message: BusMessage) => void,
    options?: { queue?: string },
  ): Subscription;
  /** One answer. @throws OrreryError BUS_UNREACHABLE on timeout, no responders or abort */
  request(subject: string, data: Uint8Array, options: RequestOptions): Promise<BusMessage>;
  /**
   * All answers until `enough` returns true or the time is up; never rejects because answers are missing.
   */
  requestMany(
    subject: string,
    data: Uint8Array,
    options: RequestOptions & { readonly enough: (answers: readonly BusMessage[]) => boolean },
  ): Promise<readonly BusMessage[]>;

  /**
   * Stores a message in the stream that holds `subject` (B2–B4, B6). @throws OrreryError BUS_CONFLICT |
   * BUS_UNKNOWN_OUTCOME | BUS_UNREACHABLE | BUS_REFUSED
   */
  append(subject: string, data: Uint8Array, options?: AppendOptions): Promise<Appended>;
  /**
   * Stores several messages of one stream that supports batches, all or none (B7, and B2–B4 as for `append`).
   *
   * @returns the sequence of the last message
   */
  appendAll(messages: readonly BatchMessage[], options?: { readonly timeoutMs?: number }): Promise<Appended>;
  /**
   * Resolves once the position at which following starts is fixed; while the bus is disconnected it keeps
   * trying. The first messages may arrive earlier. With `lastPerSubject`, an interruption before `caughtUp`
   * may deliver older messages of a subject, in order, before its last one.
   *
   * @throws OrreryError BUS_UNREACHABLE if the bus is closed
   */
  follow(stream: StreamName, options: FollowOptions): Promise<Following>;
  /**
   * The last stored message of a literal subject, read from the stream's leader, because other copies may
   * lag.
   *
   * @throws OrreryError BUS_UNREACHABLE, as `lastOfMany` and `purge` do; BUS_REFUSED if there is no such
   *   stream
   */
  last(stream: StreamName, subject: string): Promise<StoredMessage | undefined>;
  /**
   * The last stored message of each of many literal subjects, in no particular order; subjects without one
   * are left out.
   */
  lastOfMany(stream: StreamName, subjects: readonly string[]): Promise<ReadonlyMap<string, StoredMessage>>;
  /** @throws OrreryError BUS_UNREACHABLE | BUS_REFUSED if there is no such stream */
  streamState(stream: StreamName): Promise<StreamState>;
  /**
   * The stream has lost messages that its followers here were given: each of them takes it for another stream
   * (`onAnother`), and follows it from its first message.
   */
  startOver(stream: StreamName): void;
  /**
   * Removes the messages under `subject` (wildcards allowed); with `belowSequence`, only those before it.
   */
  purge(stream: StreamName, options: { subject: string; belowSequence?: number }): Promise<void>;
  /** Removes one message, if it still exists. @throws as `purge` */
  remove(stream: StreamName, sequence: number): Promise<void>;

  /** Flushes the buffer, then closes. Safe to call twice. */
  close(): Promise<void>;
}
