/**
 * What Orrery tells about itself: the JSON of the request subjects, of HTTP `/api/v1` and of `orrery … -o
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
  /** The event that was taken, with its fields. */
  readonly event: PlainEvent;
  /**
   * What caused the event: the message id, or `<actor id>/<rev>/<index>` of the effect; null if it came from
   * the host.
   */
  readonly cause: string | null;
  /**
   * State before and after, as text: `proving`, parallel regions as `routes.sampling,endpoints.ignored`; null
   * before the first.
   */
  readonly from: string | null;
  readonly to: string;
  readonly effects: ReadonlyArray<PlainEvent>;
  /**
   * Steps before this one were not told (`Chart.quiet`): the snapshot that they led to; null: it is too large
   * to be told.
   */
  readonly resumes?: { readonly value: unknown; readonly context: unknown } | null;
}

/**
 * How an actor stands. `ok`: nothing is to be done. `waiting`: something is on its way, in good time.
 * `wrong`: somebody should look. An actor at rest may well be wrong.
 */
export type Health = 'ok' | 'waiting' | 'wrong';

/** One thing to know of an actor, for a column or a line of its own. */
export interface Fact {
  /** With a capital letter: `Expires`. */
  readonly label: string;
  readonly value: string | number;
  /**
   * Of a number: `time` is milliseconds since the epoch, `s` and `ms` are durations; else what is counted.
   */
  readonly unit?: string;
  /** A time at which what the actor is about ends unless something is done before: of a certificate. */
  readonly ends?: true;
}

/** Why an actor stands as it stands. */
export interface Reason {
  /** One sentence. */
  readonly text: string;
  readonly health: Health;
  /**
   * Since when it is not `ok`, over all retries; of one that is, when the state was entered. Ms since the
   * epoch.
   */
  readonly since: number;
  /** What happens next by itself, and when (ms since the epoch); null: nothing does. */
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
  /** The earliest deadline, if the actor waits for one. */
  readonly nextTimer: { readonly event: string; readonly at: number } | null;
  readonly lastError: string | null;
  readonly parked: boolean;
  readonly reason: Reason;
  /** In lists only where they were asked for. */
  readonly facts?: readonly Fact[];
}

/** One actor in full: `rpc.get`, `/api/v1/actors/<kind>/<ns>/<name>`, `orrery explain`. */
export interface ActorView extends ActorSummary {
  readonly machine: string;
  readonly machineVersion: number;
  /** Descriptions of the active states, outermost first (from the chart). */
  readonly meaning: ReadonlyArray<{ readonly state: string; readonly description: string }>;
  readonly fence: number;
  /** What is to know of it, one thing each; empty where the chart tells none. */
  readonly facts: readonly Fact[];
  /** What a person should know beside the state, in lines; absent where the chart has nothing to add. */
  readonly notes?: readonly string[];
  readonly context: unknown;
  readonly timers: ReadonlyArray<{ readonly event: string; readonly at: number }>;
  /** Effects that were saved and have no outcome yet. */
  readonly pending: ReadonlyArray<{ readonly key: string; readonly type: string }>;
  /** The latest transitions, oldest first (bounded by limits.viewTransitions). */
  readonly recent: readonly Transition[];
  /** Events that the chart accepts in this state, from outside. */
  readonly accepts: readonly string[];
}

export interface ReplicaView {
  readonly replica: string;
  readonly incarnation: string;
  readonly release: string;
  /** Shards it owns. */
  readonly shards: readonly number[];
  readonly actors: number;
  /** Steps in the last second. */
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
  /** That the replicas have which may own it; null: no replica has the feature any more. */
  readonly version: string | null;
  readonly kinds: readonly string[];
  readonly owner: string | null;
  readonly fence: number;
}

export interface ShardsView {
  readonly replicas: readonly ReplicaView[];
  readonly shards: readonly ShardView[];
  /** Absent: no feature was ever loaded, or a release before answers. */
  readonly parts?: readonly PartView[];
}

/** Answer to `rpc.forget`. */
export interface ForgetAnswer {
  readonly kind: string;
  readonly feature: string;
  /** That stand in the store. */
  readonly actors: number;
  /** false: it was only asked what there is. */
  readonly forgotten: boolean;
}

/** What to leave out of an ActorView. */
export interface GetRequest {
  /** false: `recent` stays empty, which spares the owner a reading of the event stream. */
  readonly history?: boolean;
}

/** Answer to `rpc.send`. */
export type SendAnswer =
  | { readonly accepted: true; readonly transition: Transition | null }
  | { readonly accepted: false; readonly code: string; readonly reason: string };

export interface ListRequest {
  readonly kind?: string;
  readonly namespace?: string;
  /** A state's name as in `ActorSummary.state`, or one of its parts. */
  readonly state?: string;
  readonly health?: Health;
  /** Each with its facts. */
  readonly facts?: boolean;
  /** At most so many actors in one answer (bounded by limits.listActors). */
  readonly limit?: number;
  /** Only actors whose id sorts after this one: `next` of the answer before. */
  readonly after?: string;
}

/**
 * Answer to `rpc.list`: actors of the whole cluster, sorted by id; whichever replica answers asks the others.
 */
export interface ListAnswer {
  readonly actors: readonly ActorSummary[];
  /** Ask again with `after: next` for the following ones; null: that was all. */
  readonly next: string | null;
  /** Shards that nobody answered for (moving, or their owner is away). */
  readonly missingShards: readonly ShardName[];
}

/** A machine for `/api/v1/machines/<name>` and `orrery chart`. */
export interface MachineView {
  readonly name: string;
  readonly version: number;
  readonly description: string;
  /** The machine's own configuration, functions left out. */
  readonly config: unknown;
  /** What people may send to its actors, by type; absent: nothing, or whoever asked did not know. */
  readonly messages?: Readonly<Record<string, MessageForm>>;
}

/** The form of a message: the part of JSON Schema that is used. */
export interface MessageForm {
  readonly type: 'object';
  /** What it does. */
  readonly description?: string;
  readonly properties: Readonly<Record<string, FieldForm>>;
  readonly required: readonly string[];
}

export interface FieldForm {
  /** Absent: any. With `null` where that is taken too. */
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

/** Why a replica is not ready; empty when it is. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
  /** What an operator should know though the replica may get requests. */
  readonly notes?: readonly string[];
}

/**
 * Everything that a person or a program can ask of a running Orrery. A replica implements it for its own HTTP
 * server; the command line implements it over the request subjects. Each answer is for the whole cluster.
 */
export interface ControlPort {
  /** null: there is no such actor. */
  get(id: ActorId, request?: GetRequest): Promise<ActorView | null>;
  list(request: ListRequest): Promise<ListAnswer>;
  shards(): Promise<ShardsView>;
  /** @param by for whom it is sent, where it is not whoever asks: in the step's cause and in the log */
  send(id: ActorId, event: PlainEvent, by?: string): Promise<SendAnswer>;
}

/** A step in an actor's history, with the context that it led to where that can be told. */
export interface HistoryStep extends Transition {
  /** Absent: the recording does not hold the actor's beginning, or the chart was another one then. */
  readonly context?: unknown;
}

/**
 * `/api/v1/actors/<kind>/<ns>/<name>/history`: what the event stream holds of an actor (24 h), oldest first.
 */
export interface HistoryView {
  readonly steps: readonly HistoryStep[];
  /** How many earlier ones there are that the answer leaves out. */
  readonly left: number;
}

/** A row of a list that is kept up to date: the actor, or what is left of it. */
export interface LiveRow extends ActorSummary {
  /** Type of the event that was taken last; absent until one is. */
  readonly event?: string;
  /** The actor has ended. */
  readonly gone?: true;
}

/** What a watcher announces on `peer.watch`; it holds for `ttlMs`, or until the watcher's next one. */
export interface Watch {
  readonly watcher: string;
  /** Whether it wants the rows of all actors. */
  readonly rows: boolean;
  /** Whether it wants every step of every actor, each with its context. */
  readonly steps: boolean;
  /** Actors whose steps it wants. */
  readonly actors: readonly ActorId[];
  /** Kinds whose rows it wants with their facts; a watcher of an earlier release does not say. */
  readonly facts?: readonly string[];
  readonly ttlMs: number;
}

/** What replicas tell of an actor that somebody watches, after each step. */
export interface LiveStep {
  readonly step: HistoryStep;
  readonly actor: Omit<ActorView, 'recent'>;
}

/** A message that nobody could take: the newest are shown, the stream keeps all for 7 days. */
export interface DeadLetter {
  readonly at: number;
  readonly subject: string;
  readonly error: string;
  /** The beginning of it, as text; what looks like a secret is left out. */
  readonly body: string;
  /** Its number; absent from a release that could not tell it. */
  readonly sequence?: number;
  /** The code of the error. */
  readonly code?: string;
  /** The actor that it was for; null: there is none of that subject. */
  readonly to?: ActorId | null;
  /** The type of the event; null: it cannot be read. */
  readonly event?: string | null;
}

/** Answer to `rpc.dead.drop`. */
export type DropAnswer =
  | { readonly dropped: true }
  | { readonly dropped: false; readonly code: string; readonly reason: string };

/** What `rpc.history` and `rpc.dead` are asked. */
export interface PageRequest {
  /** Only what was stored since, ms since the epoch; absent: all that is kept. */
  readonly since?: number;
  /** `next` of the page before. */
  readonly after?: number;
  readonly limit?: number;
}

export interface HistoryRequest extends PageRequest {
  /** Of this actor alone. */
  readonly id?: ActorId;
  /** Of this kind of actors alone. */
  readonly kind?: string;
}

/** Answer to `rpc.history`, oldest first. */
export interface HistoryPage {
  readonly steps: readonly Transition[];
  /** Ask again with `after: next`; null: that was all. */
  readonly next: number | null;
}

/** Answer to `rpc.dead`, oldest first. */
export interface DeadPage {
  readonly letters: ReadonlyArray<DeadLetter & { readonly sequence: number }>;
  readonly next: number | null;
}

/** What is stored, for those who have no right on the streams. */
export interface StoredPort {
  history(request: HistoryRequest): Promise<HistoryPage>;
  dead(request: PageRequest): Promise<DeadPage>;
  /** Sends a dead letter again to its actor, as `by` or as whoever is connected; taken, it is gone. */
  resend(sequence: number, by?: string): Promise<SendAnswer>;
  drop(sequence: number, by?: string): Promise<DropAnswer>;
}
