/**
 * The development cluster's own list and watch: a copy of one resource that follows the API server forever.
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
  const picture = createPicture<T>(parts, signal);
  const { copy } = picture;
  const sync = Promise.withResolvers<void>();

  const follow = async (from: string): Promise<void> => {
    const onEvent = (event: KubeWatchEvent) => {
      if (signal.aborted) return;
      version = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
      picture.heard(version);
      if (event.type === 'DELETED') picture.drop(event.object);
      else if (event.type !== 'BOOKMARK') picture.take(event.object);
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
  const run = async () => {
    while (!signal.aborted) {
      const began = clock.monotonic();
      try {
        if (version !== undefined && hasBrokenOff && (await picture.wentBack())) version = undefined;
        hasBrokenOff = false;
        version ??= await picture.relist();
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
    put: picture.take,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** The copy, and what lists and watches change in it. */
function createPicture<T extends KubeObject>(parts: InformerParts<T>, signal: AbortSignal) {
  const copy = createObjectCopy<T>(parts.groupOf ?? (() => ''));
  const graves = new Set<string>();
  /** The newest version that was heard of. */
  let latest: string | undefined;
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
  const set = (key: string, object: KubeObject) => {
    if (copy.get(key)?.metadata.uid !== object.metadata.uid) forget(key);
    const previous = copy.get(key);
    // What the API server stores under this resource has this shape; each field of the type is optional.
    copy.set(key, object as T);
    report({ type: 'set', object: object as T, previous });
  };
  const take = (object: KubeObject) => {
    const key = keyOf(object);
    // The answer to one of our writes may come after the watch reported the object's end.
    if (graves.has(object.metadata.uid ?? '')) return;
    const held = copy.get(key);
    if (held === undefined || isNewer(object, held.metadata.resourceVersion)) set(key, object);
  };
  const wentBack = (version: string) => isOlderVersion(version, latest);
  const list = {
    ...{ parts, copy, signal, wentBack, forget },
    ...{ set, unbury: (uid = '') => graves.delete(uid) },
  };
  return {
    copy,
    take,
    drop(object: KubeObject): void {
      const { uid, resourceVersion } = object.metadata;
      if (copy.get(keyOf(object))?.metadata.uid === uid) forget(keyOf(object), resourceVersion);
    },
    heard(version: string | undefined): void {
      latest = version;
    },
    /** Whether the cluster was restored to an earlier version. */
    async wentBack(): Promise<boolean> {
      const { resourceVersion } = await parts.kube.list(
        parts.resource,
        { ...scopeOf(parts), limit: 1 },
        signal,
      );
      return wentBack(resourceVersion);
    },
    async relist(): Promise<string> {
      latest = await takeList(list);
      return latest;
    },
  };
}

interface Listing<T extends KubeObject> {
  readonly parts: InformerParts<T>;
  readonly copy: ReturnType<typeof createObjectCopy<T>>;
  readonly signal: AbortSignal;
  wentBack(version: string): boolean;
  forget(key: string): void;
  set(key: string, object: KubeObject): void;
  unbury(uid: string | undefined): void;
}

/**
 * Makes the copy what a list says. Only what is of a later version than the list is kept: an answer to one of
 * our writes.
 *
 * @returns the version of the list
 */
async function takeList<T extends KubeObject>(into: Listing<T>): Promise<string> {
  const { parts, copy, signal } = into;
  const seen = new Set<string>();
  let next = '';
  for (;;) {
    const from = next === '' ? {} : { continue: next };
    const options = { ...scopeOf(parts), limit: clusterLimits.listPage, ...from };
    const page = await parts.kube.list(parts.resource, options, signal);
    const isBack = into.wentBack(page.resourceVersion);
    const isRight = (held: KubeObject) => isBack || !isNewer(held, page.resourceVersion);
    for (const item of page.items) {
      const key = keyOf(item);
      seen.add(key);
      const held = copy.get(key);
      if (held !== undefined && !isRight(held)) continue;
      into.unbury(item.metadata.uid);
      const isOther = held?.metadata.resourceVersion !== item.metadata.resourceVersion;
      if (isBack || isOther) into.set(key, item);
    }
    next = page.continue;
    if (next !== '') continue;
    for (const [key, object] of copy.entries()) if (!seen.has(key) && isRight(object)) into.forget(key);
    return page.resourceVersion;
  }
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
