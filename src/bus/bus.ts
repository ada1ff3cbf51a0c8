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
  /** Milliseconds since the epoch at which the stream stored it. */
  readonly storedAt: number;
  /**
   * To a follower: how many messages of the stream were still to come for it when this one was sent. A stream
   * that keeps the last message of each subject passes, on the way to its end, through sets of messages that
   * never stood together; 0: they stood so then.
   */
  readonly pending?: number;
}

/** "Store this only if the last message on `subject` has `sequence`"; 0 means that there is none. */
export interface Guard {
  readonly subject: string;
  readonly sequence: number;
}

export interface AppendOptions {
  readonly headers?: Headers;
  /** Deduplicates within the stream's window (`Nats-Msg-Id`). */
  readonly msgId?: string;
  readonly guard?: Guard;
  /** The message removes itself after so many seconds (streams with per-message TTL only). */
  readonly ttlSeconds?: number;
  readonly timeoutMs?: number;
}

/** One message of a batch. */
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
  /** Only the last message of each subject, then everything new. */
  | { readonly kind: 'lastPerSubject' }
  /**
   * From this sequence on (inclusive). `of`: of the stream that was made then (`streamState`); a later one is
   * another (`onAnother`).
   */
  | { readonly kind: 'sequence'; readonly sequence: number; readonly of?: string }
  /** From this wall time on. */
  | { readonly kind: 'time'; readonly at: number }
  /** Only what is stored from now on. */
  | { readonly kind: 'new' };

export interface FollowOptions {
  /** Full subjects; wildcards allowed. */
  readonly subjects: readonly string[];
  readonly from: FollowFrom;
  /**
   * Called for each message, in order, synchronously. What it throws is logged and counted, and the message
   * counts as delivered: a handler that wants to keep a bad message must keep it itself.
   */
  readonly onMessage: (message: StoredMessage) => void;
  /**
   * The stream was recreated, or was put back to what it was before (a backup, a disk that lost its end):
   * what was delivered need not stand in it, and its messages follow from the first. Absent: a stream that
   * lost its end is followed from where it ends now.
   */
  readonly onAnother?: () => void;
}

/** What a stream is now, as its leader says. */
export interface StreamState {
  /** When it was made; tells it from others of its name. */
  readonly created: string;
  /** Of the last message that it stored, whether or not it is still there; 0: none. */
  readonly lastSequence: number;
}

export interface Following {
  /**
   * Resolves once everything that was in the stream when following began has been delivered; rejects if it
   * ends before.
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

/** Counts since the bus was made, for the metrics. */
export interface BusCounters {
  /** Exceptions of handlers given to `subscribe` and `follow`. */
  readonly handlerErrors: number;
  /** Times that the connection was lost. */
  readonly disconnects: number;
  /** Times that a `follow` had to begin again where it was. */
  readonly followRestarts: number;
}

export interface Bus {
  readonly status: BusStatus;
  readonly counters: BusCounters;
  /** Calls back at each change of `status`. */
  onStatus(callback: (status: BusStatus) => void): Subscription;

  /**
   * Sends without storing; while disconnected the message is dropped (heartbeats, answers).
   * @throws OrreryError BUS_REFUSED at once for a message that is too large (1 MiB) or has an illegal header
   */
  publish(subject: string, data: Uint8Array, options?: { headers?: Headers; reply?: string }): void;
  /**
   * Also hears what is appended to a stream under the subject, whether or not it is stored.
   *
   * `queue` shares the messages among the subscribers of that name. The handler must not throw; what it
   * throws is logged.
   */
  subscribe(
    subject: string,
    onMessage: (message: BusMessage) => void,
    options?: { queue?: string },
  ): Subscription;
  /** One answer. @throws OrreryError BUS_UNREACHABLE on timeout, no responders or abort */
  request(subject: string, data: Uint8Array, options: RequestOptions): Promise<BusMessage>;
  /**
   * All answers that arrive until `enough` says so or the time is over; never rejects for a lack of answers.
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
   * Stores several messages of one stream that takes batches at once, or none (B7, and B2–B4 as `append`).
   * @returns the sequence of the last of them
   */
  appendAll(messages: readonly BatchMessage[], options?: { readonly timeoutMs?: number }): Promise<Appended>;
  /**
   * Resolves once the stream's place to begin at is fixed; while the bus is away it waits and keeps trying.
   * The first messages may be delivered before that.
   * From `lastPerSubject`, an interruption before `caughtUp` may add older messages of a subject, in order,
   * before its last.
   * @throws OrreryError BUS_UNREACHABLE if the bus is closed
   */
  follow(stream: StreamName, options: FollowOptions): Promise<Following>;
  /**
   * The last stored message of a literal subject, read from the stream's leader (not from a replica that may
   * lag).
   * @throws OrreryError BUS_UNREACHABLE, as do `lastOfMany` and `purge`; BUS_REFUSED if there is no such
   * stream
   */
  last(stream: StreamName, subject: string): Promise<StoredMessage | undefined>;
  /** The last stored messages of many literal subjects, in no promised order; missing ones are absent. */
  lastOfMany(stream: StreamName, subjects: readonly string[]): Promise<ReadonlyMap<string, StoredMessage>>;
  /** @throws OrreryError BUS_UNREACHABLE | BUS_REFUSED if there is no such stream */
  streamState(stream: StreamName): Promise<StreamState>;
  /** Removes what is stored under `subject` (wildcards allowed), only below `belowSequence` if given. */
  purge(stream: StreamName, options: { subject: string; belowSequence?: number }): Promise<void>;
  /** Removes one message, if it is still there. @throws as `purge` */
  remove(stream: StreamName, sequence: number): Promise<void>;

  /** Sends what is buffered, then closes. Safe to call twice. */
  close(): Promise<void>;
}
