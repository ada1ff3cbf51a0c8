/**
 * Sets of fields, as managers own them: a tree whose edges are named as in `fieldsV1` (`f:spec`,
 * `k:{"name":"a"}`, `v:"x"`).
 *
 * Promises: no function changes a set that it is given; only `insert` changes its own.
 */
import { isObject, type Json, type JsonObject } from '../json.ts';

export interface FieldSet {
  /** Edges whose ends are in the set. */
  readonly members: ReadonlySet<string>;
  /** Edges with something of the set below them. */
  readonly children: ReadonlyMap<string, FieldSet>;
}

export type FieldPath = readonly string[];

export const nothing: FieldSet = { members: new Set(), children: new Map() };

/** A set under construction. */
export interface GrowingSet extends FieldSet {
  readonly members: Set<string>;
  readonly children: Map<string, GrowingSet>;
}

export function growing(): GrowingSet {
  return { members: new Set(), children: new Map() };
}

/** The set below an edge, created if there is none; `tidied` removes those that stay empty. */
export function below(set: GrowingSet, edge: string): GrowingSet {
  const known = set.children.get(edge);
  if (known !== undefined) return known;
  const made = growing();
  set.children.set(edge, made);
  return made;
}

/** The set without empty children. */
export function tidied(set: FieldSet): FieldSet {
  const children = new Map<string, FieldSet>();
  for (const [edge, child] of set.children) {
    const inner = tidied(child);
    if (!isEmpty(inner)) children.set(edge, inner);
  }
  return { members: set.members, children };
}

export function isEmpty(set: FieldSet): boolean {
  return set.members.size === 0 && [...set.children.values()].every(isEmpty);
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  const children = new Map(a.children);
  for (const [edge, child] of b.children) children.set(edge, union(children.get(edge) ?? nothing, child));
  return { members: new Set([...a.members, ...b.members]), children };
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  const children = new Map<string, FieldSet>();
  for (const [edge, child] of a.children)
    children.set(edge, intersection(child, b.children.get(edge) ?? nothing));
  return tidied({ members: new Set([...a.members].filter((edge) => b.members.has(edge))), children });
}

/** What is in `a` and not in `b`; each end counts separately. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  const children = new Map<string, FieldSet>();
  for (const [edge, child] of a.children)
    children.set(edge, difference(child, b.children.get(edge) ?? nothing));
  return tidied({ members: new Set([...a.members].filter((edge) => !b.members.has(edge))), children });
}

/** `a` without the ends in `b` and everything below them. */
export function without(a: FieldSet, b: FieldSet): FieldSet {
  const children = new Map<string, FieldSet>();
  for (const [edge, child] of a.children)
    if (!b.members.has(edge)) children.set(edge, without(child, b.children.get(edge) ?? nothing));
  return tidied({ members: new Set([...a.members].filter((edge) => !b.members.has(edge))), children });
}

/** Every end, in Kubernetes' order. */
export function pathsOf(set: FieldSet, from: FieldPath = []): FieldPath[] {
  const edges = [...new Set([...set.members, ...set.children.keys()])].sort();
  return edges.flatMap((edge) => {
    const path = [...from, edge];
    const child = set.children.get(edge);
    return [...(set.members.has(edge) ? [path] : []), ...(child === undefined ? [] : pathsOf(child, path))];
  });
}

/** `.spec.containers[name="a"].image` */
export function pathText(path: FieldPath): string {
  return path.map(edgeText).join('');
}

function edgeText(edge: string): string {
  const rest = edge.slice(2);
  if (edge.startsWith('f:')) return `.${rest}`;
  if (edge.startsWith('v:')) return `[=${rest}]`;
  if (edge.startsWith('i:')) return `[${rest}]`;
  const key = JSON.parse(rest) as JsonObject;
  const parts = Object.entries(key).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `[${parts.join(',')}]`;
}

export function toFieldsV1(set: FieldSet): JsonObject {
  const edges = [...new Set([...set.members, ...set.children.keys()])].sort();
  const result: JsonObject = {};
  for (const edge of edges) {
    const child = set.children.get(edge);
    const inner = child === undefined || isEmpty(child) ? undefined : toFieldsV1(child);
    result[edge] = inner === undefined ? {} : set.members.has(edge) ? { '.': {}, ...inner } : inner;
  }
  return result;
}

export function fromFieldsV1(value: Json | undefined): FieldSet {
  const set = growing();
  for (const [edge, inner] of Object.entries(isObject(value) ? value : {})) {
    if (edge === '.' || !isObject(inner)) continue;
    const rest = Object.keys(inner).filter((key) => key !== '.');
    if (rest.length === 0 || Object.hasOwn(inner, '.')) set.members.add(edge);
    if (rest.length > 0) set.children.set(edge, fromFieldsV1(inner) as GrowingSet);
  }
  return set;
}
