/**
 * Server-side apply: merges what the applied configuration names into the object, and removes what its
 * manager named before and no longer names, unless somebody else owns it.
 *
 * Lists with keys are merged by their keys, sets as unions; plain values and atomic lists and maps are
 * replaced.
 */
import { copy, equal, isObject, type Json, type JsonObject, set } from '../json.ts';
import { fieldSchema, type Schema } from '../schema/schema.ts';
import { difference, isEmpty, nothing, union } from './field-set.ts';
import {
  afterUpdate,
  checkConflicts,
  keyOf,
  type Manager,
  type Ownership,
  ownable,
  takenFrom,
} from './managers.ts';
import { compare, edgeOf, fieldsOf, isLeaf, withNamedFields, withoutFields } from './typed.ts';

export interface Applied {
  readonly value: JsonObject;
  readonly ownership: Ownership;
}

/** @throws ApiError 409 for conflicts, unless they are forced */
export function apply(
  schema: Schema,
  live: JsonObject,
  applied: JsonObject,
  ownership: Ownership,
  options: { manager: Manager; force: boolean; time: string },
): Applied {
  const { manager, force, time } = options;
  const key = keyOf(manager);
  const before = ownership.get(key);
  const named = fieldsOf(schema, applied);
  const fields = ownable(named);
  const owned = new Map(ownership).set(key, { manager, time: before?.time ?? '', fields: named });
  const merged = merge(schema, live, applied);
  const value = before === undefined ? merged : pruned(schema, merged, ownership, owned, key);
  const changes = compare(schema, live, value);
  if (!force) checkConflicts(owned, changes, key);
  const after = new Map(takenFrom(owned, changes, key));
  // As in the real server, an apply that changes only the owners leaves no time.
  const isKnown =
    before !== undefined &&
    isEmpty(difference(fields, before.fields)) &&
    isEmpty(difference(before.fields, fields));
  const stamp = !changes.isSame ? time : isKnown ? before.time : '';
  if (isEmpty(fields)) after.delete(key);
  else after.set(key, { manager, time: stamp, fields });
  return { value, ownership: after };
}

/**
 * Somebody wrote the object before ownership was tracked: what is there belongs to a manager of this name.
 */
export function beforeFirstApply(
  schema: Schema,
  empty: JsonObject,
  live: JsonObject,
  apiVersion: string,
  time: string,
): Ownership {
  const manager: Manager = { name: 'before-first-apply', operation: 'Update', apiVersion, subresource: '' };
  return afterUpdate(new Map(), schema, { old: empty, next: live }, manager, time);
}

/** The object without what the manager owned until now and nobody owns any longer. */
function pruned(
  schema: Schema,
  merged: JsonObject,
  before: Ownership,
  after: Ownership,
  key: string,
): JsonObject {
  const last = withNamedFields(schema, before.get(key)?.fields ?? nothing);
  const all = [...after.values()].reduce((sum, { fields }) => union(sum, fields), nothing);
  return withoutFields(schema, merged, difference(last, withNamedFields(schema, all)));
}

function merge(schema: Schema | undefined, target: JsonObject, applied: JsonObject): JsonObject {
  const result: JsonObject = { ...target };
  for (const [key, value] of Object.entries(applied)) {
    if (value === undefined) continue;
    const inner = schema === undefined ? undefined : fieldSchema(schema, key);
    // Null removes a field, and empties an entry of a map.
    const isField = schema?.properties !== undefined && Object.hasOwn(schema.properties, key);
    if (value === null && isField && inner?.nullable !== true) delete result[key];
    else set(result, key, mergeValue(inner, result[key], value));
  }
  return result;
}

function mergeValue(schema: Schema | undefined, target: Json | undefined, value: Json): Json {
  if (isLeaf(schema, value)) return copy(value);
  if (Array.isArray(value)) return mergeLists(schema, Array.isArray(target) ? target : [], value);
  return isObject(value) ? merge(schema, isObject(target) ? target : {}, value) : copy(value);
}

/** The order is that of the applied list; items that only the target has precede what follows them there. */
function mergeLists(schema: Schema | undefined, target: readonly Json[], applied: readonly Json[]): Json[] {
  const edges = target.map((item) => edgeOf(schema, item));
  const wanted = applied.map((item) => edgeOf(schema, item));
  const result: Json[] = [];
  let next = 0;
  const keepUntil = (end: number) => {
    for (; next < end; next += 1) {
      const item = target[next];
      if (item !== undefined && !wanted.includes(edges[next] ?? '')) result.push(item);
    }
  };
  for (const [index, item] of applied.entries()) {
    const shared = wanted.slice(index).find((edge) => edges.includes(edge));
    keepUntil(shared === undefined ? target.length : edges.indexOf(shared));
    const at = edges.indexOf(wanted[index] ?? '');
    const merged = mergeValue(schema?.items, at < 0 ? undefined : target[at], item);
    if (!result.some((other) => schema?.['x-kubernetes-list-type'] === 'set' && equal(other, merged)))
      result.push(merged);
  }
  keepUntil(target.length);
  return result;
}
