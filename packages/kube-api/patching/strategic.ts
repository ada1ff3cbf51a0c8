/**
 * Strategic merge patch of built-in types: lists are merged by the key of their items; `$patch`,
 * `$retainKeys`, `$setElementOrder/<list>` and `$deleteFromPrimitiveList/<list>` direct it.
 *
 * Promises: neither argument is changed. Source: Kubernetes' design note on strategic merge patch; the tables
 * of keys are in `schema/merge-keys.ts`.
 */
import { copy, equal, isObject, type Json, type JsonObject, set } from '../json.ts';
import { fieldSchema, type Schema } from '../schema/schema.ts';
import { badRequest, plainError } from '../status.ts';

const orderPrefix = '$setElementOrder/';
const deletePrefix = '$deleteFromPrimitiveList/';

/**
 * @throws ApiError 400 for a patch that breaks the rules, 500 (as in the real server) for an item without its
 * key
 */
export function strategicMerge(schema: Schema, target: JsonObject, patch: JsonObject): JsonObject {
  return mergeObjects(schema, target, patch);
}

function mergeObjects(schema: Schema | undefined, target: JsonObject, patch: JsonObject): JsonObject {
  const directive = patch.$patch;
  if (directive === 'replace') return plain(patch);
  if (directive === 'delete') return {};
  if (directive !== undefined && directive !== 'merge')
    throw badRequest(`Unknown patch type found: ${directive}`);
  const result = retained(target, patch);
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$') || value === undefined) continue;
    if (value === null) delete result[key];
    else set(result, key, mergeField(schema, key, result[key], value, patch));
  }
  deleteFromLists(result, patch);
  orderAlone(schema, result, patch);
  return result;
}

/** `$retainKeys` names the only fields that may stay. */
function retained(target: JsonObject, patch: JsonObject): JsonObject {
  const keys = patch.$retainKeys;
  if (!Array.isArray(keys)) return { ...target };
  return Object.fromEntries(Object.entries(target).filter(([key]) => keys.includes(key)));
}

function mergeField(
  schema: Schema | undefined,
  key: string,
  target: Json | undefined,
  value: Json,
  patch: JsonObject,
): Json {
  const known = schema === undefined ? undefined : fieldSchema(schema, key);
  if (isObject(value)) return mergeObjects(known, isObject(target) ? target : {}, value);
  if (!Array.isArray(value) || known?.mergeKey === undefined) return plain(value);
  const current = Array.isArray(target) ? target : [];
  const merged =
    known.mergeKey === '' ? mergeValues(current, value) : mergeItems(known, known.mergeKey, current, value);
  return ordered(merged, current, patch[orderPrefix + key], value.map(plain), known.mergeKey);
}

function mergeValues(target: Json[], patch: Json[]): Json[] {
  return [...target, ...patch.filter((value) => !target.some((known) => equal(known, value)))];
}

function mergeItems(schema: Schema, mergeKey: string, target: Json[], patch: Json[]): Json[] {
  const items = patch.filter(isObject);
  if (items.length !== patch.length) throw badRequest('invalid patch: a list with a merge key holds objects');
  const replaces = items.some((item) => item.$patch === 'replace');
  if (replaces) return items.filter((item) => item.$patch !== 'replace').map(plain);
  let result = [...target];
  for (const item of items) result = mergeItem(schema, mergeKey, result, item);
  return result;
}

function mergeItem(schema: Schema, mergeKey: string, target: Json[], item: JsonObject): Json[] {
  const key = item[mergeKey];
  if (key === undefined || key === null)
    throw plainError(`map: ${JSON.stringify(item)} does not contain declared merge key: ${mergeKey}`);
  const isSame = (other: Json) => isObject(other) && equal(other[mergeKey], key);
  if (item.$patch === 'delete') return target.filter((other) => !isSame(other));
  const index = target.findIndex(isSame);
  const current = target[index];
  if (!isObject(current)) return [...target, mergeObjects(schema.items, {}, item)];
  return target.with(index, mergeObjects(schema.items, current, item));
}

function deleteFromLists(result: JsonObject, patch: JsonObject): void {
  for (const [key, values] of Object.entries(patch)) {
    if (!key.startsWith(deletePrefix) || !Array.isArray(values)) continue;
    const field = key.slice(deletePrefix.length);
    const list = result[field];
    if (Array.isArray(list))
      result[field] = list.filter((item) => !values.some((value) => equal(value, item)));
  }
}

/** An order may come without a change of the list. */
function orderAlone(schema: Schema | undefined, result: JsonObject, patch: JsonObject): void {
  for (const [key, order] of Object.entries(patch)) {
    const field = key.slice(orderPrefix.length);
    const list = result[field];
    if (!key.startsWith(orderPrefix) || patch[field] !== undefined || !Array.isArray(list)) continue;
    const known = schema === undefined ? undefined : fieldSchema(schema, field);
    result[field] = ordered(list, list, order, [], known?.mergeKey ?? '');
  }
}

/**
 * The order of a merged list: items of the patch are in the patch's order, the rest in the server's. Two
 * items that the server had keep its order; otherwise the patch's item comes first.
 */
function ordered(
  merged: Json[],
  server: Json[],
  order: Json | undefined,
  patch: Json[],
  mergeKey: string,
): Json[] {
  const identity = (item: Json) => (mergeKey !== '' && isObject(item) ? (item[mergeKey] ?? null) : item);
  const positionIn = (list: readonly Json[], item: Json) =>
    list.findIndex((other) => equal(identity(other), identity(item)));
  const wanted = Array.isArray(order) ? order : patch;
  const named = wanted.flatMap((key) => merged.filter((item) => equal(identity(item), identity(key))));
  const rest = merged.filter((item) => positionIn(wanted, item) < 0);
  const result: Json[] = [];
  while (named.length > 0 && rest.length > 0) {
    const [left, right] = [positionIn(server, rest[0] ?? null), positionIn(server, named[0] ?? null)];
    const next = left >= 0 && right >= 0 && left < right ? rest.shift() : named.shift();
    result.push(next ?? null);
  }
  return [...result, ...named, ...rest];
}

/** The value without directives. */
function plain<T extends Json>(value: T): T {
  if (Array.isArray(value)) return value.map(plain) as T;
  if (!isObject(value)) return copy(value);
  const fields = Object.entries(value).filter(([key]) => !key.startsWith('$'));
  return Object.fromEntries(fields.map(([key, field]) => [key, plain(field ?? null)])) as T;
}
