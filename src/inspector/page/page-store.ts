/**
 * What the page knows: rows of all actors, the cluster, the actor that is looked at with its history. Fed by
 * the live feed.
 *
 * Changes are told at most once a frame, however many messages came; whoever draws reads the whole state
 * then.
 */
import type { Clock } from '../../base/clock.ts';
import type { ActorId } from '../../base/ids.ts';
import type { ActorView, HistoryStep, HistoryView, LiveRow } from '../../base/views.ts';
import type { ClusterNow, LiveMessage } from '../live/live-messages.ts';
import { type Answer, readHistory, type Session } from './api.ts';
import { type ConnectionState, connectLive } from './connection.ts';
import { createHearing, type Silence } from './hearing.ts';
import { createRates, type Rates } from './overview/rates.ts';
import { createWho } from './who.ts';

export interface Watched {
  readonly id: ActorId;
  /** undefined: not known yet; null: there is none. */
  actor: Omit<ActorView, 'recent'> | null | undefined;
  /** Oldest first. */
  steps: readonly HistoryStep[];
  /** Steps before those. */
  left: number;
  isLoading: boolean;
  /** When the last step came over the live feed, page time, ms; 0: none did. */
  steppedAt: number;
}

export interface Move {
  readonly shard: number;
  readonly from: string | null;
  readonly to: string | null;
  /** Page time, ms. */
  readonly at: number;
}

export interface News {
  readonly row: LiveRow;
  readonly at: number;
}

export interface Store {
  readonly rows: ReadonlyMap<ActorId, LiveRow>;
  /** Kinds that there are actors of, with their number. */
  readonly kinds: ReadonlyMap<string, number>;
  readonly cluster: ClusterNow | null;
  /** Whether what is not in `rows` is not there, rather than not told yet. */
  readonly isWhole: boolean;
  readonly watched: Watched | null;
  readonly connection: ConnectionState;
  /** Nothing was heard for three seconds, or what is heard tells nothing new; null: the feed is alive. */
  readonly silence: Silence | null;
  /** Every kind of actors that the release knows, whether or not there are any; null: not known yet. */
  readonly allKinds: readonly string[] | null;
  readonly replica: string;
  readonly session: Answer<Session> | null;
  readonly rates: Rates;
  /** The latest moves of shards, newest first. */
  readonly moves: readonly Move[];
  /** The latest steps anywhere, newest first. */
  readonly news: readonly News[];
  /** The replica's time, ms since the epoch. */
  now(): number;
  /** @param kind whose rows are wanted with their facts */
  look(id: ActorId | null, kind: string | null): void;
  signedIn(): Promise<void>;
  onChange(listener: () => void): () => void;
}

const newsMax = 14;
const movesMax = 8;
/** A feed that begins sends its rows within this time once it has them all. */
const stalePatienceMs = 4_000;
/** The page keeps as many steps as the replica tells at first, and what comes since. */
const stepsMax = 1_000;

export function createStore(clock: Clock): Store {
  const listeners = new Set<() => void>();
  let isDue = false;
  const changed = () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      for (const listener of listeners) listener();
    });
  };
  const rows = new Map<ActorId, LiveRow>();
  const kinds = new Map<string, number>();
  const state = {
    cluster: null as ClusterNow | null,
    watched: null as Watched | null,
    connection: 'connecting' as ConnectionState,
    replica: '',
    moves: [] as readonly Move[],
    news: [] as readonly News[],
    /** The replica's time less the page's. */
    offset: 0,
  };
  const rates = createRates(clock);
  const hearing = createHearing(clock);
  const who = createWho(changed);
  /** What ended unheard is not told: rows that are not told again after a new beginning are dropped. */
  let stale = new Set<ActorId>();
  let staleSince = 0;

  const count = (id: ActorId, more: 1 | -1) => {
    const kind = id.slice(0, id.indexOf('/'));
    const now = (kinds.get(kind) ?? 0) + more;
    if (now > 0) kinds.set(kind, now);
    else kinds.delete(kind);
  };
  const drop = (id: ActorId) => {
    if (rows.delete(id)) count(id, -1);
  };

  const takeRows = (message: Extract<LiveMessage, { type: 'rows' }>) => {
    const steps: News[] = [];
    for (const row of message.rows) {
      const known = rows.get(row.id);
      if (known && row.rev > known.rev) rates.add(row.id.slice(0, row.id.indexOf('/')), row.rev - known.rev);
      if (row.event !== undefined && row.rev !== known?.rev) steps.push({ row, at: clock.now() });
      if (!known) count(row.id, 1);
      rows.set(row.id, row);
      stale.delete(row.id);
    }
    for (const id of message.ended) drop(id);
    if (steps.length > 0) state.news = [...steps.reverse(), ...state.news].slice(0, newsMax);
  };
  const takeCluster = (cluster: ClusterNow) => {
    const moved = movesOf(state.cluster, cluster, clock.now());
    if (moved.length > 0) state.moves = [...moved, ...state.moves].slice(0, movesMax);
    state.offset = cluster.now - clock.now();
    hearing.heard(cluster.now);
    state.cluster = cluster;
    if (!cluster.isWhole || stale.size === 0 || clock.monotonic() - staleSince < stalePatienceMs) return;
    for (const id of stale) drop(id);
    stale.clear();
  };
  const takeStep = ({ step, actor }: Extract<LiveMessage, { type: 'step' }>) => {
    const { watched } = state;
    if (watched?.id !== step.id) return;
    const steps = watched.steps.some(({ rev }) => rev === step.rev)
      ? watched.steps
      : [...watched.steps, step];
    state.watched = { ...watched, actor, steps: steps.slice(-stepsMax), steppedAt: clock.monotonic() };
  };
  const onMessage = (message: LiveMessage) => {
    hearing.heard();
    if (message.type === 'hello') {
      stale = new Set(rows.keys());
      staleSince = clock.monotonic();
      state.replica = message.replica;
      state.offset = message.now - clock.now();
      if (state.watched) void loadHistory(state.watched.id);
    } else if (message.type === 'beat') {
      state.offset = message.now - clock.now();
      hearing.heard(message.asOf);
    } else if (message.type === 'rows') takeRows(message);
    else if (message.type === 'cluster') takeCluster(message);
    else if (message.type === 'step') takeStep(message);
    else if (message.type === 'actor' && state.watched?.id === message.id) {
      state.watched = { ...state.watched, actor: message.actor };
    }
    changed();
  };
  const loadHistory = async (id: ActorId) => {
    const answer = await readHistory(id);
    const { watched } = state;
    if (watched?.id !== id || !('ok' in answer)) return;
    state.watched = withPast(watched, answer.ok);
    changed();
  };
  const live = connectLive({
    clock,
    onMessage,
    onState(connection) {
      state.connection = connection;
      if (connection === 'refused' || connection === 'lost') void who.readSession();
      changed();
    },
  });
  void who.readSession();
  void who.readKinds();

  return {
    rows,
    kinds,
    rates,
    get cluster() {
      return state.cluster;
    },
    get isWhole() {
      const isTold = rows.size > 0 || clock.monotonic() - staleSince > stalePatienceMs;
      return state.cluster?.isWhole === true && isTold;
    },
    get watched() {
      return state.watched;
    },
    get connection() {
      return state.connection;
    },
    get silence() {
      return hearing.silence(clock.now() + state.offset, state.connection === 'live');
    },
    get allKinds() {
      return who.allKinds;
    },
    get replica() {
      return state.replica;
    },
    get session() {
      return who.session;
    },
    get moves() {
      return state.moves;
    },
    get news() {
      return state.news;
    },
    now: () => clock.now() + state.offset,
    look(id, kind) {
      live.watch({ rows: true, actor: id, facts: kind });
      if (state.watched?.id === (id ?? undefined)) return;
      state.watched =
        id === null ? null : { id, actor: undefined, steps: [], left: 0, isLoading: true, steppedAt: 0 };
      if (id !== null) void loadHistory(id);
      changed();
    },
    async signedIn() {
      await who.readSession();
      await who.readKinds();
      live.retry();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function movesOf(before: ClusterNow | null, after: ClusterNow, at: number): Move[] {
  const owners = new Map(before?.shards.map(({ shard, owner }) => [shard, owner]));
  return after.shards.flatMap(({ shard, owner }) => {
    const from = owners.get(shard);
    return from === undefined || from === owner ? [] : [{ shard, from, to: owner, at }];
  });
}

/** Steps that came meanwhile over the feed follow what was read. */
function withPast(watched: Watched, { steps, left }: HistoryView): Watched {
  const last = steps.at(-1)?.rev ?? 0;
  const later = watched.steps.filter(({ rev }) => rev > last);
  return { ...watched, steps: [...steps, ...later], left, isLoading: false };
}
