/**
 * The development cluster's own list and watch: a copy of one resource that follows the API server for ever.
 *
 * Owns one resource's copy. Promises: `onChange` is called once for each change, in order. An object that
 * came back under its old name with a new uid is reported as gone first. A broken watch continues where it
 * stopped; an expired one (410), or one of a cluster that was restored to an earlier version, lists again and
 * reports the differences. Absent: paging back-pressure, resync
 * timers, sharing between processes.
 */
import { sleep } from '../../../src/base/clock.ts';
import { asError, hasCode } from '../../../src/base/errors.ts';
import type { KubeObject, KubeResource, KubeWatchEvent } from '../../../src/base/kube-port.ts';
import { jittered } from '../../../src/base/random.ts';
import { isOlderVersion } from '../../../src/base/resource-version.ts';
import { clusterLimits } from '../limits.ts';
import { keyOf } from '../objects.ts';
import type { DevPart, DevParts } from '../parts.ts';
import { createObjectCopy } from './object-copy.ts';

export type Change<T> =
  | { readonly type: 'set'; readonly object: T; readonly previous: T | undefined }
  | {
      readonly type: 'gone';
      /** As it was known. */
      readonly object: T;
      /** The version at which it went; absent if a list or its successor revealed that. */
      readonly version?: string;
    };

export interface Informer<T extends KubeObject> extends DevPart {
  /** Resolves after the first list has been reported. */
  readonly synced: Promise<void>;
  get(key: string): T | undefined;
  all(): T[];
  /** The objects for which `groupOf` returns this group. */
  inGroup(group: string): T[];
  /** Takes the API server's answer to one of our writes, so that the copy never lags behind it. */
  put(object: KubeObject): void;
}

export interface InformerParts<T> extends DevParts {
  readonly resource: KubeResource;
  readonly labelSelector?: string;
  /** Objects of one group are found without a look at all; default: one group for all. */
  readonly groupOf?: (object: T) => string;
  readonly onChange?: (change: Change<T>) => void;
}

export function startInformer<T extends KubeObject>(parts: InformerParts<T>): Informer<T> {
  const { clock, random, log, resource } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  const copy = createObjectCopy<T>(parts.groupOf ?? (() => ''));
  const graves = new Set<string>();
  const sync = Promise.withResolvers<void>();
  const report = (change: Change<T>) => parts.onChange?.(change);
  const bury = (uid = '') => {
    graves.add(uid);
    if (graves.size > clusterLimits.tombstones) graves.delete(graves.values().next().value ?? '');
  };
  const forget = (key: string, version?: string) => {
    const object = copy.delete(key);
    if (object === undefined) return;
    bury(object.metadata.uid);
    report({ type: 'gone', object, ...(version === undefined ? {} : { version }) });
  };
  /** @param isRight whatever is held: a list said so, later than that or of another history */
  const take = (object: KubeObject, isRight = false) => {
    const key = keyOf(object);
    const held = copy.get(key);
    if (isRight) graves.delete(object.metadata.uid ?? '');
    // The answer to one of our writes may come after the watch reported the object's end.
    if (graves.has(object.metadata.uid ?? '')) return;
    if (!isRight && held !== undefined && !isNewer(object, held.metadata.resourceVersion)) return;
    if (held !== undefined && held.metadata.uid !== object.metadata.uid) forget(key);
    const previous = copy.get(key);
    // What the API server stores under this resource has this shape; each field of the type is optional.
    copy.set(key, object as T);
    report({ type: 'set', object: object as T, previous });
  };
  const drop = (object: KubeObject) => {
    const { uid, resourceVersion } = object.metadata;
    if (copy.get(keyOf(object))?.metadata.uid === uid) forget(keyOf(object), resourceVersion);
  };

  /** The newest version that was heard of. */
  let latest: string | undefined;
  const isRestored = (now: { readonly resourceVersion: string }) =>
    isOlderVersion(now.resourceVersion, latest);
  const relist = async (): Promise<string> => {
    const seen = new Set<string>();
    const scope = scopeOf(parts);
    let next = '';
    for (;;) {
      const page = await parts.kube.list(
        resource,
        { ...scope, limit: clusterLimits.listPage, ...(next === '' ? {} : { continue: next }) },
        signal,
      );
      for (const item of page.items) {
        const key = keyOf(item);
        seen.add(key);
        const held = copy.get(key);
        const isOther = held?.metadata.resourceVersion !== item.metadata.resourceVersion;
        const isEarlier = held !== undefined && !isNewer(held, page.resourceVersion);
        take(item, isRestored(page) || (isOther && isEarlier));
      }
      next = page.continue;
      if (next !== '') continue;
      for (const [key, object] of copy.entries())
        if (!seen.has(key) && (isRestored(page) || !isNewer(object, page.resourceVersion))) forget(key);
      latest = page.resourceVersion;
      return latest;
    }
  };

  const follow = async (from: string): Promise<void> => {
    const onEvent = (event: KubeWatchEvent) => {
      if (signal.aborted) return;
      version = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
      latest = version;
      if (event.type === 'DELETED') drop(event.object);
      else if (event.type !== 'BOOKMARK') take(event.object);
      failures = 0;
    };
    const scope = scopeOf(parts);
    const timeoutSeconds = clusterLimits.watchSeconds;
    await parts.kube.watch(resource, { ...scope, resourceVersion: from, timeoutSeconds }, onEvent, signal);
  };

  let version: string | undefined;
  let failures = 0;
  /** The API server may have been started again since, on an etcd that was restored. */
  let hasBrokenOff = false;
  const present = () => parts.kube.list(resource, { ...scopeOf(parts), limit: 1 }, signal);
  const run = async () => {
    while (!signal.aborted) {
      const began = clock.monotonic();
      try {
        if (version !== undefined && hasBrokenOff && isRestored(await present())) version = undefined;
        hasBrokenOff = false;
        version ??= await relist();
        sync.resolve();
        await follow(version);
        hasBrokenOff = clock.monotonic() - began < 1_000;
        if (hasBrokenOff) failures += 1;
      } catch (thrown) {
        if (signal.aborted) return;
        failures += 1;
        hasBrokenOff = true;
        if (hasCode(thrown, 'KUBE_EXPIRED')) version = undefined;
        log.debug({ resource: resource.plural, error: asError(thrown).message }, 'watch broke; going on');
      }
      if (failures > 0) await sleep(clock, backOffMs(failures), signal).catch(() => {});
    }
  };
  const backOffMs = (count: number) =>
    jittered(Math.min(100 * 2 ** (count - 1), clusterLimits.retryMaxMs), 0.3, random);
  const running = run();

  return {
    synced: sync.promise,
    get: copy.get,
    all: copy.all,
    inGroup: copy.inGroup,
    put: take,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

function scopeOf(parts: { namespace?: string; labelSelector?: string }) {
  return {
    ...(parts.namespace === undefined ? {} : { namespace: parts.namespace }),
    ...(parts.labelSelector === undefined ? {} : { labelSelector: parts.labelSelector }),
  };
}

/** Whether the object is certainly of a later version. */
function isNewer({ metadata }: KubeObject, version: string | undefined): boolean {
  return isOlderVersion(version, metadata.resourceVersion);
}
