/**
 * One watch: the present objects (if requested), what has happened since a version, then every change until
 * its time is over.
 *
 * Promises: the three join without gap or repetition, because all of it starts in one step. A bookmark states
 * the version up to which the watcher has heard everything. A watcher that does not read is cut off (I6) and
 * comes back by itself. As in the real server, a version that is too old is reported inside the stream.
 */
import type { Timer } from '../../../src/base/clock.ts';
import { typePrefix } from '../encoding.ts';
import type { Target } from '../http/request.ts';
import { apiLimits } from '../limits.ts';
import { expired } from '../status.ts';
import type { Change } from '../storage/version.ts';
import type { Cluster } from '../verb-parts.ts';
import { selected } from '../verbs/list.ts';
import type { ListOptions } from '../verbs/list-options.ts';
import type { Watcher } from './fanout.ts';
import { addedLine, changeLine, eventLine, eventType } from './watch-lines.ts';

/** Where the lines go. */
export interface WatchSink {
  write(line: Buffer): void;
  /** In good order: what was written still arrives. */
  end(): void;
  /** At once: what the reader has not taken is dropped. */
  cut(): void;
  /** Bytes that were written and that the reader has not taken yet. */
  readonly waitingBytes: number;
  /** Calls back when the connection is closed, whoever closed it. */
  onClose(fn: () => void): void;
}

/** Bookmarks come about once a minute, and this many ms before the end, as in the real server. */
const bookmarkEveryMs = 60_000;
const bookmarkBeforeEndMs = 2_000;

/** A watch without a time of its own lasts at least this long, and at most twice as long, ms. */
const watchLeastMs = 1_800_000;

export function openWatch(cluster: Cluster, target: Target, options: ListOptions, sink: WatchSink): void {
  const stream = new WatchStream(cluster, target, options, sink);
  stream.start();
}

class WatchStream implements Watcher {
  readonly storage: string;
  readonly namespace: string | undefined;
  readonly #cluster: Cluster;
  readonly #target: Target;
  readonly #options: ListOptions;
  readonly #sink: WatchSink;
  readonly #timers = new Set<Timer>();
  /** A watch may be opened for a version that does not exist yet. */
  #fromRevision = 0;
  /** What is sent at the start does not count: the store and its history bound it. */
  #waitingMax = Number.POSITIVE_INFINITY;
  #leave: () => void = () => {};
  #isOpen = true;

  constructor(cluster: Cluster, target: Target, options: ListOptions, sink: WatchSink) {
    this.storage = target.resource.storage;
    this.namespace = target.namespace;
    this.#cluster = cluster;
    this.#target = target;
    this.#options = options;
    this.#sink = sink;
  }

  start(): void {
    const { version } = this.#options;
    this.#fromRevision = version ?? 0;
    if (this.#wantsInitial()) this.#sendInitial();
    else if (version !== undefined && version > 0) this.#replay(version);
    if (!this.#isOpen) return;
    this.#waitingMax = this.#sink.waitingBytes + apiLimits.watchWaitingBytes;
    this.#leave = this.#cluster.fanout.add(this);
    this.#sink.onClose(() => this.#stop());
    this.#startTimers();
  }

  deliver(change: Change): void {
    if (change.revision <= this.#fromRevision) return;
    const type = eventType(change, this.#options.selection.matches);
    if (type === undefined) return;
    this.#sink.write(changeLine(this.#target.resource, change, type));
    if (this.#sink.waitingBytes <= this.#waitingMax) return;
    this.#stop();
    this.#sink.cut();
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#stop();
    this.#sink.end();
  }

  /** Without a version, or with version 0, a watch begins with the present objects. */
  #wantsInitial(): boolean {
    const { version, sendInitialEvents } = this.#options;
    return sendInitialEvents ?? (version === undefined || version === 0);
  }

  #sendInitial(): void {
    this.#fromRevision = 0;
    for (const version of selected(this.#cluster, this.#target, this.#options))
      this.#sink.write(addedLine(this.#target.resource, version));
    if (this.#options.sendInitialEvents && this.#options.allowBookmarks)
      this.#bookmark({ annotations: { 'k8s.io/initial-events-end': 'true' } });
  }

  #replay(version: number): void {
    const { history } = this.#cluster.store.collection(this.storage);
    const changes = history.since(version);
    if (changes === undefined) {
      const error = expired(`too old resource version: ${version} (${history.oldest})`);
      this.#sink.write(eventLine('ERROR', JSON.stringify(error.status())));
      this.close();
      return;
    }
    const isHere = (change: Change) => this.namespace === undefined || change.namespace === this.namespace;
    for (const change of changes) if (isHere(change)) this.deliver(change);
  }

  #startTimers(): void {
    const { clock, random } = this.#cluster;
    const { timeoutSeconds, allowBookmarks } = this.#options;
    const lastsMs = timeoutSeconds ? timeoutSeconds * 1000 : watchLeastMs * (1 + random.next());
    const endsAt = clock.monotonic() + lastsMs;
    this.#after(lastsMs, () => {
      if (allowBookmarks) this.#bookmark({});
      this.close();
    });
    if (allowBookmarks) this.#bookmarkLater(endsAt);
  }

  #bookmarkLater(endsAt: number): void {
    const leftMs = endsAt - this.#cluster.clock.monotonic();
    const beforeEndMs = leftMs - bookmarkBeforeEndMs;
    if (beforeEndMs <= 0) return;
    this.#after(Math.min(bookmarkEveryMs, beforeEndMs), () => {
      this.#bookmark({});
      this.#bookmarkLater(endsAt);
    });
  }

  #bookmark(meta: { annotations?: Record<string, string> }): void {
    const revision = Math.max(this.#cluster.store.revision, this.#fromRevision);
    const metadata = JSON.stringify({ resourceVersion: String(revision), creationTimestamp: null, ...meta });
    this.#sink.write(eventLine('BOOKMARK', `${typePrefix(this.#target.resource)}"metadata":${metadata}}`));
  }

  #after(delayMs: number, fn: () => void): void {
    const timer = this.#cluster.clock.after(delayMs, () => {
      this.#timers.delete(timer);
      if (this.#isOpen) fn();
    });
    this.#timers.add(timer);
  }

  #stop(): void {
    this.#isOpen = false;
    this.#leave();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }
}
