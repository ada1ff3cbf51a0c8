/**
 * The watching side of the live feed: requests what the open pages of this replica need, once for all of
 * them.
 *
 * Owns the announcements to the replicas (renewed while somebody watches, withdrawn when nobody does), and a
 * picture of the whole cluster: every actor's row, replicas and shards, dead letters. Rows are read once,
 * updated from the replicas' messages, and read again from time to time, which repairs lost messages and
 * follows a store that was restored from a backup. Nothing runs while nobody watches.
 */

import { isDeepStrictEqual } from 'node:util';
import { newestRows } from '../../actors/control/newest-rows.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { attempt } from '../../base/errors.ts';
import { type ActorId, parseActorId, type ShardName } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type {
  ControlPort,
  ListRequest,
  LiveRow,
  LiveStep,
  ReplicaTroubles,
  Watch,
} from '../../base/views.ts';
import type { Bus, Subscription } from '../../bus/bus.ts';
import { decode, encodeJson } from '../../bus/codec.ts';
import type { Subjects } from '../../bus/subjects.ts';
import type { ClusterNow } from './live-messages.ts';
import { followDeadLetters } from './newest-dead-letters.ts';

export interface RowsListener {
  /** The rows of these actors have changed or are gone. */
  readonly changed: (ids: Iterable<ActorId>) => void;
  readonly cluster: (now: ClusterNow) => void;
}

export interface LiveWatchParts {
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly control: ControlPort;
  readonly clock: Clock;
  /** Differs between replicas and from start to start. */
  readonly watcher: string;
}

/** How often replicas and shards are requested while a page is open. */
const clusterMs = 1_000;

export class LiveWatch {
  readonly #parts: LiveWatchParts;
  /** The known rows; empty while nobody watches them. */
  readonly rows = new Map<ActorId, LiveRow>();
  /** Whether every actor was read at least once. */
  isWhole = false;
  readonly #rowsListeners = new Set<RowsListener>();
  readonly #steps = new Map<ActorId | 'all', Set<(told: LiveStep) => void>>();
  readonly #subscriptions = new Map<ActorId | 'all' | 'rows' | 'troubles', Subscription>();
  /** What each replica told of itself last. */
  readonly #troubles = new Map<string, { readonly troubles: readonly string[]; readonly until: number }>();
  #deadLetters: ReturnType<typeof followDeadLetters> | null = null;
  /** Kinds whose facts are wanted, with the number of pages that want them. */
  readonly #factsOf = new Map<string, number>();
  #cluster: ClusterNow | null = null;
  #missingShards: readonly ShardName[] = [];
  #timers: Timer[] = [];
  /** Actors told of since the last page of a list was requested: they are newer than that page. */
  readonly #heard = new Set<ActorId>();
  /** Increases when watching rows starts or ends: late answers from before are dropped. */
  #time = 0;

  constructor(parts: LiveWatchParts) {
    this.#parts = parts;
  }

  watchRows(listener: RowsListener): Subscription {
    this.#rowsListeners.add(listener);
    if (this.#rowsListeners.size === 1) this.#startRows();
    else if (this.#cluster) listener.cluster(this.#cluster);
    return {
      stop: () => {
        if (this.#rowsListeners.delete(listener) && this.#rowsListeners.size === 0) this.#stopRows();
      },
    };
  }

  watchSteps(id: ActorId | 'all', listener: (told: LiveStep) => void): Subscription {
    const listeners = this.#steps.get(id) ?? new Set();
    this.#steps.set(id, listeners.add(listener));
    if (listeners.size === 1) {
      this.#subscriptions.set(
        id,
        this.#parts.bus.subscribe(this.#stepSubject(id), ({ data }) => {
          const told = stepIn(data);
          if (told !== null) for (const one of listeners) one(told);
        }),
      );
      this.#announce();
    }
    return {
      stop: () => {
        if (!listeners.delete(listener) || listeners.size > 0) return;
        this.#steps.delete(id);
        this.#unsubscribe(id);
        this.#announce();
      },
    };
  }

  /** When replicas and shards were last read, ms since the epoch; 0: not yet. */
  get readAt(): number {
    return this.#cluster?.now ?? 0;
  }

  /** Rows of the kind have their facts from now on. */
  watchFacts(kind: string): Subscription {
    const count = this.#factsOf.get(kind) ?? 0;
    this.#factsOf.set(kind, count + 1);
    if (count === 0) {
      this.#announce();
      const time = this.#time;
      // A failure here is repaired when all rows are read again.
      this.#readFacts(kind, time).catch(() => {});
    }
    let isOpen = true;
    return {
      stop: () => {
        if (!isOpen) return;
        isOpen = false;
        const left = (this.#factsOf.get(kind) ?? 1) - 1;
        if (left > 0) this.#factsOf.set(kind, left);
        else this.#factsOf.delete(kind);
        if (left === 0) this.#announce();
      },
    };
  }

  stop(): void {
    this.#factsOf.clear();
    this.#rowsListeners.clear();
    this.#steps.clear();
    this.#stopRows();
    for (const name of [...this.#subscriptions.keys()]) this.#unsubscribe(name);
  }

  #stepSubject(id: ActorId | 'all'): string {
    const { subjects } = this.#parts;
    if (id === 'all') return subjects.peerSteps;
    const { kind, namespace, name } = parseActorId(id);
    return subjects.peer('step', kind, namespace, name);
  }

  #unsubscribe(name: ActorId | 'all' | 'rows' | 'troubles'): void {
    this.#subscriptions.get(name)?.stop();
    this.#subscriptions.delete(name);
  }

  #renewal: Timer | null = null;

  /** Tells the replicas what is watched, and repeats it before they forget. */
  #announce(): void {
    const { bus, subjects, clock, watcher } = this.#parts;
    const actors = [...this.#steps.keys()].filter((id) => id !== 'all');
    const rows = this.#rowsListeners.size > 0;
    const isWatching = rows || this.#steps.size > 0;
    const watch: Watch = {
      watcher,
      rows,
      steps: this.#steps.has('all'),
      actors,
      facts: [...this.#factsOf.keys()],
      ttlMs: isWatching ? limits.inspectWatchMs : 0,
    };
    bus.publish(subjects.peer('watch'), encodeJson(watch));
    this.#renewal?.cancel();
    // A starting replica hears the next one: often enough that its actors are not missed for long.
    this.#renewal = isWatching ? clock.after(limits.inspectWatchMs / 5, () => this.#announce()) : null;
  }

  #startRows(): void {
    const { bus, subjects } = this.#parts;
    const time = ++this.#time;
    this.#subscriptions.set(
      'rows',
      bus.subscribe(subjects.peer('rows'), ({ data }) => {
        const rows = rowsIn(data);
        for (const { id } of rows) this.#heard.add(id);
        this.#take(rows);
      }),
    );
    this.#subscriptions.set(
      'troubles',
      bus.subscribe(subjects.peer('troubles'), ({ data }) => this.#takeTroubles(troublesIn(data))),
    );
    this.#deadLetters = followDeadLetters(this.#parts);
    this.#announce();
    this.#repeat(clusterMs, time, () => this.#readCluster(time));
    this.#repeat(limits.inspectReadAgainMs, time, () => this.#readRows(time));
  }

  #stopRows(): void {
    this.#time++;
    this.#unsubscribe('rows');
    this.#unsubscribe('troubles');
    this.#troubles.clear();
    this.#deadLetters?.stop();
    for (const timer of this.#timers) timer.cancel();
    this.#timers = [];
    this.rows.clear();
    this.isWhole = false;
    this.#cluster = null;
    this.#deadLetters = null;
    this.#announce();
  }

  /** Does the work at once and after each pause, one run at a time; a failed one is repeated. */
  #repeat(pauseMs: number, time: number, work: () => Promise<void>): void {
    const again = () => {
      if (time !== this.#time) return;
      const timer = this.#parts.clock.after(pauseMs, () => {
        this.#timers.splice(this.#timers.indexOf(timer), 1);
        this.#repeat(pauseMs, time, work);
      });
      this.#timers.push(timer);
    };
    work().then(again, again);
  }

  /** @param isBinding whether the row counts though its revision is lower than the known one */
  #take(rows: readonly LiveRow[], isBinding: (row: LiveRow) => boolean = () => false): void {
    const changed: ActorId[] = [];
    for (const row of rows) {
      const known = this.rows.get(row.id);
      if (!this.#isNews(row, known) && !(row.rev < (known?.rev ?? 0) && isBinding(row))) continue;
      if (row.gone) this.rows.delete(row.id);
      else if (known || this.rows.size < limits.inspectRows)
        this.rows.set(row.id, known ? this.#completed(row, known) : row);
      changed.push(row.id);
    }
    this.#tell(changed);
  }

  /** A former owner may report late; the revisions of an actor that ended and returned continue. */
  #isNews(row: LiveRow, known: LiveRow | undefined): boolean {
    if (!known || row.rev > known.rev) return true;
    if (row.rev < known.rev) return false;
    return (
      row.gone === true ||
      row.state !== known.state ||
      row.owner !== known.owner ||
      row.parked !== known.parked ||
      row.lastError !== known.lastError ||
      row.reason.text !== known.reason.text ||
      row.reason.health !== known.reason.health ||
      (row.facts !== undefined && !isDeepStrictEqual(row.facts, known.facts))
    );
  }

  /**
   * Adds what a list does not say about a step, and what a replica that has not heard of the watch does not
   * send.
   */
  #completed(row: LiveRow, known: LiveRow): LiveRow {
    const { event, at, facts } = known;
    const hasFacts = row.facts === undefined && facts !== undefined && this.#factsOf.has(kindOf(row.id));
    return {
      ...(row.rev === known.rev && event !== undefined ? { event } : {}),
      ...(row.rev === known.rev && at !== undefined ? { at } : {}),
      ...(hasFacts ? { facts } : {}),
      ...row,
    };
  }

  #tell(changed: readonly ActorId[]): void {
    if (changed.length === 0) return;
    for (const listener of this.#rowsListeners) listener.changed(changed);
  }

  async #readRows(time: number): Promise<void> {
    const seen = new Set<ActorId>();
    const before = new Map(this.rows);
    const missing = new Set<ShardName>();
    // A revision goes back when the store was restored.
    const isBinding = ({ id }: LiveRow) => !this.#heard.has(id);
    let after: string | null = '';
    while (after !== null && seen.size < limits.inspectRows) {
      const request = after === '' ? {} : { after };
      this.#heard.clear();
      const answer = await this.#parts.control.list({ ...request, limit: limits.listActors });
      if (time !== this.#time) return;
      this.#take(newestRows(this.#withoutEnded(answer.actors)), isBinding);
      for (const { id } of answer.actors) seen.add(id);
      for (const shard of answer.missingShards) missing.add(shard);
      after = answer.next;
    }
    // One that was heard of since has come back.
    const isUnheard = (id: ActorId, row: LiveRow) => !seen.has(id) && this.rows.get(id) === row;
    const ended = [...before].flatMap(([id, row]) =>
      isUnheard(id, row) && !missing.has(row.shard) ? [id] : [],
    );
    for (const id of ended) this.rows.delete(id);
    this.#missingShards = [...missing];
    this.isWhole = true;
    this.#tell(ended);
    for (const kind of this.#factsOf.keys()) await this.#readFacts(kind, time);
  }

  async #readFacts(kind: string, time: number): Promise<void> {
    for (let after: string | null = ''; after !== null; ) {
      const page: ListRequest = { kind, facts: true, limit: limits.listActors };
      const answer = await this.#parts.control.list(after === '' ? page : { ...page, after });
      if (time !== this.#time || !this.#factsOf.has(kind)) return;
      this.#take(this.#withoutEnded(answer.actors));
      after = answer.next;
    }
  }

  /** A list may be older than the news that an actor has ended. */
  #withoutEnded(listed: readonly LiveRow[]): readonly LiveRow[] {
    return listed.filter(({ id }) => this.rows.has(id) || !this.#heard.has(id));
  }

  #takeTroubles(told: ReplicaTroubles | null): void {
    const now = this.#parts.clock.monotonic();
    // Each roll-out has replicas of new names, and a page may be open for months.
    for (const [replica, { until }] of this.#troubles) if (until <= now) this.#troubles.delete(replica);
    if (told === null || (this.#troubles.size >= limits.inspectWatchers && !this.#troubles.has(told.replica)))
      return;
    this.#troubles.set(told.replica, { troubles: told.troubles, until: now + limits.inspectWatchMs });
  }

  #troublesOf(replica: string): readonly ReplicaTroubles[] {
    const { troubles = [], until = 0 } = this.#troubles.get(replica) ?? {};
    return troubles.length > 0 && until > this.#parts.clock.monotonic() ? [{ replica, troubles }] : [];
  }

  async #readCluster(time: number): Promise<void> {
    const shards = await this.#parts.control.shards();
    if (time !== this.#time) return;
    this.#cluster = {
      ...shards,
      now: this.#parts.clock.now(),
      isWhole: this.isWhole,
      missingShards: this.#missingShards,
      troubles: shards.replicas.flatMap(({ replica }) => this.#troublesOf(replica)),
      deadLetters: this.#deadLetters?.letters() ?? { count: 0, newest: [] },
    };
    for (const listener of this.#rowsListeners) listener.cluster(this.#cluster);
  }
}

function kindOf(id: ActorId): string {
  return id.slice(0, id.indexOf('/'));
}

/** Anybody who may write to the subject can put anything on it. @returns null: no step */
const stepIn = (data: Uint8Array): LiveStep | null =>
  attempt(() => {
    const told = decode(data) as Partial<LiveStep> | null;
    return typeof told?.step?.id === 'string' && typeof told.actor?.id === 'string'
      ? (told as LiveStep)
      : null;
  }, null);

const rowsIn = (data: Uint8Array): readonly LiveRow[] =>
  attempt(() => (decode(data) as { readonly rows: readonly LiveRow[] }).rows.filter(isRow), []);

const troublesIn = (data: Uint8Array): ReplicaTroubles | null =>
  attempt(() => {
    const told = decode(data) as Partial<ReplicaTroubles> | null;
    const isTold = typeof told?.replica === 'string' && Array.isArray(told.troubles);
    return isTold && told.troubles.every((text) => typeof text === 'string')
      ? (told as ReplicaTroubles)
      : null;
  }, null);

const isRow = (row: Partial<LiveRow> | null): row is LiveRow =>
  typeof row?.id === 'string' && typeof row.rev === 'number' && typeof row.reason?.text === 'string';
