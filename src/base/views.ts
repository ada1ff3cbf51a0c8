/**
 * What Orrery reports about itself: the JSON of the request subjects, of HTTP `/api/v1` and of `orrery … -o
 * json`.
 */

import type { ActorId, PartName, ShardName } from './ids.ts';
import type { PlainEvent } from './plain-event.ts';

/** One saved step, as published on `event.<kind>.<ns>.<name>` (once, in order of `rev`). */
export interface Transition {
  readonly id: ActorId;
  /** Grows by one with each step of the actor (I2). */
  readonly rev: number;
  readonly fence: number;
  readonly replica: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The event, with its fields. */
  readonly event: PlainEvent;
  /**
   * What caused the event: the message id, or `<actor id>/<rev>/<index>` of the effect; null if it came from
   * the host.
   */
  readonly cause: string | null;
  /**
   * State before and after, as text: `proving`, or `routes.sampling,endpoints.ignored` for parallel regions;
   * null before the first step.
   */
  readonly from: string | null;
  readonly to: string;
  readonly effects: ReadonlyArray<PlainEvent>;
  /**
   * Set after steps that were not reported (`Chart.quiet`): the snapshot from which this step started; null
   * if it is too large to report.
   */
  readonly resumes?: { readonly value: unknown; readonly context: unknown } | null | undefined;
}

/**
 * How an actor stands. `ok`: nothing to do. `waiting`: something is in progress and on time. `wrong`:
 * somebody should look. An actor at rest may be wrong.
 */
export type Health = (typeof healths)[number];
export const healths = ['ok', 'waiting', 'wrong'] as const;

/** One fact about an actor, shown as a column or as a line of its own. */
export interface Fact {
  /** Starts with a capital letter: `Expires`. */
  readonly label: string;
  readonly value: string | number;
  /**
   * For numbers. `time`: milliseconds since the epoch; `s` and `ms`: durations; otherwise the thing that is
   * counted.
   */
  readonly unit?: string;
  /** Set on a time at which something ends unless it is renewed, such as a certificate. */
  readonly ends?: true;
}

/** Why an actor stands as it does. */
export interface Reason {
  /** One sentence. */
  readonly text: string;
  readonly health: Health;
  /**
   * When the trouble began, across all retries; for an actor that is `ok`, when it entered its state. Ms
   * since the epoch.
   */
  readonly since: number;
  /** What happens next without intervention, and when (ms since the epoch); null: nothing. */
  readonly next: { readonly text: string; readonly at: number } | null;
}

/** One row of `orrery get`. */
export interface ActorSummary {
  readonly id: ActorId;
  readonly state: string;
  /** When the state was entered, milliseconds since the epoch. */
  readonly since: number;
  readonly owner: string;
  /** The shard, or the part of a loaded feature, in which it lives. */
  readonly shard: ShardName;
  readonly rev: number;
  /** The actor's earliest deadline, if it waits for one. */
  readonly nextTimer: { readonly event: string; readonly at: number } | null;
  /** null: there was none, or the actor is ok. */
  readonly lastError: string | null;
  readonly parked: boolean;
  readonly reason: Reason;
  /** In lists only on request. */
  readonly facts?: readonly Fact[];
}

/** One actor in full: `rpc.get`, `/api/v1/actors/<kind>/<ns>/<name>`, `orrery explain`. */
export interface ActorView extends ActorSummary {
  readonly machine: string;
  readonly machineVersion: number;
  /** Descriptions of the active states, outermost first (from the chart). */
  readonly meaning: ReadonlyArray<{ readonly state: string; readonly description: string }>;
  readonly fence: number;
  /** The actor's facts; empty if the chart reports none. */
  readonly facts: readonly Fact[];
  /** Further lines for people; absent if the chart adds none. */
  readonly notes?: readonly string[];
  readonly context: unknown;
  readonly timers: ReadonlyArray<{ readonly event: string; readonly at: number }>;
  /** Effects that were saved and have no outcome yet. */
  readonly pending: ReadonlyArray<{ readonly key: string; readonly type: string }>;
  /** The latest transitions, oldest first (bounded by limits.viewTransitions). */
  readonly recent: readonly Transition[];
  /** Events from outside that the chart accepts in this state. */
  readonly accepts: readonly string[];
}

export interface ReplicaView {
  readonly replica: string;
  readonly incarnation: string;
  readonly release: string;
  /** The shards that it owns. */
  readonly shards: readonly number[];
  readonly actors: number;
  readonly stepsPerSecond: number;
  /** When its last heartbeat was heard, milliseconds since the epoch. */
  readonly lastSeen: number;
}

export interface ShardView {
  readonly shard: number;
  readonly owner: string | null;
  readonly fence: number;
  readonly state: string;
  readonly actors: number;
}

/** A part of a loaded feature. */
export interface PartView {
  readonly part: PartName;
  readonly feature: string;
  /** The feature's version on the replicas that may own this part; null: no replica has the feature. */
  readonly version: string | null;
  readonly kinds: readonly string[];
  readonly owner: string | null;
  readonly fence: number;
}

export interface ShardsView {
  readonly replicas: readonly ReplicaView[];
  readonly shards: readonly ShardView[];
  /** Absent: no feature was ever loaded, or an earlier release answers. */
  readonly parts?: readonly PartView[];
}

export interface ForgetAnswer {
  readonly kind: string;
  readonly feature: string;
  /** Number of its actors in the store. */
  readonly actors: number;
  /** false: a dry run, which only counts. */
  readonly forgotten: boolean;
}

/** What an ActorView may leave out. */
export interface GetRequest {
  /** false: `recent` stays empty, and the owner does not read the event stream. */
  readonly history?: boolean;
}

export type SendAnswer =
  | { readonly accepted: true; readonly transition: Transition | null }
  | { readonly accepted: false; readonly code: string; readonly reason: string };

export interface ListRequest {
  readonly kind?: string;
  readonly namespace?: string;
  /** A state's name as in `ActorSummary.state`, or one of its parts. */
  readonly state?: string;
  readonly health?: Health;
  /** Whether each row has its facts. */
  readonly facts?: boolean;
  /** The most actors in one answer (bounded by limits.listActors). */
  readonly limit?: number;
  /** Only actors whose id sorts after this one: `next` of the previous answer. */
  readonly after?: string;
}

/**
 * Answer to `rpc.list`: actors of the whole cluster, sorted by id. The replica that answers asks the others.
 */
export interface ListAnswer {
  readonly actors: readonly ActorSummary[];
  /** Pass it as `after` to get the next page; null: this is the last page. */
  readonly next: string | null;
  /** Shards for which nobody answered: they are moving, or their owner is away. */
  readonly missingShards: readonly ShardName[];
}

/** A machine for `/api/v1/machines/<name>` and `orrery chart`. */
export interface MachineView {
  readonly name: string;
  readonly version: number;
  readonly description: string;
  /** The machine's own configuration, without functions. */
  readonly config: unknown;
  /**
   * The messages that people may send to its actors, by type; absent: none, or they are unknown where this
   * was made.
   */
  readonly messages?: Readonly<Record<string, MessageForm>>;
}

/** The form of a message, in the part of JSON Schema that Orrery uses. */
export interface MessageForm {
  readonly type: 'object';
  /** What it does. */
  readonly description?: string;
  readonly properties: Readonly<Record<string, FieldForm>>;
  readonly required: readonly string[];
}

export interface FieldForm {
  /** Absent: any type. Includes `null` where null is accepted. */
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly (string | number)[];
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly format?: string;
}

/** Whether a replica is ready, and if not, why. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
  /** What an operator should know although the replica is ready. */
  readonly notes?: readonly string[];
}

/**
 * Everything that a person or a program can ask of a running Orrery. A replica implements it for its HTTP
 * server; the command line implements it over the request subjects. Each answer covers the whole cluster.
 */
export interface ControlPort {
  /** null: there is no such actor. */
  get(id: ActorId, request?: GetRequest): Promise<ActorView | null>;
  list(request: ListRequest): Promise<ListAnswer>;
  shards(): Promise<ShardsView>;
  /** @param by the person on whose behalf the caller sends; it appears in the step's cause and in the log */
  send(id: ActorId, event: PlainEvent, by?: string): Promise<SendAnswer>;
}

/** A step in an actor's history, with the resulting context if it is known. */
export interface HistoryStep extends Transition {
  /** Absent: the recording does not reach back to the actor's first step, or the chart has changed since. */
  readonly context?: unknown;
}

/**
 * `/api/v1/actors/<kind>/<ns>/<name>/history`: what the event stream contains of an actor (24 h), oldest
 * first.
 */
export interface HistoryView {
  readonly steps: readonly HistoryStep[];
  /** The number of earlier steps that the answer leaves out. */
  readonly left: number;
}

/** A row of a live list: the actor, or the mark that it has ended. */
export interface LiveRow extends ActorSummary {
  /** Type of the last event; absent before the first. */
  readonly event?: string;
  /** When it was taken, ms since the epoch; absent from a release that does not report it. */
  readonly at?: number;
  /** The actor has ended. */
  readonly gone?: true;
}

/** What an operator should know of a replica, apart from its actors and shards; told while somebody looks. */
export interface ReplicaTroubles {
  readonly replica: string;
  readonly troubles: readonly string[];
}

/** What a watcher announces on `peer.watch`; valid for `ttlMs`, or until its next announcement. */
export interface Watch {
  readonly watcher: string;
  readonly rows: boolean;
  /** Whether it wants every step of every actor, each with its context. */
  readonly steps: boolean;
  readonly actors: readonly ActorId[];
  /** Kinds whose rows it wants with their facts; absent from a watcher of an earlier release. */
  readonly facts?: readonly string[];
  readonly ttlMs: number;
}

/** What a replica sends after each step of a watched actor. */
export interface LiveStep {
  readonly step: HistoryStep;
  readonly actor: Omit<ActorView, 'recent'>;
}

/** A message that no actor could take. The newest are shown; the stream keeps all of them for 7 days. */
export interface DeadLetter {
  readonly at: number;
  readonly subject: string;
  readonly error: string;
  /** The beginning of the body as text; anything that looks like a secret is left out. */
  readonly body: string;
  /** Its sequence in the stream; absent from a release that does not report it. */
  readonly sequence?: number;
  /** The code of the error. */
  readonly code?: string;
  /** The actor to which it was sent; null: its subject names none. */
  readonly to?: ActorId | null;
  /** The type of the event; null: unreadable. */
  readonly event?: string | null;
}

/** Answer to `rpc.dead.drop`. */
export type DropAnswer =
  | { readonly dropped: true }
  | { readonly dropped: false; readonly code: string; readonly reason: string };

/** A request to `rpc.history` or `rpc.dead`. */
export interface PageRequest {
  /** Only messages stored since then, ms since the epoch; absent: all that are kept. */
  readonly since?: number;
  /** `next` of the previous page. */
  readonly after?: number;
  readonly limit?: number;
}

export interface HistoryRequest extends PageRequest {
  /** Only this actor's. */
  readonly id?: ActorId;
  /** Only those of actors of this kind. */
  readonly kind?: string;
}

/** Answer to `rpc.history`, oldest first. */
export interface HistoryPage {
  readonly steps: readonly Transition[];
  /** Pass it as `after` to get the next page; null: this is the last page. */
  readonly next: number | null;
}

/** Answer to `rpc.dead`, oldest first. */
export interface DeadPage {
  readonly letters: ReadonlyArray<DeadLetter & { readonly sequence: number }>;
  readonly next: number | null;
}

/** The caller, as in `/api/v1/session`. */
export interface SessionView {
  readonly user: string;
  readonly maySend: boolean;
  /** With a token; without authentication there is nobody to sign out. */
  readonly signedIn: boolean;
}

/** The stored events and dead letters, for callers that have no permission on the streams. */
export interface StoredPort {
  history(request: HistoryRequest): Promise<HistoryPage>;
  dead(request: PageRequest): Promise<DeadPage>;
  /**
   * Sends a dead letter to its actor again, in the name of `by` or of the connected user, and removes it once
   * the actor has taken it.
   */
  resend(sequence: number, by?: string): Promise<SendAnswer>;
  drop(sequence: number, by?: string): Promise<DropAnswer>;
}
