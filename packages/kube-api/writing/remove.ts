/**
 * Deletion: preconditions, grace, finalizers, and who deletes the dependents.
 *
 * Promises: an object is removed only when nothing holds it; until then it carries deletionTimestamp.
 * Deleting twice is harmless; a second call may only shorten the grace.
 */
import { kubeTime } from '../../../src/base/kube-time.ts';
import { listAt, numberAt, objectAt, textAt } from '../json.ts';
import type { Resource } from '../resources/resource.ts';
import { conflict, forbidden } from '../status.ts';
import type { Version } from '../storage/version.ts';
import { type ObjectMeta, placeOf, type StoredObject, withMeta } from '../stored-object.ts';
import type { Cluster } from '../verb-parts.ts';
import { save } from './replace.ts';

export type Propagation = 'Background' | 'Foreground' | 'Orphan';

export interface DeleteOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly gracePeriodSeconds?: number;
  readonly propagation?: Propagation;
  readonly isDryRun: boolean;
}

export interface Removal {
  readonly version: Version;
  /** false: the object is marked and waits for its finalizers or for the kubelet. */
  readonly isGone: boolean;
}

/** Finalizers by which the garbage collector holds an owner. */
export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';
export const definitionFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

const immortalNamespaces = ['default', 'kube-system', 'kube-public'];

/** @throws ApiError 409 if a precondition does not hold, 403 for a namespace that must stay */
export function removeObject(
  cluster: Cluster,
  resource: Resource,
  version: Version,
  options: DeleteOptions,
): Removal {
  checkPreconditions(resource, version.object.metadata, options);
  if (resource.storage === 'namespaces') return removeNamespace(cluster, resource, version, options);
  const isDefinition = resource.storage.endsWith('/customresourcedefinitions');
  if (isDefinition && version.object.metadata.deletionTimestamp === undefined)
    return removeDefinition(cluster, resource, version, options);
  const finalizers = finalizersAfter(resource, version.object.metadata, options.propagation);
  const grace = resource.rules.deletesGracefully ? gracePeriod(version.object, options) : 0;
  if (finalizers.length === 0 && grace === 0) return take(cluster, resource, version, options);
  const marked = markedObject(cluster, version.object, finalizers, grace);
  return { version: save(cluster, resource, version, marked, options.isDryRun), isGone: false };
}

function take(cluster: Cluster, resource: Resource, version: Version, options: DeleteOptions): Removal {
  if (!options.isDryRun) cluster.store.remove(resource.storage, placeOf(version.object));
  if (version.object.metadata.deletionTimestamp === undefined) return { version, isGone: true };
  const last = markedObject(cluster, version.object, [], 0);
  return { version: { object: last, revision: version.revision, texts: new Map() }, isGone: true };
}

function checkPreconditions(resource: Resource, meta: ObjectMeta, options: DeleteOptions): void {
  const kind = { kind: resource.kind, group: resource.group };
  if (options.uid !== undefined && options.uid !== meta.uid)
    throw conflict(
      kind,
      meta.name,
      `the UID in the precondition (${options.uid}) does not match the UID in record (${meta.uid}). The object might have been deleted and then recreated`,
    );
  if (options.resourceVersion !== undefined && options.resourceVersion !== meta.resourceVersion)
    throw conflict(
      kind,
      meta.name,
      `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${meta.resourceVersion}). The object might have been modified`,
    );
}

/** The namespace controller does the rest. */
function removeNamespace(
  cluster: Cluster,
  resource: Resource,
  version: Version,
  options: DeleteOptions,
): Removal {
  const { object } = version;
  const { name, deletionTimestamp, finalizers } = object.metadata;
  if (immortalNamespaces.includes(name)) throw forbidden(resource, name, 'this namespace may not be deleted');
  if (deletionTimestamp !== undefined) {
    const isHeld = listAt(object, 'spec', 'finalizers').length > 0 || (finalizers ?? []).length > 0;
    return isHeld ? { version, isGone: false } : take(cluster, resource, version, options);
  }
  const marked = withMeta(object, { deletionTimestamp: kubeTime(cluster.clock.now()) });
  marked.status = { ...objectAt(object, 'status'), phase: 'Terminating' };
  return { version: save(cluster, resource, version, marked, options.isDryRun), isGone: false };
}

/** The definitions' controller removes the instances first. */
function removeDefinition(
  cluster: Cluster,
  resource: Resource,
  version: Version,
  options: DeleteOptions,
): Removal {
  const { object } = version;
  const now = kubeTime(cluster.clock.now());
  const finalizers = [...(object.metadata.finalizers ?? []), definitionFinalizer];
  const marked = withMeta(object, { deletionTimestamp: now, finalizers });
  const terminating = {
    type: 'Terminating',
    status: 'True',
    lastTransitionTime: now,
    reason: 'InstanceDeletionPending',
    message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  };
  const conditions = [...listAt(object, 'status', 'conditions'), terminating];
  marked.status = { ...objectAt(object, 'status'), conditions };
  return { version: save(cluster, resource, version, marked, options.isDryRun), isGone: false };
}

/** The propagation policy is stored as a finalizer, which the garbage collector removes when it is done. */
function finalizersAfter(
  resource: Resource,
  meta: ObjectMeta,
  propagation: Propagation | undefined,
): string[] {
  const own = meta.finalizers ?? [];
  const others = own.filter(
    (finalizer) => finalizer !== orphanFinalizer && finalizer !== foregroundFinalizer,
  );
  const kept = own.find((finalizer) => finalizer === orphanFinalizer || finalizer === foregroundFinalizer);
  const wanted = propagation === undefined ? kept : finalizerOf(propagation);
  return resource.storage === 'events' || wanted === undefined ? others : [...others, wanted];
}

function finalizerOf(propagation: Propagation): string | undefined {
  if (propagation === 'Orphan') return orphanFinalizer;
  return propagation === 'Foreground' ? foregroundFinalizer : undefined;
}

/** Seconds that a Pod still has: none if it never ran or has ended; a second call may only shorten them. */
function gracePeriod(object: StoredObject, options: DeleteOptions): number {
  const known = object.metadata.deletionGracePeriodSeconds;
  const asked = options.gracePeriodSeconds;
  if (object.metadata.deletionTimestamp !== undefined)
    return Math.min(known ?? 0, positive(asked ?? known ?? 0));
  const hasEnded = ['Failed', 'Succeeded'].includes(textAt(object, 'status', 'phase'));
  if (textAt(object, 'spec', 'nodeName') === '' || hasEnded) return 0;
  return positive(asked ?? numberAt(object, 'spec', 'terminationGracePeriodSeconds') ?? 0);
}

function positive(seconds: number): number {
  return seconds < 0 ? 1 : seconds;
}

function markedObject(
  cluster: Cluster,
  object: StoredObject,
  finalizers: string[],
  grace: number,
): StoredObject {
  const { metadata } = object;
  const now = cluster.clock.now();
  const isFirst = metadata.deletionTimestamp === undefined;
  const from = isFirst
    ? now
    : Date.parse(metadata.deletionTimestamp ?? '') - (metadata.deletionGracePeriodSeconds ?? 0) * 1000;
  const { finalizers: _, ...rest } = metadata;
  const marked: ObjectMeta = {
    ...rest,
    deletionTimestamp: kubeTime(Math.max(from + grace * 1000, isFirst ? 0 : now)),
    deletionGracePeriodSeconds: grace,
    ...(finalizers.length > 0 ? { finalizers } : {}),
    ...(isFirst && metadata.generation !== undefined ? { generation: metadata.generation + 1 } : {}),
  };
  return { ...object, metadata: marked };
}
