/**
 * Reads a built-in object as the real server's typed decoder does: unknown fields are dropped (and reported),
 * nulls count as absent, types are checked, times get their canonical form, defaults and always-present
 * fields are filled in.
 *
 * Promises: the result shares nothing with the input that is changed later. Absent: duplicate keys, which
 * JSON.parse hides.
 */
import { isObject, type Json, type JsonObject, set } from '../json.ts';
import { omittedIfEmpty } from './builtin-defaults.ts';
import { canonicalMicroTime, canonicalTime, firstBadBase64Byte, isQuantity } from './formats.ts';
import type { Schema } from './schema.ts';

/** A value that cannot be read as its type. The text is what follows "cannot be handled as a <Kind>: ". */
export class DecodeError extends Error {}

interface Place {
  /** Dotted path without indexes and map keys, as Go's decoder reports it. */
  readonly field: string;
  /** Path with indexes, as warnings report it. */
  readonly path: string;
  /** The struct that holds the field. */
  readonly owner: string;
}

/**
 * @param unknown receives the paths of unknown fields
 * @param path of the value, for messages; empty for a whole object
 * @throws DecodeError
 */
export function decode(schema: Schema, value: Json, unknown: string[], path = ''): Json {
  return decodeValue(schema, value, { field: path, path, owner: schema.builtin?.name ?? '' }, unknown);
}

function decodeValue(schema: Schema, value: Json, place: Place, unknown: string[]): Json {
  if (schema['x-kubernetes-preserve-unknown-fields']) return value;
  if (schema['x-kubernetes-int-or-string']) return intOrString(value, place);
  if (schema.format === 'quantity') return quantity(value, place);
  if (schema.type === 'array') return list(schema, value, place, unknown);
  if (schema.type !== 'object') return scalar(schema, value, place);
  if (!isObject(value)) throw mismatch(value, place, goType(schema));
  return schema.builtin === undefined
    ? map(schema, value, place, unknown)
    : struct(schema, value, place, unknown);
}

function struct(schema: Schema, value: JsonObject, place: Place, unknown: string[]): JsonObject {
  const type = schema.builtin;
  const owner = type?.name ?? '';
  const result: JsonObject = {};
  for (const [key, field] of Object.entries(value)) {
    const known = schema.properties?.[key];
    if (known === undefined || !Object.hasOwn(schema.properties ?? {}, key))
      unknown.push(joined(place.path, key));
    else if (field !== null && field !== undefined) {
      const inner = { field: joined(place.field, key), path: joined(place.path, key), owner };
      const decoded = decodeValue(known, field, inner, unknown);
      if (!isOmitted(known, decoded, `${owner}.${key}`, type?.always ?? {}, key)) result[key] = decoded;
    }
  }
  fill(schema, result, type?.defaults ?? {}, place, unknown);
  fill(schema, result, type?.always ?? {}, place, unknown);
  return result;
}

function fill(schema: Schema, result: JsonObject, values: JsonObject, place: Place, unknown: string[]): void {
  for (const [key, value] of Object.entries(values)) {
    const known = schema.properties?.[key];
    if (result[key] !== undefined || known === undefined || value === undefined) continue;
    result[key] = isObject(value) ? decodeValue(known, value, place, unknown) : value;
  }
}

/**
 * Empty lists and maps of optional fields are not written, nor are the empty values of fields that are not
 * pointers.
 */
function isOmitted(schema: Schema, value: Json, path: string, always: JsonObject, key: string): boolean {
  // Storage has no empty list, so even a list that is always written comes back as null.
  if (Array.isArray(value)) return value.length === 0 && schema.type === 'array';
  if (key in always) return false;
  if (isObject(value)) return schema.additionalProperties !== undefined && Object.keys(value).length === 0;
  return (value === '' || value === 0 || value === false) && omittedIfEmpty.has(path);
}

function map(schema: Schema, value: JsonObject, place: Place, unknown: string[]): JsonObject {
  const result: JsonObject = {};
  const inner = schema.additionalProperties;
  for (const [key, field] of Object.entries(value)) {
    if (field === undefined || typeof inner !== 'object') continue;
    set(
      result,
      key,
      decodeValue(inner, field ?? emptyOf(inner), { ...place, path: joined(place.path, key) }, unknown),
    );
  }
  return result;
}

/** Inside a map or list, Go reads null as the empty value of the item. */
function emptyOf(schema: Schema): Json {
  if (schema.type === 'string') return '';
  return schema.type === 'array' ? [] : schema.type === 'object' ? {} : null;
}

function list(schema: Schema, value: Json, place: Place, unknown: string[]): Json {
  const { items } = schema;
  if (!Array.isArray(value)) throw mismatch(value, place, goType(schema));
  if (items === undefined) return value;
  return value.map((item, index) =>
    decodeValue(items, item ?? emptyOf(items), { ...place, path: `${place.path}[${index}]` }, unknown),
  );
}

function scalar(schema: Schema, value: Json, place: Place): Json {
  if (schema.type === 'integer') return integer(schema, value, place);
  const wanted = schema.type === 'number' ? 'number' : (schema.type ?? '');
  if (typeof value !== wanted) throw mismatch(value, place, goType(schema));
  return typeof value === 'string' ? formatted(schema, value) : value;
}

function integer(schema: Schema, value: Json, place: Place): Json {
  if (typeof value !== 'number') throw mismatch(value, place, goType(schema));
  const outOfRange = schema.format === 'int32' && Math.abs(value) > 2_147_483_647;
  if (!Number.isInteger(value) || outOfRange) throw mismatch(value, place, goType(schema), ` ${value}`);
  return value;
}

function formatted(schema: Schema, value: string): Json {
  if (schema.format === 'time') return canonicalTime(value) ?? fail(timeError(value));
  if (schema.format === 'microtime') return canonicalMicroTime(value) ?? fail(microTimeError(value));
  const bad = schema.format === 'bytes' ? firstBadBase64Byte(value) : -1;
  return bad < 0 ? value : fail(`illegal base64 data at input byte ${bad}`);
}

function intOrString(value: Json, place: Place): Json {
  if (typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value))) return value;
  throw mismatch(value, place, typeof value === 'number' ? 'int32' : 'string');
}

function quantity(value: Json, place: Place): Json {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') throw mismatch(value, place, 'resource.Quantity');
  if (isQuantity(value)) return value;
  return fail("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

function fail(message: string): never {
  throw new DecodeError(message);
}

function timeError(value: string): string {
  return `parsing time ${JSON.stringify(value)} as "2006-01-02T15:04:05Z07:00": cannot parse ${JSON.stringify(value)}`;
}

function microTimeError(value: string): string {
  const seconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.exec(value)?.[0] ?? '';
  const digits = /^\.\d{6}(?=\d)/.exec(value.slice(seconds.length))?.[0] ?? '';
  const rest = JSON.stringify(value.slice(seconds.length + digits.length));
  const layout = '"2006-01-02T15:04:05.000000Z07:00"';
  return `parsing time ${JSON.stringify(value)} as ${layout}: cannot parse ${rest} as ${seconds === '' ? '"2006"' : digits === '' ? '".000000"' : '"Z07:00"'}`;
}

function mismatch(value: Json, place: Place, type: string, shown = ''): DecodeError {
  const got = Array.isArray(value)
    ? 'array'
    : isObject(value)
      ? 'object'
      : typeof value === 'boolean'
        ? 'bool'
        : typeof value;
  const field = place.field === '' ? 'value' : `struct field ${place.owner}.${place.field}`;
  return new DecodeError(`json: cannot unmarshal ${got}${shown} into Go ${field} of type ${type}`);
}

function goType(schema: Schema): string {
  if (schema.type === 'array') return `[]${schema.items === undefined ? 'any' : goType(schema.items)}`;
  if (schema.builtin !== undefined) return `v1.${schema.builtin.name}`;
  if (schema.type === 'object') {
    return `map[string]${typeof schema.additionalProperties === 'object' ? goType(schema.additionalProperties) : 'any'}`;
  }
  if (schema.type === 'integer') return schema.format ?? 'int64';
  if (schema.type === 'number') return 'float64';
  return schema.type === 'boolean' ? 'bool' : 'string';
}

function joined(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
