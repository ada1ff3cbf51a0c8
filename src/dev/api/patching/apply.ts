/**
 * Server-side apply, first version: what the applied configuration names is merged into the object; lists with keys by
 * their keys, sets as unions, everything else replaces.
 *
 * Absent: field ownership. So nothing is removed that an earlier apply of the same manager named, and there are no
 * conflicts between managers (`force` has nothing to do).
 */
import { copy, equal, isObject, type Json, type JsonObject, set } from '../json.ts';
import { fieldSchema, type Schema } from '../schema/schema.ts';
import { listKeyOf } from '../schema/validate.ts';

/** Neither argument is changed. */
export function applyConfiguration(
  schema: Schema | undefined,
  target: JsonObject,
  applied: JsonObject,
): JsonObject {
  const result: JsonObject = { ...target };
  for (const [key, value] of Object.entries(applied)) {
    if (value === undefined || value === null) continue;
    set(
      result,
      key,
      applyValue(schema === undefined ? undefined : fieldSchema(schema, key), result[key], value),
    );
  }
  return result;
}

function applyValue(schema: Schema | undefined, target: Json | undefined, value: Json): Json {
  if (Array.isArray(value) && Array.isArray(target)) return applyList(schema, target, value);
  const isAtomic = schema?.['x-kubernetes-map-type'] === 'atomic';
  if (!isObject(value) || !isObject(target) || isAtomic) return copy(value);
  return applyConfiguration(schema, target, value);
}

function applyList(schema: Schema | undefined, target: Json[], applied: Json[]): Json[] {
  const listType = schema?.['x-kubernetes-list-type'];
  if (listType === 'set')
    return [...target, ...applied.filter((item) => !target.some((other) => equal(other, item)))];
  if (listType !== 'map' || schema === undefined) return copy(applied);
  let result = target;
  for (const item of applied) result = applyItem(schema, result, item);
  return result;
}

function applyItem(schema: Schema, target: Json[], item: Json): Json[] {
  const key = listKeyOf(schema, item);
  const index = target.findIndex((other) => equal(listKeyOf(schema, other), key));
  if (index < 0) return [...target, copy(item)];
  return target.with(index, applyValue(schema.items, target[index], item));
}
