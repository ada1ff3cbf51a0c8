/** Field ownership of writes: which values are compared, and what `metadata.managedFields` then contains. */
import { kubeTime } from '../../../src/base/kube-time.ts';
import { isObject, type JsonObject } from '../json.ts';
import {
  afterUpdate,
  entriesOf,
  isReset,
  type Manager,
  type Ownership,
  ownershipOf,
} from '../patching/managers.ts';
import { apiVersionOf, type Resource, shown } from '../resources/resource.ts';
import { builtinSchema } from '../schema/builtin-schemas.ts';
import type { Schema } from '../schema/schema.ts';
import type { ObjectMeta, StoredObject } from '../stored-object.ts';
import type { Cluster } from '../verb-parts.ts';

/** Who writes, by create, update or patch, and through which part of the object. */
export interface Writer {
  readonly name: string;
  readonly subresource: string;
}

type ManagedFields = ObjectMeta['managedFields'];

const schemas = new WeakMap<Schema, Schema>();

/** The schema with metadata, which a definition's schema lacks. */
export function ownedSchema({ schema, isCustom }: Pick<Resource, 'schema' | 'isCustom'>): Schema {
  if (!isCustom) return schema;
  const known = schemas.get(schema);
  if (known !== undefined) return known;
  const text: Schema = { type: 'string' };
  const own = { apiVersion: text, kind: text, metadata: builtinSchema('ObjectMeta') };
  const made: Schema = { ...schema, properties: { ...schema.properties, ...own } };
  schemas.set(schema, made);
  return made;
}

/** What a client sent in `metadata.managedFields`: an empty list asks to forget all managers. */
export function sentManagers(sent: unknown, decoded: ManagedFields): { managedFields?: JsonObject[] } {
  if (isReset(sent)) return { managedFields: [] };
  return decoded === undefined || decoded.length === 0 ? {} : { managedFields: decoded };
}

/**
 * `managedFields` after a create, update or patch.
 *
 * @param objects `incoming`: as the client sent it; for the status, as it will be stored
 */
export function trackedWrite(
  cluster: Cluster,
  resource: Resource,
  objects: { old: StoredObject | undefined; incoming: StoredObject },
  writer: Writer,
): ManagedFields {
  const { old, incoming } = objects;
  const ownership = ownershipBefore(old, incoming, writer);
  // As in the real server, an object whose managers were forgotten has none until it is applied.
  if (old !== undefined && ownership.size === 0) return undefined;
  const manager: Manager = {
    name: writer.name,
    operation: 'Update',
    apiVersion: apiVersionOf(resource),
    subresource: writer.subresource,
  };
  const values = {
    old: old === undefined ? emptyObject(resource) : comparable(resource, old, writer.subresource),
    next: comparable(resource, incoming, writer.subresource),
  };
  const time = writer.subresource === 'scale' ? '' : kubeTime(cluster.clock.now());
  return entriesOf(afterUpdate(ownership, ownedSchema(resource), values, manager, time));
}

/** The metadata with these managers. */
export function withManagers(metadata: ObjectMeta, managedFields: ManagedFields): ObjectMeta {
  const { managedFields: _, ...rest } = metadata;
  return managedFields === undefined || managedFields.length === 0 ? rest : { ...rest, managedFields };
}

function ownershipBefore(
  old: StoredObject | undefined,
  incoming: StoredObject,
  { subresource }: Writer,
): Ownership {
  const sent = incoming.metadata.managedFields;
  const known = ownershipOf(old?.metadata ?? {});
  if (subresource !== '' || sent === undefined) return known;
  const given = ownershipOf(incoming.metadata);
  return sent.length > 0 && given.size === 0 ? known : given;
}

/** The object as the resource shows it, without managers and without what the write leaves alone. */
export function comparable(resource: Resource, object: StoredObject, subresource: string): JsonObject {
  const value: JsonObject = { ...shown(resource, object) };
  const { managedFields: _, ...metadata } = object.metadata;
  value.metadata = metadata;
  if (resource.hasStatus && subresource !== 'status') delete value.status;
  return value;
}

/** A new object of the kind as the real server's types create it: its structs exist and are empty. */
export function emptyObject(resource: Resource): JsonObject {
  return emptyStruct(resource.schema);
}

function emptyStruct(schema: Schema): JsonObject {
  const result: JsonObject = {};
  for (const [key, value] of Object.entries(schema.builtin?.always ?? {})) {
    const inner = schema.properties?.[key];
    result[key] = isObject(value) && inner?.builtin !== undefined ? emptyStruct(inner) : value;
  }
  return result;
}
