/**
 * Follows Leases: reports the state of each, and every change within milliseconds.
 *
 * One shared list/watch for each namespace with followed Leases; beyond `limits.leaseWatches` of them, one of
 * all namespaces for the rest. For a process that may read a single Lease only, a watch of that object. If
 * listing or watching is forbidden, the Leases are read every `pollMs` instead. Promise: a Lease is reported
 * missing only if a read of that Lease says so and nothing was written or heard around it. Absent: what a
 * change means. Why Leases are not mirrored: docs/decisions/0003-following-leases.md
 */

import type { FeatureParts } from '../../actors/feature.ts';
import { type Clock, sleep, type Timer } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import type { KubeObject } from '../../base/kube-port.ts';
import { limits } from '../../base/limits.ts';
import { startWatch } from '../../kube/mirror/start-watch.ts';
import type { ObjectSink } from '../../kube/mirror/watch-runner.ts';
import type { LeasePlace } from '../../machines/election/lease-record.ts';
import { type LeaseStore, leaseRecordOf, type SeenLease } from './lease.ts';
import { leases } from './resources.ts';

/** null: the Lease does not exist. `resourceVersion`: null if no version of the missing Lease is known. */
export interface LeaseNews {
  readonly record: SeenLease['record'] | null;
  readonly resourceVersion: string | null;
}

/** As often as client-go looks at a Lease of another holder. */
const pollMs = 2_000;
/** A follower that continues asks again at once; the watch survives until then. */
const lingerMs = 10_000;

export interface FollowerParts extends Pick<FeatureParts, 'kube' | 'clock' | 'random' | 'log'> {
  readonly store: LeaseStore;
  /** Whether a watch covers a whole namespace, shared, or one object. */
  readonly breadth: 'namespace' | 'object';
}

export type LeaseFollower = ReturnType<typeof createLeaseFollower>;

export function createLeaseFollower(parts: FollowerParts) {
  const { clock, breadth } = parts;
  const watches = new Map<string, SharedWatch>();
  const watchOf = (place: LeasePlace): SharedWatch => {
    const scope = scopeOf(breadth, place);
    const own = watches.get(scope.key);
    if (own) return own;
    // However many namespaces there are, the number of watches is bounded.
    const { key, ...watched } =
      breadth === 'namespace' && watches.size >= limits.leaseWatches ? allNamespaces : scope;
    const known = watches.get(key);
    if (known) return known;
    const made = new SharedWatch(parts, watched, () => watches.delete(key));
    watches.set(key, made);
    return made;
  };
  return {
    /** Reports what it sees until the time is over or the signal is aborted; then it resolves. */
    async follow(
      place: LeasePlace,
      seconds: number,
      onNews: (news: LeaseNews) => void,
      signal: AbortSignal,
    ): Promise<void> {
      if (signal.aborted) return;
      const leave = watchOf(place).join(place, (news) => {
        parts.store.sighted(place, news.record);
        onNews(news);
      });
      await sleep(clock, seconds * 1_000, signal).catch(() => {});
      leave();
    },
    stop(): void {
      for (const watch of watches.values()) watch.stop();
      watches.clear();
    },
  };
}

interface WatchScope {
  /** null: all. */
  readonly namespace: string | null;
  readonly fieldSelector?: string;
}

const allNamespaces = { key: '', namespace: null } as const;

function scopeOf(
  breadth: FollowerParts['breadth'],
  { namespace, name }: LeasePlace,
): WatchScope & { readonly key: string } {
  return breadth === 'namespace'
    ? { key: namespace, namespace }
    : { key: `${namespace}/${name}`, namespace, fieldSelector: `metadata.name=${name}` };
}

interface SeenObject {
  readonly place: LeasePlace;
  readonly news: LeaseNews;
}

const keyOf = ({ namespace, name }: LeasePlace) => `${namespace}/${name}`;

interface Followed {
  readonly place: LeasePlace;
  readonly listeners: Set<(news: LeaseNews) => void>;
}

/** One watch, shared by all followers of Leases in its scope. */
class SharedWatch {
  readonly #parts: FollowerParts;
  readonly #scope: WatchScope;
  readonly #onEnd: () => void;
  readonly #followed = new Map<string, Followed>();
  readonly #last = new Map<string, LeaseNews>();
  readonly #stopping = new AbortController();
  readonly #polling: ReturnType<typeof createPolling>;
  readonly #watch: { stop(): void };
  #isListed = false;
  #linger: Timer | null = null;

  constructor(parts: FollowerParts, scope: WatchScope, onEnd: () => void) {
    this.#parts = parts;
    this.#scope = scope;
    this.#onEnd = onEnd;
    this.#polling = createPolling(parts.clock, () => {
      for (const { place } of this.#followed.values()) void this.#ask(place);
    });
    const sink: ObjectSink<SeenObject> = {
      read: seenObject,
      onReplace: (objects) => this.#replace(objects),
      onEvent: (type, { place, news }) =>
        this.#say({ place, news: type === 'DELETED' ? { ...news, record: null } : news }),
    };
    this.#watch = startWatch(parts, {
      resource: leases,
      ...scope,
      sink,
      onRestart: (code) => {
        if (code === 'KUBE_REFUSED') this.#polling.begin();
      },
    });
  }

  /** @returns a function that ends it */
  join(place: LeasePlace, onNews: (news: LeaseNews) => void): () => void {
    this.#linger?.cancel();
    const key = keyOf(place);
    const one = this.#followed.get(key) ?? { place, listeners: new Set() };
    one.listeners.add(onNews);
    this.#followed.set(key, one);
    const news = this.#last.get(key);
    if (news !== undefined) onNews(news);
    else if (this.#isListed) void this.#ask(place);
    return () => this.#leave(one, onNews);
  }

  stop(): void {
    this.#stopping.abort(new Error('nobody follows'));
    this.#polling.end();
    this.#linger?.cancel();
    this.#watch.stop();
  }

  #leave({ place, listeners }: Followed, onNews: (news: LeaseNews) => void): void {
    const key = keyOf(place);
    listeners.delete(onNews);
    if (listeners.size > 0) return;
    this.#followed.delete(key);
    if (this.#scope.namespace === null) this.#last.delete(key);
    if (this.#followed.size > 0 || this.#stopping.signal.aborted) return;
    this.#linger = this.#parts.clock.after(lingerMs, () => {
      this.#onEnd();
      this.stop();
    });
  }

  #replace(objects: readonly SeenObject[]): void {
    this.#polling.end();
    this.#isListed = true;
    for (const object of objects) this.#say(object);
    const present = new Set(objects.map(({ place }) => keyOf(place)));
    for (const key of this.#last.keys()) if (!present.has(key)) this.#last.delete(key);
    for (const [key, { place }] of this.#followed) if (!present.has(key)) void this.#ask(place);
  }

  #say({ place, news }: SeenObject): void {
    const key = keyOf(place);
    const one = this.#followed.get(key);
    // In a watch of all namespaces, only followed Leases are kept: most Leases are heartbeats of nodes.
    if (one !== undefined || this.#scope.namespace !== null) this.#last.set(key, news);
    for (const listener of one?.listeners ?? []) listener(news);
  }

  /**
   * Reads one Lease by itself, so that nobody is told that it is missing because a list was older than a
   * write. The answer may be older than what was written or heard since the question.
   */
  async #ask(place: LeasePlace): Promise<void> {
    const { store, log } = this.#parts;
    const before = store.writesOf(place);
    const key = keyOf(place);
    const last = this.#last.get(key);
    try {
      const seen = await store.read(place, this.#stopping.signal);
      if (store.writesOf(place) !== before || this.#last.get(key) !== last) return;
      this.#say({ place, news: seen ?? { record: null, resourceVersion: null } });
    } catch (thrown) {
      log.debug({ lease: key, error: asError(thrown).message }, 'a Lease cannot be read');
    }
  }
}

/** Calls at once and every `pollMs`, from `begin` to `end`. */
function createPolling(clock: Clock, ask: () => void): { begin(): void; end(): void } {
  let timer: Timer | null = null;
  const poll = () => {
    ask();
    timer = clock.after(pollMs, poll);
  };
  return {
    begin: () => void (timer === null && poll()),
    end() {
      timer?.cancel();
      timer = null;
    },
  };
}

function seenObject(object: KubeObject): SeenObject {
  const { namespace = '', name, resourceVersion = null } = object.metadata;
  return { place: { namespace, name }, news: { record: leaseRecordOf(object), resourceVersion } };
}
