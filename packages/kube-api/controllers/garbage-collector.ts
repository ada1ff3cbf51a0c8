/**
 * The garbage collector: deletes objects that have lost all their owners, and carries out the propagation
 * that a deletion requested (Background, Foreground, Orphan).
 *
 * Owners are found by uid, in the dependent's namespace or among cluster-scoped objects. An owner whose kind
 * the server does not know is never judged. Source: the reference behaviour of Kubernetes' garbage collector.
 */

import type { Resource } from '../resources/resource.ts';
import type { Change, Version } from '../storage/version.ts';
import type { ObjectMeta, OwnerReference, StoredObject } from '../stored-object.ts';
import type { Cluster } from '../verb-parts.ts';
import { foregroundFinalizer, orphanFinalizer, type Propagation, removeObject } from '../writing/remove.ts';
import { save } from '../writing/replace.ts';
import { OwnerIndex } from './owners.ts';
import { WorkQueue } from './work-queue.ts';

interface Found {
  readonly resource: Resource;
  readonly version: Version;
}

type OwnerState = 'solid' | 'waiting' | 'absent';

export class GarbageCollector {
  readonly #cluster: Cluster;
  readonly #index = new OwnerIndex();
  /** Uids of objects to look at. */
  readonly #queue: WorkQueue;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    this.#queue = new WorkQueue('garbage collector', cluster.log, (uid) => this.#lookAt(uid));
  }

  note(change: Change): void {
    this.#index.note(change);
    const { current, previous } = change;
    if (current !== null && mayConcern(current.object)) this.#queue.add(current.object.metadata.uid);
    const gone = current === null ? previous?.object.metadata : undefined;
    if (gone === undefined) return;
    for (const uid of this.#index.dependentsOf(gone.uid)) this.#queue.add(uid);
    // An owner that is deleted in the foreground waits for each of its dependents.
    for (const { uid } of gone.ownerReferences ?? []) if (this.#index.locate(uid)) this.#queue.add(uid);
  }

  stop(): void {
    this.#queue.stop();
  }

  #lookAt(uid: string): void {
    const found = this.#find(uid);
    if (found === undefined) return;
    const { metadata } = found.version.object;
    if (metadata.deletionTimestamp === undefined) this.#judge(found);
    else if (metadata.finalizers?.includes(orphanFinalizer)) this.#orphan(found);
    else if (metadata.finalizers?.includes(foregroundFinalizer)) this.#deleteInForeground(found);
  }

  #find(uid: string): Found | undefined {
    const location = this.#index.locate(uid);
    const resource = location && this.#cluster.registry.findStorage(location.storage);
    const version = location && this.#cluster.store.collection(location.storage).get(location);
    return resource && version && version.object.metadata.uid === uid ? { resource, version } : undefined;
  }

  /**
   * Deletes an object whose owners are all gone; if some remain, drops the references to those that are gone.
   */
  #judge(found: Found): void {
    const references = found.version.object.metadata.ownerReferences ?? [];
    const states = references.map((reference) => this.#stateOf(reference, found.version.object.metadata));
    if (references.length === 0) return;
    const kept = references.filter((_, index) => states[index] === 'solid');
    if (kept.length === references.length) return;
    if (kept.length > 0) {
      this.#setOwners(found, kept);
      return;
    }
    const isWaitedFor =
      states.includes('waiting') && this.#index.dependentsOf(found.version.object.metadata.uid).length > 0;
    this.#remove(found, isWaitedFor ? 'Foreground' : undefined);
  }

  #stateOf(reference: OwnerReference, dependent: ObjectMeta): OwnerState {
    if (!this.#isKnownKind(reference)) return 'solid';
    const owner = this.#find(reference.uid);
    const namespace = owner?.version.object.metadata.namespace;
    if (owner === undefined || (namespace !== undefined && namespace !== dependent.namespace))
      return 'absent';
    const { deletionTimestamp, finalizers } = owner.version.object.metadata;
    const isForeground = deletionTimestamp !== undefined && finalizers?.includes(foregroundFinalizer);
    return isForeground && reference.blockOwnerDeletion ? 'waiting' : 'solid';
  }

  #isKnownKind({ apiVersion, kind }: OwnerReference): boolean {
    const [group = '', version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    return version !== '' && this.#cluster.registry.findKind(group, kind) !== undefined;
  }

  /** The dependents lose this owner and stay. */
  #orphan(owner: Found): void {
    const { uid } = owner.version.object.metadata;
    for (const dependent of this.#dependents(uid)) {
      const others = (dependent.version.object.metadata.ownerReferences ?? []).filter(
        (other) => other.uid !== uid,
      );
      this.#setOwners(dependent, others);
    }
    this.#release(owner, orphanFinalizer);
  }

  /** The dependents go first. The owner goes when none is left that blocks it. */
  #deleteInForeground(owner: Found): void {
    const { uid } = owner.version.object.metadata;
    const dependents = this.#dependents(uid);
    for (const dependent of dependents)
      if (dependent.version.object.metadata.deletionTimestamp === undefined) this.#judge(dependent);
    const isBlocked = this.#dependents(uid).some(({ version }) =>
      version.object.metadata.ownerReferences?.some(
        (reference) => reference.uid === uid && reference.blockOwnerDeletion,
      ),
    );
    if (!isBlocked) this.#release(owner, foregroundFinalizer);
  }

  #dependents(uid: string): Found[] {
    return this.#index.dependentsOf(uid).flatMap((dependent) => this.#find(dependent) ?? []);
  }

  #setOwners({ resource, version }: Found, ownerReferences: OwnerReference[]): void {
    const { ownerReferences: _, ...meta } = version.object.metadata;
    const metadata = ownerReferences.length === 0 ? meta : { ...meta, ownerReferences };
    save(this.#cluster, resource, version, { ...version.object, metadata }, false);
  }

  #release({ resource, version }: Found, finalizer: string): void {
    const { finalizers = [], ...meta } = version.object.metadata;
    const kept = finalizers.filter((known) => known !== finalizer);
    const metadata = kept.length === 0 ? meta : { ...meta, finalizers: kept };
    save(this.#cluster, resource, version, { ...version.object, metadata }, false);
  }

  #remove({ resource, version }: Found, propagation: Propagation | undefined): void {
    const { uid } = version.object.metadata;
    removeObject(this.#cluster, resource, version, {
      uid,
      isDryRun: false,
      ...(propagation ? { propagation } : {}),
    });
  }
}

function mayConcern({ metadata }: StoredObject): boolean {
  return metadata.deletionTimestamp !== undefined || (metadata.ownerReferences ?? []).length > 0;
}
