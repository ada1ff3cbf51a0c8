/**
 * The page's data: rows of all actors, the cluster, and the watched actor with its history. Fed by the live
 * feed.
 *
 * Listeners are notified at most once a frame, however many messages arrived; they read the whole state then.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import type { ActorId } from '../../base/ids.ts';
import type { ActorView, HistoryStep, HistoryView, LiveRow, SessionView } from '../../base/views.ts';
import type { ClusterNow, LiveMessage } from '../live/live-messages.ts';
import type { Answer, Refused } from './answer.ts';
import { readHistory, readKinds, readSession } from './api.ts';
import { type Connection, type ConnectionState, connectLive } from './connection.ts';
import { createHearing, type Hearing, type Silence } from './hearing.ts';
import { createRates, type Rates } from './overview/rates.ts';
import { createPersistentReading } from './persistent-reading.ts';
import { withPast, withStep } from './watched-steps.ts';
import { createWho, type Who } from './who.ts';

export interface Watched {
  readonly id: ActorId;
  /** undefined: unknown so far; null: there is none. */
  actor: Omit<ActorView, 'recent'> | null | undefined;
  /** Oldest first. */
  steps: readonly HistoryStep[];
  /** Number of steps before those. */
  left: number;
  isLoading: boolean;
  /** Why the history or the actor could not be read so far; it is tried again. null: nothing is wrong. */
  problem: string | null;
}

export interface Move {
  readonly shard: number;
  readonly from: string | null;
  readonly to: string | null;
  /** By the replica's clock, ms since the epoch. */
  readonly at: number;
}

export interface News {
  readonly row: LiveRow;
  /** By the replica's clock, ms since the epoch. */
  readonly at: number;
}

const newsMax = 14;
const movesMax = 8;
/** A new feed sends its rows within this time once it has all of them. */
const stalePatienceMs = 4_000;
/** A gap in the news of up to this leaves the page as it is: a connection that is made again. */
const gapMs = 3_000;
/** While nobody says whether one may look, ms. */
const askAgainMs = 2_000;
/** While a right is missing, ms: replicas remember what Kubernetes said for ten seconds. */
const askForRightMs = 5_000;
/** Of two pictures further apart nobody can say when a shard moved. */
const movesGapMs = 15_000;

export class Store {
  readonly #clock: Clock;
  readonly #beforeFrame: (draw: () => void) => void;
  readonly #live: Connection;
  readonly #history: { ask(id: ActorId): Promise<void>; forget(): void };
  readonly #who: Who;
  readonly #hearing: Hearing;
  readonly #listeners = new Set<() => void>();
  readonly #rows = new Map<ActorId, LiveRow>();
  readonly #kinds = new Map<string, number>();
  readonly rates: Rates;
  #cluster: ClusterNow | null = null;
  #watched: Watched | null = null;
  #connection: ConnectionState = 'connecting';
  #replica = '';
  #release = '';
  #moves: readonly Move[] = [];
  #news: readonly News[] = [];
  /** The replica's time minus the page's. */
  #offset = 0;
  /** Rows not yet repeated since the feed started again; those that ended unnoticed are dropped. */
  #stale = new Set<ActorId>();
  /** Rows not yet repeated since there was no news: nobody can say when they took the steps since. */
  #undated = new Set<ActorId>();
  #wasGap = false;
  #staleSince = 0;
  #isDue = false;
  #isTimed = false;

  constructor(parts: {
    readonly clock: Clock;
    /** Of the live feed. */
    readonly address: string;
    /** Calls when the next picture is drawn. */
    readonly beforeFrame: (draw: () => void) => void;
  }) {
    const { clock, address } = parts;
    this.#clock = clock;
    this.#beforeFrame = parts.beforeFrame;
    this.rates = createRates(clock);
    this.#hearing = createHearing(clock);
    this.#who = createWho({ readSession, readKinds, changed: () => this.#changed() });
    const onAnswer = (id: ActorId, answer: Answer<HistoryView>) => this.#takeHistory(id, answer);
    this.#history = createPersistentReading({ clock, read: readHistory, onAnswer });
    this.#live = connectLive({
      clock,
      address,
      onMessage: (message) => this.#onMessage(message),
      onDoubt: () => void this.#who.readSession(),
      onState: (connection) => {
        this.#connection = connection;
        this.#isTimed ||= connection !== 'connecting';
        if (connection === 'refused') void this.#askWho();
        this.#changed();
      },
    });
    void this.#who.readSession();
    void this.#who.readKinds();
  }

  get rows(): ReadonlyMap<ActorId, LiveRow> {
    return this.#rows;
  }

  /** Kinds with actors, and the number of actors. */
  get kinds(): ReadonlyMap<string, number> {
    return this.#kinds;
  }

  get cluster(): ClusterNow | null {
    return this.#cluster;
  }

  /** Whether an actor that is not in `rows` does not exist, rather than being unknown so far. */
  get isWhole(): boolean {
    const isTold = this.#rows.size > 0 || this.#clock.monotonic() - this.#staleSince > stalePatienceMs;
    return this.#cluster?.isWhole === true && isTold;
  }

  get watched(): Watched | null {
    return this.#watched;
  }

  get connection(): ConnectionState {
    return this.#connection;
  }

  /** Nothing was heard for three seconds, or only old information; null: the feed is alive. */
  get silence(): Silence | null {
    return this.#hearing.silence(this.#time(), this.#connection === 'live');
  }

  /** Every kind that the release knows, with or without actors; null: unknown so far. */
  get allKinds(): readonly string[] | null {
    return this.#who.allKinds;
  }

  get replica(): string {
    return this.#replica;
  }

  get session(): Answer<SessionView> | null {
    return this.#who.session;
  }

  /** Why signing in is needed; null: it is not, as far as is known. */
  get refused(): Refused | null {
    return this.#who.refused;
  }

  /** The latest moves of shards, newest first. */
  get moves(): readonly Move[] {
    return this.#moves;
  }

  /** The latest steps of all actors, newest first. */
  get news(): readonly News[] {
    return this.#news;
  }

  /** Whether `now` is the replica's time, or will not be so soon: this machine's clock may be wrong. */
  get isTimed(): boolean {
    return this.#isTimed;
  }

  /**
   * The time of what is shown, by the replica's clock, ms since the epoch. It stands still while no news
   * comes.
   */
  now(): number {
    const { silence } = this;
    return silence !== null && silence.ms > gapMs && silence.asOf > 0 ? silence.asOf : this.#time();
  }

  /** The replica's time, ms since the epoch. */
  #time(): number {
    return this.#clock.now() + this.#offset;
  }

  /** @param kind whose rows are wanted with their facts */
  look(id: ActorId | null, kind: string | null): void {
    this.#live.watch({ rows: true, actor: id, facts: kind });
    if (this.#watched?.id === (id ?? undefined)) return;
    this.#watched =
      id === null ? null : { id, actor: undefined, steps: [], left: 0, isLoading: true, problem: null };
    if (id === null) this.#history.forget();
    else void this.#history.ask(id);
    this.#changed();
  }

  async signedIn(): Promise<void> {
    await this.#who.readSession();
    await this.#who.readKinds();
    this.#live.retry();
  }

  /**
   * The feed was refused: the page asks for a token. Whoever may look after all, as when a permission is
   * back, need not sign in.
   */
  async #askWho(): Promise<void> {
    while (this.#connection === 'refused') {
      const answer = await this.#who.readSession();
      if ('ok' in answer) return this.#live.retry();
      const { refused } = this.#who;
      // Whoever has to sign in says so; a right may be granted meanwhile.
      if (refused?.status === 401) return;
      await sleep(this.#clock, refused === null ? askAgainMs : askForRightMs);
    }
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#beforeFrame(() => {
      this.#isDue = false;
      for (const listener of this.#listeners) listener();
    });
  }

  #onMessage(message: LiveMessage): void {
    const isGap = (this.silence?.ms ?? 0) > gapMs;
    if (isGap && !this.#wasGap) this.#undated = new Set(this.#rows.keys());
    this.#wasGap = isGap;
    this.#hearing.heard();
    if (message.type === 'hello') this.#begin(message);
    else if (message.type === 'beat') {
      this.#offset = message.now - this.#clock.now();
      this.#hearing.heard(message.asOf);
    } else if (message.type === 'rows') this.#takeRows(message);
    else if (message.type === 'cluster') this.#takeCluster(message);
    else if (message.type === 'step') this.#takeStep(message);
    else if (message.type === 'actor' && this.#watched?.id === message.id) {
      this.#watched = { ...this.#watched, actor: message.actor, problem: null };
    } else if (message.type === 'problem' && this.#watched) {
      this.#watched = { ...this.#watched, problem: message.message };
    }
    this.#changed();
  }

  #begin({ replica, release, now }: Extract<LiveMessage, { type: 'hello' }>): void {
    this.#stale = new Set(this.#rows.keys());
    this.#staleSince = this.#clock.monotonic();
    this.#replica = replica;
    this.#offset = now - this.#clock.now();
    this.#hearing.began();
    if (this.#watched) void this.#history.ask(this.#watched.id);
    void this.#who.readFailed();
    // Another release may have other kinds.
    if (this.#release !== '' && this.#release !== release) void this.#who.readKinds();
    this.#release = release;
  }

  #takeRows(message: Extract<LiveMessage, { type: 'rows' }>): void {
    const steps: News[] = [];
    for (const row of message.rows) {
      const known = this.#rows.get(row.id);
      if (known && row.rev > known.rev && !this.#undated.has(row.id))
        this.rates.add(row.id.slice(0, row.id.indexOf('/')), row.rev - known.rev);
      // A replica of an earlier release does not date it.
      if (row.event !== undefined && row.rev !== known?.rev) steps.push({ row, at: row.at ?? this.#time() });
      if (!known) this.#count(row.id, 1);
      this.#rows.set(row.id, row);
      this.#stale.delete(row.id);
      this.#undated.delete(row.id);
    }
    for (const id of message.ended) this.#drop(id);
    if (steps.length === 0) return;
    this.#news = [...steps.reverse(), ...this.#news].sort((a, b) => b.at - a.at).slice(0, newsMax);
  }

  #takeCluster(cluster: ClusterNow): void {
    const clock = this.#clock;
    const moved = movesOf(this.#cluster, cluster);
    if (moved.length > 0) this.#moves = [...moved, ...this.#moves].slice(0, movesMax);
    this.#offset = cluster.now - clock.now();
    this.#hearing.heard(cluster.now);
    this.#cluster = cluster;
    if (!cluster.isWhole || clock.monotonic() - this.#staleSince < stalePatienceMs) return;
    for (const id of this.#stale) this.#drop(id);
    this.#stale.clear();
  }

  #takeStep({ step, actor }: Extract<LiveMessage, { type: 'step' }>): void {
    const watched = this.#watched;
    if (watched?.id !== step.id) return;
    this.#watched = { ...watched, actor, steps: withStep(watched.steps, step) };
  }

  #takeHistory(id: ActorId, answer: Answer<HistoryView>): void {
    const watched = this.#watched;
    if (watched?.id !== id) return;
    if ('refused' in answer) this.#watched = { ...watched, problem: answer.refused.reason };
    else {
      const { steps, left } = answer.ok;
      const known = withPast(steps, watched.steps);
      this.#watched = { ...watched, steps: known, left, isLoading: false, problem: null };
    }
    this.#changed();
  }

  #drop(id: ActorId): void {
    if (this.#rows.delete(id)) this.#count(id, -1);
  }

  #count(id: ActorId, more: 1 | -1): void {
    const kind = id.slice(0, id.indexOf('/'));
    const now = (this.#kinds.get(kind) ?? 0) + more;
    if (now > 0) this.#kinds.set(kind, now);
    else this.#kinds.delete(kind);
  }
}

function movesOf(before: ClusterNow | null, after: ClusterNow): Move[] {
  const at = after.now;
  if (before === null || at - before.now > movesGapMs) return [];
  const owners = new Map(before.shards.map(({ shard, owner }) => [shard, owner]));
  return after.shards.flatMap(({ shard, owner }) => {
    const from = owners.get(shard);
    return from === undefined || from === owner ? [] : [{ shard, from, to: owner, at }];
  });
}
