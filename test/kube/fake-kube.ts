/**
 * A Kubernetes API in memory behind the port: objects of several resources, lists, watches and discovery, no
 * HTTP.
 *
 * Every change reaches the open watches at once. `failing` says what must fail.
 */
import { OrreryError } from '../../src/base/errors.ts';
import type { KubeObject, KubePort, KubeResource, KubeWatchEvent } from '../../src/base/kube-port.ts';

interface Watcher {
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly onEvent: (event: KubeWatchEvent) => void;
  /** Nothing up to this version is sent, as with the API server. */
  readonly from: number;
  /** Breaks it off. */
  readonly end: () => void;
  /** Ends it in good order. */
  readonly finish: () => void;
}

interface Change {
  readonly version: number;
  readonly resource: string;
  readonly event: KubeWatchEvent & { readonly object: KubeObject };
}

export class FakeKube implements KubePort {
  /** Thrown by the next list or watch of a resource; asked each time. */
  failing: (call: 'list' | 'watch' | 'resolve', resource: string) => OrreryError | undefined = () =>
    undefined;
  /** The answer to a list waits for this after the list was read. */
  delaying: (resource: string) => Promise<void> | undefined = () => undefined;
  /** false: watches are also sent what is older than they asked for. */
  isOrderly = true;
  /** Kinds that discovery knows. */
  readonly kinds: KubeResource[] = [];
  /** Lists that were answered, by resource. */
  readonly lists: Array<{ readonly resource: string; readonly namespace: string | undefined }> = [];
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #changes: Change[] = [];
  readonly #watchers = new Set<Watcher>();
  #version = 0;
  #uids = 0;

  /** Creates or changes an object; `metadata` is completed. */
  put(
    resource: KubeResource,
    namespace: string,
    name: string,
    fields: Record<string, unknown> = {},
  ): KubeObject {
    const objects = this.all(resource);
    const before = objects.get(`${namespace}/${name}`);
    const { labels, generation, uid, ...rest } = fields as {
      labels?: Record<string, string>;
      generation?: number;
      uid?: string;
    };
    const object: KubeObject = {
      metadata: {
        name,
        ...(namespace === '' ? {} : { namespace }),
        uid: uid ?? before?.metadata.uid ?? `uid-${++this.#uids}`,
        resourceVersion: `${++this.#version}`,
        ...(labels === undefined ? {} : { labels }),
        ...(generation === undefined ? {} : { generation }),
      },
      ...rest,
    };
    objects.set(`${namespace}/${name}`, object);
    this.#tell(resource, { type: before === undefined ? 'ADDED' : 'MODIFIED', object });
    return object;
  }

  remove(resource: KubeResource, namespace: string, name: string): void {
    const objects = this.all(resource);
    const before = objects.get(`${namespace}/${name}`);
    if (before === undefined) return;
    objects.delete(`${namespace}/${name}`);
    const metadata = { ...before.metadata, resourceVersion: `${++this.#version}` };
    this.#tell(resource, { type: 'DELETED', object: { ...before, metadata } });
  }

  all({ group, plural }: KubeResource): Map<string, KubeObject> {
    const key = `${group}/${plural}`;
    const objects = this.#objects.get(key) ?? new Map<string, KubeObject>();
    this.#objects.set(key, objects);
    return objects;
  }

  /** Breaks every watch; `compacted`: also forgets history. */
  breakWatches(compacted = false): void {
    if (compacted) this.#changes.length = 0;
    for (const { end } of this.#watchers) end();
    this.#watchers.clear();
  }

  /** Ends every watch as at the end of its time. */
  finishWatches(): void {
    for (const { finish } of this.#watchers) finish();
    this.#watchers.clear();
  }

  /** @returns a function that restores the present state, versions included: etcd restored from a backup */
  backup(): () => void {
    const version = this.#version;
    const objects = [...this.#objects].map(([key, held]) => [key, new Map(held)] as const);
    return () => {
      this.#version = version;
      this.#changes.length = 0;
      this.#objects.clear();
      for (const [key, held] of objects) this.#objects.set(key, new Map(held));
    };
  }

  get openWatches(): number {
    return this.#watchers.size;
  }

  /** Objects in one page of a list. */
  pageSize = 500;

  list: KubePort['list'] = async (resource, { namespace, continue: page = '0' }, signal) => {
    signal.throwIfAborted();
    const failure = this.failing('list', resource.plural);
    if (failure) throw failure;
    this.lists.push({ resource: resource.plural, namespace });
    const all = [...this.all(resource).values()].filter(
      (one) => namespace === undefined || one.metadata.namespace === namespace,
    );
    const next = Number(page) + this.pageSize;
    const answer = {
      resourceVersion: `${this.#version}`,
      continue: next < all.length ? `${next}` : '',
      items: all.slice(Number(page), next),
    };
    await this.delaying(resource.plural);
    return answer;
  };

  watch: KubePort['watch'] = (resource, { namespace, resourceVersion, onOpen }, onEvent, signal) =>
    new Promise((resolve, reject) => {
      const failure = this.failing('watch', resource.plural);
      if (failure) return reject(failure);
      const from = Number(resourceVersion);
      const oldest = this.#changes[0]?.version ?? this.#version + 1;
      if (from < oldest - 1 && from < this.#version)
        return reject(new OrreryError('KUBE_EXPIRED', 'too old'));
      const key = `${resource.group}/${resource.plural}`;
      const end = () => reject(new OrreryError('KUBE_UNREACHABLE', 'the connection broke'));
      const watcher: Watcher = { resource: key, namespace, onEvent, from, end, finish: resolve };
      onOpen?.();
      for (const change of this.#changes) if (change.version > from) deliver(watcher, change);
      this.#watchers.add(watcher);
      signal.addEventListener('abort', () => {
        this.#watchers.delete(watcher);
        reject(signal.reason);
      });
    });

  resolve: KubePort['resolve'] = async (apiVersion, kind) => {
    const failure = this.failing('resolve', kind);
    if (failure) throw failure;
    const found = this.kinds.find((one) => one.kind === kind && `${one.group}/${one.version}` === apiVersion);
    if (found === undefined) throw new OrreryError('KUBE_NOT_FOUND', `${apiVersion} has no kind ${kind}`);
    return found;
  };

  get: KubePort['get'] = async (resource, namespace, name) => {
    const object = this.all(resource).get(`${namespace ?? ''}/${name}`);
    if (object === undefined) throw new OrreryError('KUBE_NOT_FOUND', `there is no ${name}`);
    return object;
  };

  create: KubePort['create'] = () => unused();
  ask: KubePort['ask'] = () => unused();
  replace: KubePort['replace'] = () => unused();
  patch: KubePort['patch'] = () => unused();
  delete: KubePort['delete'] = () => unused();

  #tell({ group, plural }: KubeResource, event: Change['event']): void {
    const change = { version: this.#version, resource: `${group}/${plural}`, event };
    this.#changes.push(change);
    for (const watcher of this.#watchers) deliver(this.isOrderly ? watcher : { ...watcher, from: 0 }, change);
  }
}

function deliver({ resource, namespace, onEvent, from }: Watcher, change: Change): void {
  if (change.resource !== resource || change.version <= from) return;
  if (namespace === undefined || change.event.object.metadata.namespace === namespace) onEvent(change.event);
}

function unused(): never {
  throw new OrreryError('INVARIANT', 'the test does not expect this call');
}
