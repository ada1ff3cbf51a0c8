/**
 * Whether an applied configuration fits its schema: apply accepts no unknown fields and no duplicate keys.
 */
import { isObject, type Json, type JsonObject, typeOf } from '../json.ts';
import { fieldSchema, type Schema } from '../schema/schema.ts';
import { pathText } from './field-set.ts';
import { edgeOf } from './typed.ts';

/** The first misfit, in the real server's words; undefined if everything fits. */
export function misfit(schema: Schema | undefined, value: JsonObject): string | undefined {
  return misfitOf(schema, value, []);
}

function misfitOf(schema: Schema | undefined, value: Json, path: readonly string[]): string | undefined {
  if (schema === undefined || value === null || schema['x-kubernetes-int-or-string'] === true)
    return undefined;
  const wrong = typeProblem(schema, value);
  if (wrong !== undefined) return `${pathText(path)}: ${wrong}`;
  if (isObject(value)) return fieldMisfit(schema, value, path);
  return Array.isArray(value) ? itemMisfit(schema, value, path) : undefined;
}

function typeProblem({ type, properties }: Schema, value: Json): string | undefined {
  const isMap = type === 'object' || (type === undefined && properties !== undefined);
  if (isMap) return isObject(value) ? undefined : `expected map, got &{${goText(value)}}`;
  if (type === 'array') return Array.isArray(value) ? undefined : `expected list, got &{${goText(value)}}`;
  if (type === 'boolean')
    return typeof value === 'boolean' ? undefined : `expected boolean, got &{${goText(value)}}`;
  if (type === 'string' && typeof value !== 'string')
    return `expected string, got &value.valueUnstructured{Value:${goText(value)}}`;
  if ((type === 'integer' || type === 'number') && typeof value !== 'number')
    return `expected numeric (int or float), got ${goType(value)}`;
  return undefined;
}

function fieldMisfit(schema: Schema, value: JsonObject, path: readonly string[]): string | undefined {
  const isOpen =
    schema['x-kubernetes-preserve-unknown-fields'] === true ||
    schema.additionalProperties !== undefined ||
    schema.properties === undefined;
  for (const [key, field] of Object.entries(value)) {
    const inner = fieldSchema(schema, key);
    const at = [...path, `f:${key}`];
    if (inner === undefined && !isOpen) return `${pathText(at)}: field not declared in schema`;
    const problem = field === undefined ? undefined : misfitOf(inner, field, at);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function itemMisfit(schema: Schema, value: readonly Json[], path: readonly string[]): string | undefined {
  const listType = schema['x-kubernetes-list-type'];
  const isKeyed = listType === 'map' || listType === 'set';
  const seen = new Set<string>();
  for (const [index, item] of value.entries()) {
    if (listType === 'map' && !isObject(item))
      return `${pathText(path)}: element ${index}: associative list with keys may not have non-map elements`;
    const edge = isKeyed ? edgeOf(schema, item) : `i:${index}`;
    const problem = misfitOf(schema.items, item, [...path, edge]);
    if (problem !== undefined) return problem;
    if (seen.has(edge)) return `${pathText(path)}: duplicate entries for key ${pathText([edge])}`;
    seen.add(edge);
  }
  return undefined;
}

/** A value as Go prints it. */
function goText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(goText).join(' ')}]`;
  if (!isObject(value)) return String(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, field]) => `${key}:${goText(field ?? null)}`).join(' ')}]`;
}

function goType(value: Json): string {
  const type = typeOf(value);
  return { boolean: 'bool', object: 'map', array: 'list' }[type] ?? type;
}
