/**
 * Values together with their schema, as field ownership needs them: which fields a value names, where two
 * values differ, and a value without some of its fields.
 */
import { equal, isObject, type Json, type JsonObject, set as put } from '../json.ts';
import { fieldSchema, type Schema } from '../schema/schema.ts';
import { listKeyOf } from '../schema/validate.ts';
import { below, type FieldSet, type GrowingSet, growing, tidied } from './field-set.ts';

type MaybeSchema = Schema | undefined;

/** The fields that an applied configuration names. */
export function fieldsOf(schema: MaybeSchema, value: JsonObject): FieldSet {
  const set = growing();
  addFields(schema, value, set);
  return tidied(set);
}

function addFields(schema: MaybeSchema, value: JsonObject, into: GrowingSet): void {
  for (const [key, field] of Object.entries(value)) {
    if (field === undefined) continue;
    const edge = `f:${key}`;
    const known = innerSchema(schema, key);
    const isBare = field === null || (isObject(field) && Object.keys(field).length === 0);
    if (isLeaf(known, field) || isBare || !isDeclared(schema, key)) into.members.add(edge);
    addInner(known, field, into, edge);
  }
}

function addInner(schema: MaybeSchema, value: Json, into: GrowingSet, edge: string): void {
  if (isLeaf(schema, value)) return;
  if (isObject(value)) addFields(schema, value, below(into, edge));
  if (!Array.isArray(value)) return;
  const inner = below(into, edge);
  for (const [itemEdge, item] of itemsByEdge(schema, value)) {
    inner.members.add(itemEdge);
    addInner(schema?.items, item, inner, itemEdge);
  }
}

export interface Comparison {
  readonly added: FieldSet;
  readonly removed: FieldSet;
  readonly modified: FieldSet;
  readonly isSame: boolean;
}

interface Growing {
  readonly added: GrowingSet;
  readonly removed: GrowingSet;
  readonly modified: GrowingSet;
}

export function compare(schema: MaybeSchema, old: JsonObject, next: JsonObject): Comparison {
  const found: Growing = { added: growing(), removed: growing(), modified: growing() };
  compareFields(schema, old, next, found);
  const [added, removed, modified] = [found.added, found.removed, found.modified].map(tidied) as [
    FieldSet,
    FieldSet,
    FieldSet,
  ];
  const isSame = [added, removed, modified].every((set) => set.members.size + set.children.size === 0);
  return { added, removed, modified, isSame };
}

function compareFields(schema: MaybeSchema, old: JsonObject, next: JsonObject, found: Growing): void {
  for (const key of new Set([...Object.keys(old), ...Object.keys(next)]))
    compareValues(innerSchema(schema, key), old[key], next[key], found, `f:${key}`);
}

function compareValues(
  schema: MaybeSchema,
  old: Json | undefined,
  next: Json | undefined,
  found: Growing,
  edge: string,
): void {
  if (old === undefined && next === undefined) return;
  const shown = next ?? old ?? null;
  const isLeafNow = isLeaf(schema, shown) || (isBare(old) && isBare(next)) || isOther(old, next);
  if (isLeafNow && old !== undefined && next !== undefined) {
    if (!equal(old, next)) found.modified.members.add(edge);
    return;
  }
  if (old === undefined) found.added.members.add(edge);
  if (next === undefined) found.removed.members.add(edge);
  if (isLeafNow) return;
  const inner: Growing = {
    added: below(found.added, edge),
    removed: below(found.removed, edge),
    modified: below(found.modified, edge),
  };
  if (isObject(shown)) compareFields(schema, isObject(old) ? old : {}, isObject(next) ? next : {}, inner);
  else compareLists(schema, Array.isArray(old) ? old : [], Array.isArray(next) ? next : [], inner);
}

function compareLists(schema: MaybeSchema, old: Json[], next: Json[], found: Growing): void {
  const before = itemsByEdge(schema, old);
  const after = itemsByEdge(schema, next);
  for (const edge of new Set([...before.keys(), ...after.keys()]))
    compareValues(schema?.items, before.get(edge), after.get(edge), found, edge);
}

function isBare(value: Json | undefined): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}

/** Whether the kinds of two values differ, so that one replaces the other as a whole. */
function isOther(old: Json | undefined, next: Json | undefined): boolean {
  if (old === undefined || next === undefined || old === null || next === null) return false;
  return isObject(old) !== isObject(next) || Array.isArray(old) !== Array.isArray(next);
}

/** A copy without the ends in `set` and everything below them. */
export function withoutFields(schema: MaybeSchema, value: JsonObject, set: FieldSet): JsonObject {
  const result: JsonObject = {};
  for (const [key, field] of Object.entries(value)) {
    const edge = `f:${key}`;
    if (field === undefined || set.members.has(edge)) continue;
    const inner = set.children.get(edge);
    put(result, key, inner === undefined ? field : withoutInner(innerSchema(schema, key), field, inner));
  }
  return result;
}

function withoutInner(schema: MaybeSchema, value: Json, set: FieldSet): Json {
  if (isObject(value)) return withoutFields(schema, value, set);
  if (!Array.isArray(value)) return value;
  return value.flatMap((item) => {
    const edge = edgeOf(schema, item);
    if (set.members.has(edge)) return [];
    const inner = set.children.get(edge);
    return [inner === undefined ? item : withoutInner(schema?.items, item, inner)];
  });
}

/** The set plus the fields of structs that lead to its ends: a struct is owned together with its content. */
export function withNamedFields(schema: MaybeSchema, set: FieldSet): FieldSet {
  const members = new Set(set.members);
  const children = new Map<string, FieldSet>();
  for (const [edge, child] of set.children) {
    const key = edge.slice(2);
    const isField = edge.startsWith('f:');
    if (isField && isDeclared(schema, key)) members.add(edge);
    children.set(edge, withNamedFields(isField ? innerSchema(schema, key) : schema?.items, child));
  }
  return { members, children };
}

/** Whether the value is replaced as a whole: plain values, atomic maps and lists. */
export function isLeaf(schema: MaybeSchema, value: Json): boolean {
  if (isObject(value)) return schema?.['x-kubernetes-map-type'] === 'atomic';
  if (!Array.isArray(value)) return true;
  const type = schema?.['x-kubernetes-list-type'];
  return type !== 'map' && type !== 'set';
}

/** Items by the edges that lead to them. */
export function itemsByEdge(schema: MaybeSchema, list: readonly Json[]): Map<string, Json> {
  return new Map(list.map((item) => [edgeOf(schema, item), item]));
}

export function edgeOf(schema: MaybeSchema, item: Json): string {
  if (schema?.['x-kubernetes-list-type'] !== 'map') return `v:${JSON.stringify(item)}`;
  const key = listKeyOf(schema, item);
  return `k:${JSON.stringify(Object.fromEntries(Object.entries(key).sort(([a], [b]) => (a < b ? -1 : 1))))}`;
}

function innerSchema(schema: MaybeSchema, key: string): MaybeSchema {
  return schema === undefined ? undefined : fieldSchema(schema, key);
}

function isDeclared(schema: MaybeSchema, key: string): boolean {
  return schema?.properties !== undefined && Object.hasOwn(schema.properties, key);
}
