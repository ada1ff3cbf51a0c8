/**
 * A Kubernetes object as stored: without apiVersion and kind, which come from the resource through which it
 * is read.
 *
 * Promise: a stored object is never changed; a new version is a new object.
 */
import type { JsonObject } from './json.ts';

export interface OwnerReference extends JsonObject {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta extends JsonObject {
  name: string;
  namespace?: string;
  generateName?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: JsonObject[];
}

export interface StoredObject extends JsonObject {
  metadata: ObjectMeta;
}

/** The object without metadata and status: most kinds count a change of the rest as a new generation. */
export function withoutMetadata(object: JsonObject, ...fields: string[]): JsonObject {
  const rest = { ...object };
  delete rest.metadata;
  for (const field of fields) delete rest[field];
  return rest;
}

/** The same object with other metadata; shares everything else. */
export function withMeta(object: StoredObject, meta: Partial<ObjectMeta>): StoredObject {
  return { ...object, metadata: { ...object.metadata, ...meta } };
}

/** The place of an object in its storage. */
export interface Place {
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

export function placeOf(object: StoredObject): Place {
  return { namespace: object.metadata.namespace ?? '', name: object.metadata.name };
}
