/**
 * Follows Leases: says how each one is and whenever it changes, within milliseconds.
 *
 * One list/watch for each namespace in which Leases are followed, shared by all that follow there; or, for
 * who cares for a single Lease and may read no other, one of that object. Where listing or watching is
 * forbidden, the Leases are read every `pollMs` instead. Promises: a Lease is said to be missing only if a
 * read of its own says so and nothing was written around it. Absent: what a change means. Why there is no
 * mirror of Leases: docs/decisions/0003-following-leases.md
 */

import { type Clock, sleep, type Timer } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import type { KubeObject, KubePort } from '../../base/kube-port.ts';
import type { Log } from '../../base/log-port.ts';
import type { Random } from '../../base/random.ts';
import { startWatch } from '../../kube/mirror/start-watch.ts';
import type { ObjectSink } from '../../kube/mirror/watch-runner.ts';
import type { LeasePlace } from '../../machines/election/lease-record.ts';
import { type LeaseStore, leaseRecordOf, type SeenLease } from './lease.ts';
import { leases } from './resources.ts';

/** null: there is none. `resourceVersion`: null where no version of the missing Lease is known. */
export interface LeaseNews {
  readonly record: SeenLease['record'] | null;
  readonly resourceVersion: string | null;
}

export interface LeaseFollower {
  /** Says what it sees until the time is over or the signal is aborted; then it resolves. */
  follow(
    place: LeasePlace,
    seconds: number,
    onNews: (news: LeaseNews) => void,
    signal: AbortSignal,
  ): Promise<void>;
  stop(): void;
}

/** As often as client-go looks at a Lease of somebody else. */
const pollMs = 2_000;
/** Whoever follows on asks again at once; a watch is not ended meanwhile. */
const lingerMs = 10_000;

export interface FollowerParts {
  readonly kube: KubePort;
  readonly store: LeaseStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Whether a watch is of a whole namespace, shared, or of one object. */
  readonly breadth: 'namespace' | 'object';
}

export function createLeaseFollower(parts: FollowerParts): LeaseFollower {
  const { clock, breadth } = parts;
  const watches = new Map<string, SharedWatch>();
  const watchOf = (place: LeasePlace): SharedWatch => {
    const key = breadth === 'namespace' ? place.namespace : `${place.namespace}/${place.name}`;
    const known = watches.get(key);
    if (known) return known;
    const made = startShared(parts, place, () => watches.delete(key));
    watches.set(key, made);
    return made;
  };
  return {
    async follow(place, seconds, onNews, signal) {
      if (signal.aborted) return;
      const leave = watchOf(place).join(place.name, (news) => {
        parts.store.sighted(place, news.record);
        onNews(news);
      });
      await sleep(clock, seconds * 1_000, signal).catch(() => {});
      leave();
    },
    stop() {
      for (const watch of watches.values()) watch.stop();
      watches.clear();
    },
  };
}

interface SharedWatch {
  /** @returns ends it */
  join(name: string, onNews: (news: LeaseNews) => void): () => void;
  stop(): void;
}

interface SeenObject {
  readonly name: string;
  readonly news: LeaseNews;
}

function startShared(parts: FollowerParts, place: LeasePlace, onEnd: () => void): SharedWatch {
  const { store, clock, log, breadth } = parts;
  const { namespace } = place;
  const listeners = new Map<string, Set<(news: LeaseNews) => void>>();
  const last = new Map<string, LeaseNews>();
  const stopping = new AbortController();
  let isListed = false;
  let linger: Timer | null = null;
  let polling: Timer | null = null;

  const say = ({ name, news }: SeenObject) => {
    last.set(name, news);
    for (const listener of listeners.get(name) ?? []) listener(news);
  };
  /** Asks for one Lease by itself: nobody is told that it is missing because a list was older than a write. */
  const ask = async (name: string) => {
    const one = { namespace, name };
    const before = store.writesOf(one);
    try {
      const seen = await store.read(one, stopping.signal);
      if (store.writesOf(one) !== before) return;
      say({ name, news: seen ?? { record: null, resourceVersion: null } });
    } catch (thrown) {
      log.debug({ lease: `${namespace}/${name}`, error: asError(thrown).message }, 'a Lease cannot be read');
    }
  };
  const poll = () => {
    for (const name of listeners.keys()) void ask(name);
    polling = clock.after(pollMs, poll);
  };
  const endPolling = () => {
    polling?.cancel();
    polling = null;
  };
  const sink: ObjectSink<SeenObject> = {
    read: seenObject,
    onReplace(objects) {
      endPolling();
      isListed = true;
      for (const object of objects) say(object);
      const present = new Set(objects.map(({ name }) => name));
      for (const name of last.keys()) if (!present.has(name)) last.delete(name);
      for (const name of listeners.keys()) if (!present.has(name)) void ask(name);
    },
    onEvent: (type, { name, news }) =>
      say({ name, news: type === 'DELETED' ? { ...news, record: null } : news }),
  };
  const watch = startWatch(parts, {
    resource: leases,
    namespace,
    ...(breadth === 'object' ? { fieldSelector: `metadata.name=${place.name}` } : {}),
    sink,
    onRestart(code) {
      if (code === 'KUBE_REFUSED' && polling === null) poll();
    },
  });
  const stop = () => {
    stopping.abort(new Error('nobody follows'));
    endPolling();
    linger?.cancel();
    watch.stop();
  };

  return {
    stop,
    join(name, onNews) {
      linger?.cancel();
      const known = listeners.get(name) ?? new Set();
      listeners.set(name, known.add(onNews));
      const news = last.get(name);
      if (news !== undefined) onNews(news);
      else if (isListed) void ask(name);
      return () => {
        known.delete(onNews);
        if (known.size === 0) listeners.delete(name);
        if (listeners.size > 0 || stopping.signal.aborted) return;
        linger = clock.after(lingerMs, () => {
          onEnd();
          stop();
        });
      };
    },
  };
}

function seenObject(object: KubeObject): SeenObject {
  const { name, resourceVersion = null } = object.metadata;
  return { name, news: { record: leaseRecordOf(object), resourceVersion } };
}
