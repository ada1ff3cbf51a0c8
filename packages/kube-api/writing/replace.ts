/**
 * A changed object: compares versions, keeps what the write may not touch, applies the rules, stores the
 * result.
 *
 * Promises: a write that changes nothing makes no new version. An object that is being deleted goes with its
 * last finalizer.
 */

import { invalidValue } from '../causes.ts';
import { equal, listAt } from '../json.ts';
import type { Resource } from '../resources/resource.ts';
import { conflict, invalid, modified } from '../status.ts';
import type { Version } from '../storage/version.ts';
import { type ObjectMeta, type Place, placeOf, type StoredObject } from '../stored-object.ts';
import type { Cluster } from '../verb-parts.ts';
import { trackedWrite, type Writer, withManagers } from './field-ownership.ts';
import { namespaceOf, withoutVersion } from './insert.ts';
import { checkChanged, checkStatusChanged } from './rules.ts';

export type WrittenPart = 'object' | 'status';

/** @throws ApiError 409 if the object has another version, 422 if it breaks the rules */
export function replace(
  cluster: Cluster,
  resource: Resource,
  old: Version,
  incoming: StoredObject,
  options: { part: WrittenPart; isDryRun: boolean; writer?: Writer },
): Version {
  checkVersion(resource, old, incoming.metadata);
  const { writer } = options;
  const object = changed(resource, old.object, incoming, options.part);
  const seen = options.part === 'status' ? object : incoming;
  const managedFields =
    writer === undefined
      ? incoming.metadata.managedFields
      : trackedWrite(cluster, resource, { old: old.object, incoming: seen }, writer);
  object.metadata = withManagers(object.metadata, managedFields);
  if (options.part === 'status') checkStatusChanged(resource, object, old.object);
  else checkChanged(resource, object, old.object);
  if (resource.storage === 'services' && options.part === 'object')
    cluster.addresses.allocate(object, old.object);
  return save(cluster, resource, old, object, options.isDryRun);
}

/** Stores an object that the rules allow, or removes it if nothing holds it any longer. */
export function save(
  cluster: Cluster,
  resource: Resource,
  old: Version,
  object: StoredObject,
  isDryRun: boolean,
): Version {
  const same: StoredObject = {
    ...object,
    metadata: { ...object.metadata, resourceVersion: old.object.metadata.resourceVersion },
  };
  if (isReleased(resource, same)) {
    if (!isDryRun) cluster.store.remove(resource.storage, placeOf(same));
    return { object: same, revision: old.revision, texts: new Map() };
  }
  if (equal(same, old.object)) return old;
  if (isDryRun) return { object: withoutVersion(same), revision: 0, texts: new Map() };
  return cluster.store.put(resource.storage, object).current ?? old;
}

/** Whether an object that is being deleted is no longer held by anything. */
export function isReleased(resource: Resource, object: StoredObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = object.metadata;
  if (deletionTimestamp === undefined || (finalizers ?? []).length > 0) return false;
  if (resource.storage === 'namespaces' && listAt(object, 'spec', 'finalizers').length > 0) return false;
  return (deletionGracePeriodSeconds ?? 0) === 0;
}

function checkVersion(resource: Resource, old: Version, meta: ObjectMeta): void {
  const { name, resourceVersion } = old.object.metadata;
  if (meta.resourceVersion === '' || meta.resourceVersion === '0') {
    if (resource.rules.unconditionalUpdate) return;
    throw invalid(resource, name, [
      invalidValue('metadata.resourceVersion', 0, 'must be specified for an update'),
    ]);
  }
  if (meta.resourceVersion !== resourceVersion) throw modified(resource, name);
}

/**
 * A PUT with another uid is meant for another object.
 * @throws ApiError 409
 */
export function checkUid(resource: Resource, old: Version | undefined, place: Place, uid: string): void {
  const known = old?.object.metadata.uid ?? '';
  if (uid === '' || uid === known) return;
  const key = `/registry/${resource.plural}/${place.namespace === '' ? '' : `${place.namespace}/`}${place.name}`;
  const problem = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${known}`;
  const text = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${problem}`;
  throw conflict(resource, place.name, text);
}

function changed(
  resource: Resource,
  old: StoredObject,
  incoming: StoredObject,
  part: WrittenPart,
): StoredObject {
  const metadata = keptMeta(resource, incoming.metadata, old.metadata);
  if (part === 'status') {
    const object: StoredObject = { ...old, metadata };
    if (incoming.status === undefined) delete object.status;
    else object.status = incoming.status;
    resource.rules.status?.(object, old);
    return object;
  }
  const object: StoredObject = { ...incoming, metadata };
  if (resource.hasStatus) takeStatus(object, old);
  resource.rules.update?.(object, old);
  raiseGeneration(resource, object, old);
  return object;
}

function takeStatus(object: StoredObject, old: StoredObject): void {
  if (old.status === undefined) delete object.status;
  else object.status = old.status;
}

/** What a client may omit, and what it cannot change although no error says so. */
function keptMeta(resource: Resource, meta: ObjectMeta, old: ObjectMeta): ObjectMeta {
  const kept: ObjectMeta = {
    ...meta,
    ...namespaceOf(meta, resource, old.namespace ?? ''),
    uid: meta.uid === '' ? old.uid : meta.uid,
    resourceVersion: old.resourceVersion,
    creationTimestamp: old.creationTimestamp,
  };
  if (!resource.namespaced) delete kept.namespace;
  if (old.generation === undefined) delete kept.generation;
  else kept.generation = old.generation;
  if (old.deletionTimestamp !== undefined) kept.deletionTimestamp = old.deletionTimestamp;
  if (old.deletionGracePeriodSeconds !== undefined && meta.deletionGracePeriodSeconds === undefined)
    kept.deletionGracePeriodSeconds = old.deletionGracePeriodSeconds;
  return kept;
}

function raiseGeneration(resource: Resource, object: StoredObject, old: StoredObject): void {
  const part = resource.rules.generation;
  if (part === undefined || equal(part(object), part(old))) return;
  object.metadata = { ...object.metadata, generation: (old.metadata.generation ?? 0) + 1 };
}
