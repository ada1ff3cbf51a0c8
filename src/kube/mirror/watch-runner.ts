/**
 * Runs the effects of the watch chart (machines/watch/watch.ts): requests pages, reads the stream, and passes
 * objects to a sink.
 *
 * Owns the requests of one watch: never two at a time but for the next page of a list, which is on its way
 * while one is read; the older one is abandoned. Promises: `onReplace` gets complete lists only; objects of
 * an abandoned request reach nobody; an unreadable object, or an exception in the sink, costs that object
 * only (I8). Objects are read when their page arrives, so at most two pages of them are in memory in full.
 * Versions that go back (a cluster restored from a backup) end the stream as expired, so that everything is
 * listed again: the API server does not report this, and sends nothing to a watch from a future version. So
 * the present version is asked for where a stream ends without news, and before one is opened after a
 * failure. Absent: when to request what, which the chart decides.
 */

import { asError, type ErrorCode, hasCode, OrreryError, retryAfterOf } from '../../base/errors.ts';
import type { KubeList, KubeObject, KubePort, KubeResource, KubeWatchEvent } from '../../base/kube-port.ts';
import { limits } from '../../base/limits.ts';
import type { Ambient } from '../../base/log-port.ts';
import { isOlderVersion } from '../../base/resource-version.ts';
import type {
  WatchEffect,
  WatchEvent,
  WatchFailed,
  WatchList,
  WatchOpen,
} from '../../machines/watch/watch.ts';

/** Where objects go; `T` is what is kept of one. */
export interface ObjectSink<T> {
  /** What is kept of the object. An exception is logged, and the object counts as absent. */
  read(object: KubeObject): T;
  /** The full list, as of one version. */
  onReplace(objects: readonly T[]): void;
  onEvent(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void;
}

export interface WatchRunnerParts<T> extends Pick<Ambient, 'clock' | 'log'> {
  readonly kube: KubePort;
  readonly resource: KubeResource;
  /** Absent: the whole cluster. */
  readonly namespace?: string;
  /** Absent: all objects. */
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  readonly sink: ObjectSink<T>;
  /** Called for each failed page or stream. */
  readonly onRestart: (code: ErrorCode) => void;
}

export type RunWatchEffect = (
  effect: WatchEffect,
  run: { readonly signal: AbortSignal; readonly emit: (event: WatchEvent) => void },
) => Promise<WatchEvent>;

/** How often, at most, the chart is told the stream's position; the outcome tells it exactly. */
const reportEveryMs = 1_000;

export function createWatchRunner<T>(parts: WatchRunnerParts<T>): RunWatchEffect {
  const lister = createLister(parts);
  let current = new AbortController();
  /** The API server may have been started again since, on an etcd that was restored. */
  let hasBrokenOff = false;

  const open = async (
    effect: WatchOpen,
    signal: AbortSignal,
    emit: (event: WatchEvent) => void,
  ): Promise<WatchEvent> => {
    const { attempt } = effect;
    const stream = follow(effect, signal, parts, emit);
    try {
      if (hasBrokenOff) await lookBack(parts, effect.resourceVersion, signal);
      hasBrokenOff = false;
      const both = AbortSignal.any([signal, stream.wentBack]);
      await parts.kube.watch(parts.resource, stream.parts, stream.onEvent, both);
      // Nothing came, not even a bookmark: nothing has happened, or the version is a future one.
      if (stream.resourceVersion === effect.resourceVersion)
        await lookBack(parts, effect.resourceVersion, signal);
      return { type: 'watch.ended', attempt, resourceVersion: stream.resourceVersion };
    } catch (thrown) {
      hasBrokenOff = !signal.aborted;
      const reason = stream.wentBack.aborted ? stream.wentBack.reason : thrown;
      return failed(attempt, reason, stream.resourceVersion, parts);
    }
  };

  return async (effect, { signal, emit }) => {
    current.abort(new OrreryError('KUBE_UNREACHABLE', 'another request follows'));
    current = new AbortController();
    if (effect.type === 'watch.open') return open(effect, AbortSignal.any([signal, current.signal]), emit);
    try {
      const requested = lister.request(effect.page, signal);
      current = requested.stop;
      return await lister.read(effect, requested, signal);
    } catch (thrown) {
      return failed(effect.attempt, thrown, null, parts);
    }
  };
}

/** A page on its way. */
interface Requested {
  readonly page: string;
  readonly stop: AbortController;
  readonly answer: Promise<KubeList>;
}

/** Reads lists page by page, each next page on its way while one is read. */
function createLister<T>(parts: WatchRunnerParts<T>) {
  let pages: { items: T[]; resourceVersion: string } | undefined;
  let ahead: Requested | undefined;

  const ask = (page: string, signal: AbortSignal): Requested => {
    const from = page === '' ? {} : { continue: page };
    const options = { limit: limits.kubePageObjects, ...scopeOf(parts), ...from };
    const stop = new AbortController();
    const answer = parts.kube.list(parts.resource, options, AbortSignal.any([signal, stop.signal]));
    // Whoever reads the page learns of it.
    answer.catch(() => undefined);
    return { page, stop, answer };
  };
  return {
    /** The page may have been requested already. @param signal ends the whole watch */
    request(page: string, signal: AbortSignal): Requested {
      const next = ahead;
      ahead = undefined;
      if (next?.page === page) return next;
      next?.stop.abort(new OrreryError('KUBE_UNREACHABLE', 'another list follows'));
      return ask(page, signal);
    },
    async read({ attempt, page }: WatchList, requested: Requested, signal: AbortSignal): Promise<WatchEvent> {
      const answer = await requested.answer;
      // Abandoned while the answer was in transit: nobody may see it.
      AbortSignal.any([signal, requested.stop.signal]).throwIfAborted();
      // The first page's version: the watch replays whatever happened while the others were read.
      if (page === '') pages = { items: [], resourceVersion: answer.resourceVersion };
      if (pages === undefined) throw new OrreryError('KUBE_EXPIRED', 'the earlier pages are no longer held');
      const { items, resourceVersion } = pages;
      if (answer.continue !== '') ahead = ask(answer.continue, signal);
      for (const object of answer.items) items.push(...readOne(object, parts));
      if (answer.continue === '') {
        pages = undefined;
        parts.sink.onReplace(items);
      }
      const objects = answer.items.length;
      return { type: 'watch.page.listed', attempt, page: answer.continue, resourceVersion, objects };
    },
  };
}

/** Which objects to request. */
function scopeOf<T>({ namespace, fieldSelector, labelSelector }: WatchRunnerParts<T>) {
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
  };
}

/**
 * Compares with the present version, by a list of one object.
 *
 * @throws OrreryError KUBE_EXPIRED, KUBE_UNREACHABLE
 */
async function lookBack<T>(parts: WatchRunnerParts<T>, from: string, signal: AbortSignal): Promise<void> {
  const { kube, resource, namespace, log } = parts;
  let now: string;
  try {
    const place = namespace === undefined ? {} : { namespace };
    now = (await kube.list(resource, { limit: 1, ...place }, signal)).resourceVersion;
  } catch (thrown) {
    if (hasCode(thrown, 'KUBE_UNREACHABLE')) throw thrown;
    // The next stream asks again.
    log.debug({ resource: resource.plural, error: asError(thrown).message }, 'the version is not known');
    return;
  }
  if (isOlderVersion(now, from)) throw wentBackError(now, from);
}

/** One stream: passes objects to the sink and reports its position to the chart from time to time. */
function follow<T>(
  { attempt, resourceVersion: from, timeoutSeconds }: WatchOpen,
  signal: AbortSignal,
  parts: WatchRunnerParts<T>,
  emit: (event: WatchEvent) => void,
) {
  const { clock, sink } = parts;
  let resourceVersion = from;
  let reportedAt = Number.NEGATIVE_INFINITY;
  const back = new AbortController();
  return {
    /** Aborted when an event is older than the one before. */
    wentBack: back.signal,
    parts: {
      resourceVersion: from,
      timeoutSeconds,
      ...scopeOf(parts),
      onOpen: () => {
        if (!signal.aborted) emit({ type: 'watch.opened', attempt });
      },
    },
    get resourceVersion() {
      return resourceVersion;
    },
    onEvent(event: KubeWatchEvent) {
      if (signal.aborted || back.signal.aborted) return;
      const version = versionOf(event);
      if (isOlderVersion(version, resourceVersion)) {
        back.abort(wentBackError(version ?? '', resourceVersion));
        return;
      }
      if (event.type !== 'BOOKMARK') {
        for (const object of readOne(event.object, parts))
          guarded(parts, event.object, () => sink.onEvent(event.type, object));
      }
      resourceVersion = version ?? resourceVersion;
      const now = clock.monotonic();
      if (now - reportedAt < reportEveryMs) return;
      reportedAt = now;
      emit({ type: 'watch.advanced', attempt, resourceVersion });
    },
  };
}

function wentBackError(version: string, from: string): OrreryError {
  return new OrreryError(
    'KUBE_EXPIRED',
    `versions went back from ${from} to ${version}: was the cluster restored?`,
  );
}

function versionOf(event: KubeWatchEvent): string | undefined {
  return event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
}

function readOne<T>(object: KubeObject, { sink, log, resource }: WatchRunnerParts<T>): T[] {
  try {
    return [sink.read(object)];
  } catch (thrown) {
    const { namespace, name } = object.metadata;
    log.warn(
      { resource: resource.plural, namespace, name, error: asError(thrown).message },
      'an object is left out',
    );
    return [];
  }
}

function guarded<T>(
  { log, resource }: WatchRunnerParts<T>,
  { metadata: { namespace, name } }: KubeObject,
  take: () => void,
): void {
  try {
    take();
  } catch (thrown) {
    log.warn(
      { resource: resource.plural, namespace, name, error: asError(thrown).message },
      'what was seen could not be taken: actors act on what the object was before, until it changes or is listed again. Report it: it is a fault of Orrery',
    );
  }
}

function failed<T>(
  attempt: number,
  thrown: unknown,
  resourceVersion: string | null,
  { onRestart, log, resource, namespace }: WatchRunnerParts<T>,
): WatchFailed {
  const error = asError(thrown);
  const code = error instanceof OrreryError ? error.code : 'INVARIANT';
  if (!(error instanceof OrreryError && error.facts.aborted === true)) {
    onRestart(code);
    const level = code === 'KUBE_REFUSED' ? 'warn' : 'info';
    log[level]({ resource: resource.plural, namespace, code, error: error.message }, 'restarting a watch');
  }
  return {
    type: 'watch.failed',
    attempt,
    code,
    message: error.message,
    retryAfterMs: retryAfterOf(error),
    resourceVersion,
  };
}
