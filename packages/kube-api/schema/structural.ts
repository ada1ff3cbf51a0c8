/**
 * What a structural schema does to a custom object before validation: it prunes (and reports) unknown fields,
 * drops nulls that no field allows, and fills in defaults.
 *
 * Promises: the input is not changed; apiVersion, kind and metadata are kept where Kubernetes keeps them.
 */
import { copy, isObject, type Json, type JsonObject, set } from '../json.ts';
import { fieldSchema, type Schema } from './schema.ts';

const metaFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** @param unknown receives the paths of the fields that were pruned */
export function prune(schema: Schema, root: JsonObject, unknown: string[]): JsonObject {
  return pruneValue({ ...schema, 'x-kubernetes-embedded-resource': true }, root, '', unknown) as JsonObject;
}

/** The paths of the fields of a value that are not in its schema. */
export function unknownFields(schema: Schema, value: Json): string[] {
  const unknown: string[] = [];
  pruneValue(schema, value, '', unknown);
  return unknown;
}

/** Fills in defaults; a null stays only where its field allows it. */
export function fillDefaults(schema: Schema, value: Json): Json {
  if (Array.isArray(value)) return defaultItems(schema, value);
  return isObject(value) ? defaultFields(schema, value) : value;
}

function pruneValue(schema: Schema | undefined, value: Json, path: string, unknown: string[]): Json {
  if (Array.isArray(value)) {
    return value.map((item, index) => pruneValue(schema?.items, item, `${path}[${index}]`, unknown));
  }
  return isObject(value) ? pruneFields(schema, value, path, unknown) : value;
}

function pruneFields(
  schema: Schema | undefined,
  value: JsonObject,
  path: string,
  unknown: string[],
): JsonObject {
  const result: JsonObject = {};
  for (const [key, field] of Object.entries(value)) {
    if (field === undefined) continue;
    const inner = path === '' ? key : `${path}.${key}`;
    const known = schema === undefined ? undefined : fieldSchema(schema, key);
    const isMeta = schema?.['x-kubernetes-embedded-resource'] === true && metaFields.has(key);
    if (isMeta) set(result, key, field);
    else if (known !== undefined) set(result, key, pruneValue(known, field, inner, unknown));
    else if (keepsUnknown(schema)) set(result, key, field);
    else unknown.push(inner);
  }
  return result;
}

function keepsUnknown(schema: Schema | undefined): boolean {
  return schema?.['x-kubernetes-preserve-unknown-fields'] === true || schema?.additionalProperties === true;
}

function defaultFields(schema: Schema, value: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const [key, field] of Object.entries(value)) {
    const known = fieldSchema(schema, key);
    const isDropped =
      field === null && known !== undefined && known.nullable !== true && !acceptsAnything(known);
    if (field === undefined || isDropped) continue;
    set(result, key, known === undefined ? field : fillDefaults(known, field));
  }
  for (const [key, known] of Object.entries(schema.properties ?? {})) {
    if (known.default === undefined || known.default === null || Object.hasOwn(result, key)) continue;
    set(result, key, fillDefaults(known, copy(known.default)));
  }
  return result;
}

function defaultItems(schema: Schema, value: Json[]): Json[] {
  const { items } = schema;
  if (items === undefined) return value;
  return value.map((item) => {
    const isReplaced = item === null && items.nullable !== true && items.default !== undefined;
    return fillDefaults(items, isReplaced ? copy(items.default ?? null) : item);
  });
}

/** A field without a type accepts null as it accepts everything. */
function acceptsAnything(schema: Schema): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true && schema.type === undefined;
}
