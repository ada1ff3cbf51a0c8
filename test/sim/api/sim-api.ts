/**
 * A simulated Kubernetes API: whole objects with uids, versions and generations, their history, watches, and
 * what goes with its owner (collector.ts).
 *
 * Promises: what the API server promises of preconditions (uid, resourceVersion), of finalizers, of a status
 * that only its subresource changes, and of a write that changes nothing. Absent: the way to it
 * (api-port.ts), schemas, rights; `refuse` decides what else is refused.
 */

import type { Chance } from '../../../packages/testing/time/chance.ts';
import type { SimClock } from '../../../packages/testing/time/sim-clock.ts';
import { equal } from '../../../src/base/equal.ts';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubeMeta, KubeObject, KubeResource, ListOptions } from '../../../src/base/kube-port.ts';
import { kubeTime } from '../../../src/base/kube-time.ts';
import { collectorName, createCollector } from './collector.ts';
import {
  applyPatch,
  copyOf,
  type Fields,
  mergePatch,
  type Owners,
  ownersOf,
  strategicPatch,
  testedPatch,
  withManagers,
} from './patching.ts';
import { isSelected } from './selecting.ts';

/** Of a write's `by`: whether a replica wrote it. */
export const isReplica = (by: string): boolean => /^r\d+$/.test(by);

export interface ApiWrite {
  readonly resource: KubeResource;
  /** null: there was none. */
  readonly before: KubeObject | null;
  /** null: it is gone. */
  readonly after: KubeObject | null;
  /** The replica that wrote it; `world` for anyone else. */
  readonly by: string;
  /** When a watch reported it, wall time ms; absent: now. */
  readonly at?: number;
}

export interface ApiEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
}

interface Watcher {
  readonly key: string;
  readonly selected: Selected;
  readonly onEvent: (event: ApiEvent) => void;
  readonly onBroken: () => void;
}

type Selected = Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'>;

export interface ApiPatch {
  readonly namespace?: string;
  readonly name: string;
  readonly subresource?: string;
  readonly type: string;
  readonly body: unknown;
  readonly fieldManager?: string;
  readonly force?: boolean;
}

/** The API server has etcd forget what is older, ms. */
const historyMs = 300_000;

export class SimApi {
  /** Why a write is refused, by whatever policy the world has; asked after preconditions. */
  refuse: (write: ApiWrite) => OrreryError | null = () => null;
  readonly #clock: SimClock;
  readonly #kinds: readonly KubeResource[];
  readonly #onGone: (uid: string) => void;
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  /** By uid, of objects that somebody applied. */
  readonly #owners = new Map<string, Owners>();
  readonly #watchers = new Set<Watcher>();
  readonly #listeners: Array<(write: ApiWrite) => void> = [];
  #history: Array<{ readonly version: number; readonly at: number; readonly write: ApiWrite }> = [];
  #compactedTo = 0;
  #version = 1;
  #uids = 0;

  /**
   * @param kinds what discovery knows
   * @param chance how fast orphans are collected
   */
  constructor(clock: SimClock, kinds: readonly KubeResource[], chance: Chance) {
    this.#clock = clock;
    this.#kinds = kinds;
    this.#onGone = createCollector(clock, chance, {
      owned: (uid) => [...this.#owned(uid)],
      isOrphan: (object) => this.#isOrphan(object),
      collect: (object) => this.#collect(object),
    });
  }

  onWrite(listener: (write: ApiWrite) => void): void {
    this.#listeners.push(listener);
  }

  /** @throws OrreryError KUBE_NOT_FOUND */
  resolve(apiVersion: string, kind: string): KubeResource {
    const found = this.#kinds.find((one) => one.kind === kind && versionOf(one) === apiVersion);
    if (!found) throw new OrreryError('KUBE_NOT_FOUND', `${apiVersion} has no kind ${kind}`);
    return found;
  }

  find(resource: KubeResource, namespace: string | undefined, name: string): KubeObject | null {
    return this.#of(resource).get(placeKey(resource, namespace, name)) ?? null;
  }

  /** @throws OrreryError KUBE_NOT_FOUND */
  get(resource: KubeResource, namespace: string | undefined, name: string): KubeObject {
    const found = this.find(resource, namespace, name);
    if (found) return found;
    const facts = { status: 404, reason: 'NotFound' };
    throw new OrreryError('KUBE_NOT_FOUND', `${resource.plural} "${name}" not found`, { facts });
  }

  all(resource: KubeResource): readonly KubeObject[] {
    return [...this.#of(resource).values()];
  }

  list(resource: KubeResource, selected: Selected): { version: string; items: readonly KubeObject[] } {
    const items = this.all(resource).filter((one) => isSelected(one, selected));
    return { version: `${this.#version}`, items: items.map(this.#shown) };
  }

  create(resource: KubeResource, { metadata, status: _, ...rest }: KubeObject, by = 'world'): KubeObject {
    const { name, namespace } = metadata;
    if (this.find(resource, namespace, name) !== null)
      throw conflict(`${resource.plural} "${name}" already exists`, 'AlreadyExists');
    return this.#commit(resource, null, { ...rest, metadata: this.#born(resource, metadata) }, by);
  }

  /** @throws OrreryError KUBE_CONFLICT if metadata.resourceVersion is another than the object's */
  replace(resource: KubeResource, object: KubeObject, by = 'world', subresource?: string): KubeObject {
    const before = this.get(resource, object.metadata.namespace, object.metadata.name);
    return this.#change(resource, before, object, by, subresource);
  }

  patch(resource: KubeResource, patch: ApiPatch, by = 'world'): KubeObject {
    const { namespace, name, type, body, subresource } = patch;
    if (type === 'apply') return this.#apply(resource, patch, by);
    const before = this.get(resource, namespace, name);
    if (type === 'json') {
      return this.#change(resource, before, testedPatch(before, body), by, subresource);
    }
    const change = type === 'strategic' ? strategicPatch : mergePatch;
    const after = change(before as Fields, body as Fields) as KubeObject;
    const { uid, resourceVersion } = ((body as Fields).metadata ?? {}) as Partial<KubeMeta>;
    const asked = { uid: uid ?? before.metadata.uid, resourceVersion: resourceVersion ?? '' };
    const metadata = { ...after.metadata, ...asked } as KubeMeta;
    return this.#change(resource, before, { ...after, metadata }, by, subresource);
  }

  remove(
    resource: KubeResource,
    namespace: string | undefined,
    name: string,
    options: { readonly uid?: string; readonly resourceVersion?: string } = {},
    by = 'world',
  ): void {
    const before = this.get(resource, namespace, name);
    checkConditions(before, options.uid, options.resourceVersion);
    if ((before.metadata.finalizers ?? []).length === 0) {
      this.#commit(resource, before, null, by);
      return;
    }
    if (before.metadata.deletionTimestamp !== undefined) return;
    const metadata = { ...before.metadata, deletionTimestamp: kubeTime(this.#clock.now()) };
    this.#commit(resource, before, { ...before, metadata }, by);
  }

  /**
   * @returns a function that ends it; null: that version is no longer known. What happened since is told at
   * once.
   */
  watch(
    resource: KubeResource,
    selected: Selected,
    from: string,
    { onEvent, onBroken }: Pick<Watcher, 'onEvent' | 'onBroken'>,
  ): (() => void) | null {
    if (Number(from) < this.#compactedTo) return null;
    const show: Watcher['onEvent'] = (event) => onEvent({ ...event, object: this.#shown(event.object) });
    const watcher: Watcher = { key: kindKey(resource), selected, onEvent: show, onBroken };
    for (const { version, write } of this.#history) if (version > Number(from)) deliver(watcher, write);
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  readonly #shown = (object: KubeObject) => withManagers(object, this.#owners.get(object.metadata.uid ?? ''));

  /** Every watch breaks; with `isCompacted`, the past is forgotten as well. */
  breakWatches(isCompacted: boolean): void {
    if (isCompacted) {
      this.#history = [];
      this.#compactedTo = this.#version;
    }
    for (const { onBroken } of [...this.#watchers]) onBroken();
    this.#watchers.clear();
  }

  #compact(): void {
    const oldest = this.#clock.monotonic() - historyMs;
    if ((this.#history[0]?.at ?? oldest) >= oldest - historyMs) return;
    const kept = this.#history.findIndex(({ at }) => at >= oldest);
    this.#compactedTo = this.#history[kept - 1]?.version ?? this.#compactedTo;
    this.#history = this.#history.slice(kept);
  }

  #of(resource: KubeResource): Map<string, KubeObject> {
    const key = kindKey(resource);
    const known = this.#objects.get(key);
    if (known) return known;
    const made = new Map<string, KubeObject>();
    this.#objects.set(key, made);
    return made;
  }

  #born({ namespaced }: KubeResource, { name, namespace, labels, annotations, ...rest }: KubeMeta): KubeMeta {
    const { ownerReferences, finalizers } = rest;
    return {
      name,
      ...(namespaced ? { namespace: namespace ?? 'default' } : {}),
      uid: `${String(++this.#uids).padStart(8, '0')}-uid`,
      generation: 1,
      creationTimestamp: kubeTime(this.#clock.now()),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
      ...(finalizers === undefined ? {} : { finalizers }),
    };
  }

  #apply(
    resource: KubeResource,
    { namespace, name, body, fieldManager: manager = '', force = false }: ApiPatch,
    by: string,
  ): KubeObject {
    const before = this.find(resource, namespace, name);
    const { uid, resourceVersion } = ((body as Fields).metadata ?? {}) as Partial<KubeMeta>;
    if (before === null) {
      if (uid !== undefined) throw conflict(`${resource.plural} "${name}": uid mismatch`, 'Conflict');
      const owners: Owners = new Map();
      const made = applyPatch({}, body as Fields, { manager, force, owners }) as KubeObject;
      return this.#appliedBy(this.create(resource, made, by), owners);
    }
    checkConditions(before, uid, resourceVersion);
    const known = this.#owners.get(before.metadata.uid ?? '') ?? ownersOf(before as Fields);
    const owners: Owners = new Map([...known].map(([one, set]) => [one, new Set(set)]));
    const next = applyPatch(before as Fields, body as Fields, {
      manager,
      force,
      owners,
    }) as KubeObject | null;
    if (next === null) throw conflict(`${name}: others set other values`, 'Conflict');
    const after = this.#change(
      resource,
      before,
      { ...next, metadata: { ...next.metadata, resourceVersion: '' } },
      by,
    );
    return this.#appliedBy(after, owners);
  }

  #appliedBy(object: KubeObject, owners: Owners): KubeObject {
    this.#owners.set(object.metadata.uid ?? '', owners);
    return this.#shown(object);
  }

  #change(
    resource: KubeResource,
    before: KubeObject,
    next: KubeObject,
    by: string,
    subresource?: string,
  ): KubeObject {
    const { uid, resourceVersion } = next.metadata;
    checkConditions(before, uid, resourceVersion);
    if (subresource === 'status')
      return this.#commit(resource, before, { ...before, ...part(next, 'status') }, by);
    const { status: _, ...fields } = next;
    const { labels, annotations, ownerReferences, finalizers } = next.metadata;
    const isNew = !equal(next.spec, before.spec);
    const metadata = {
      ...before.metadata,
      ...given({ labels, annotations, ownerReferences, finalizers }),
      ...(isNew ? { generation: (before.metadata.generation ?? 0) + 1 } : {}),
    };
    const after = { ...fields, metadata, ...part(before, 'status') };
    const isOver = metadata.deletionTimestamp !== undefined && (finalizers ?? []).length === 0;
    return this.#commit(resource, before, isOver ? null : after, by);
  }

  #commit(
    resource: KubeResource,
    before: KubeObject | null,
    next: KubeObject | null,
    by: string,
  ): KubeObject {
    if (before !== null && next !== null && equal(before, next)) return before;
    const told = next ?? before;
    if (told === null) throw new Error('a write is about an object');
    const metadata = { ...told.metadata, resourceVersion: `${this.#version + 1}` };
    const object: KubeObject = {
      apiVersion: versionOf(resource),
      kind: resource.kind,
      ...copyOf({ ...told, metadata }),
    };
    const write: ApiWrite = { resource, before, after: next === null ? null : object, by };
    const refusal = this.refuse(write);
    if (refusal !== null) throw refusal;
    this.#version += 1;
    const key = placeKey(resource, metadata.namespace, metadata.name);
    if (next === null) this.#of(resource).delete(key);
    else this.#of(resource).set(key, object);
    const told_ = next === null ? { ...write, before: object } : write;
    this.#history.push({ version: this.#version, at: this.#clock.monotonic(), write: told_ });
    this.#compact();
    for (const watcher of [...this.#watchers]) deliver(watcher, told_);
    for (const listener of this.#listeners) listener(write);
    if (next === null) {
      this.#owners.delete(metadata.uid ?? '');
      this.#onGone(metadata.uid ?? '');
    }
    // Its owner went before it came.
    const owners = before === null ? (metadata.ownerReferences ?? []) : [];
    if (owners.length > 0 && this.#isOrphan(object))
      for (const { uid } of owners) this.#onGone(uid as string);
    return object;
  }

  *#owned(owner: string): Iterable<KubeObject> {
    for (const objects of this.#objects.values())
      for (const object of objects.values())
        if ((object.metadata.ownerReferences ?? []).some(({ uid }) => uid === owner)) yield object;
  }

  /** What the collector decided to delete. */
  #collect({ apiVersion = '', kind = '', metadata: { namespace, name, uid = '' } }: KubeObject): void {
    const resource = this.resolve(apiVersion, kind);
    if (this.find(resource, namespace, name)?.metadata.uid === uid)
      this.remove(resource, namespace, name, { uid }, collectorName);
  }

  #isOrphan({ metadata }: KubeObject): boolean {
    const living = new Set([...this.#objects.values()].flatMap((one) => [...one.values()]).map(uidOf));
    return (metadata.ownerReferences ?? []).every(({ uid }) => !living.has(uid as string));
  }
}

const uidOf = ({ metadata }: KubeObject) => metadata.uid;
const versionOf = ({ group, version }: KubeResource) => (group === '' ? version : `${group}/${version}`);
const kindKey = ({ group, plural }: KubeResource) => `${group}/${plural}`;
const placeKey = ({ namespaced }: KubeResource, namespace: string | undefined, name: string) =>
  `${namespaced ? (namespace ?? 'default') : ''}/${name}`;
const part = (object: KubeObject, name: string) =>
  object[name] === undefined ? {} : { [name]: object[name] };
const given = (fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

function conflict(message: string, reason: string): OrreryError {
  return new OrreryError('KUBE_CONFLICT', message, { facts: { status: 409, reason } });
}

function checkConditions(
  { metadata }: KubeObject,
  uid: string | undefined,
  resourceVersion: string | undefined,
): void {
  if (uid !== undefined && uid !== metadata.uid)
    throw conflict(`${metadata.name}: the uid is ${metadata.uid}, not ${uid}`, 'Conflict');
  const isSame = resourceVersion === metadata.resourceVersion;
  if (resourceVersion !== undefined && resourceVersion !== '' && !isSame)
    throw conflict(`${metadata.name}: the object has been modified`, 'Conflict');
}

/** As a watch with a selector reports it: what leaves the selection is deleted, what enters it is added. */
function deliver({ key, selected, onEvent }: Watcher, { resource, before, after }: ApiWrite): void {
  if (kindKey(resource) !== key) return;
  const was = before !== null && isSelected(before, selected);
  const is = after !== null && isSelected(after, selected);
  if (is && after) onEvent({ type: was ? 'MODIFIED' : 'ADDED', object: after });
  else if (was && before) onEvent({ type: 'DELETED', object: goneAs(before, after) });
}

/** The last state of a deleted object, under the version of its deletion. */
function goneAs(before: KubeObject, after: KubeObject | null): KubeObject {
  if (after === null) return before;
  const { resourceVersion = '' } = after.metadata;
  return { ...before, metadata: { ...before.metadata, resourceVersion } };
}
