/** A new object: identity, rules, allocation, storage. */
import { kubeTime } from '../../../src/base/kube-time.ts';
import type { Resource } from '../resources/resource.ts';
import { alreadyExists, badRequest, forbidden, notFound, plainError } from '../status.ts';
import { type Version, versionOf } from '../storage/version.ts';
import { type ObjectMeta, placeOf, type StoredObject } from '../stored-object.ts';
import { newUid } from '../uid.ts';
import { type Cluster, generatedName } from '../verb-parts.ts';
import { trackedWrite, type Writer, withManagers } from './field-ownership.ts';
import { checkNew } from './rules.ts';

/** Attempts to find a free generated name; Kubernetes' bound. */
const nameAttemptsMax = 8;

/**
 * @throws ApiError 404 without the namespace, 403 while it is being deleted, 422 for broken rules, 409 if the
 * name is taken
 */
export function insert(
  cluster: Cluster,
  resource: Resource,
  object: StoredObject,
  options: { namespace: string; isDryRun: boolean; writer?: Writer },
): Version {
  const { writer } = options;
  const managedFields =
    writer === undefined
      ? object.metadata.managedFields
      : trackedWrite(cluster, resource, { old: undefined, incoming: object }, writer);
  const own = newMeta(cluster, resource, object.metadata, options.namespace);
  const meta = withManagers(own, managedFields);
  const created: StoredObject = { ...object, metadata: meta };
  checkRoom(cluster, resource, meta);
  resource.rules.create?.(created);
  nameFreely(cluster, resource, created);
  checkNew(resource, created);
  const { name } = created.metadata;
  if (cluster.store.collection(resource.storage).get(placeOf(created))) throw alreadyExists(resource, name);
  if (resource.storage === 'services') cluster.addresses.allocate(created, undefined);
  if (options.isDryRun) return { object: withoutVersion(created), revision: 0, texts: new Map() };
  return cluster.store.put(resource.storage, created).current ?? versionOf(created, 0);
}

function newMeta(cluster: Cluster, resource: Resource, given: ObjectMeta, namespace: string): ObjectMeta {
  if (given.resourceVersion !== '' && given.resourceVersion !== '0')
    throw plainError('resourceVersion should not be set on objects to be created');
  const meta: ObjectMeta = {
    ...given,
    ...namespaceOf(given, resource, namespace),
    uid: newUid(cluster.random),
    resourceVersion: '',
    creationTimestamp: kubeTime(cluster.clock.now()),
    ...(resource.rules.generation === undefined ? {} : { generation: 1 }),
  };
  delete meta.deletionTimestamp;
  delete meta.deletionGracePeriodSeconds;
  if (!resource.namespaced) delete meta.namespace;
  return meta;
}

/** The path gives the namespace; the object may repeat it but not contradict it. */
export function namespaceOf(meta: ObjectMeta, resource: Resource, namespace: string): { namespace?: string } {
  if (!resource.namespaced) return {};
  if (meta.namespace !== undefined && meta.namespace !== '' && meta.namespace !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  return { namespace };
}

/**
 * Nothing is created in a namespace that is missing or being deleted, nor of a kind that is being deleted.
 */
function checkRoom(cluster: Cluster, resource: Resource, meta: ObjectMeta): void {
  if (resource.isTerminating)
    throw forbidden(
      resource,
      meta.name,
      'create not allowed while custom resource definition is terminating',
    );
  if (meta.namespace === undefined) return;
  const namespace = cluster.store.collection('namespaces').get({ namespace: '', name: meta.namespace });
  if (namespace === undefined) throw notFound({ plural: 'namespaces', group: '' }, meta.namespace);
  if (namespace.object.metadata.deletionTimestamp === undefined) return;
  throw forbidden(
    resource,
    meta.name,
    `unable to create new content in namespace ${meta.namespace} because it is being terminated`,
    [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${meta.namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  );
}

function nameFreely(cluster: Cluster, resource: Resource, object: StoredObject): void {
  const { name, generateName } = object.metadata;
  if (name !== '' || generateName === undefined) return;
  const collection = cluster.store.collection(resource.storage);
  for (let attempt = 0; attempt < nameAttemptsMax; attempt += 1) {
    object.metadata = { ...object.metadata, name: generatedName(cluster.random, generateName) };
    if (collection.get(placeOf(object)) === undefined) return;
  }
}

/** An object that is not stored has no version. */
export function withoutVersion(object: StoredObject): StoredObject {
  const { resourceVersion: _, ...meta } = object.metadata;
  return { ...object, metadata: meta as ObjectMeta };
}
