/**
 * JSON values: their types, and small functions that every room of the API server uses.
 *
 * Promise: no function changes a value that it is given, unless its name says so.
 */

export type Json = null | boolean | number | string | Json[] | JsonObject;

export interface JsonObject {
  [key: string]: Json | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object under `path`, or undefined if there is something else or nothing. */
export function objectAt(value: unknown, ...path: string[]): JsonObject | undefined {
  const found = at(value, ...path);
  return isObject(found) ? found : undefined;
}

/** The list under `path`; empty if there is something else or nothing. */
export function listAt(value: unknown, ...path: string[]): Json[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The objects of the list under `path`. */
export function objectsAt(value: unknown, ...path: string[]): JsonObject[] {
  return listAt(value, ...path).filter(isObject);
}

/** The text under `path`; empty if there is something else or nothing. */
export function textAt(value: unknown, ...path: string[]): string {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : '';
}

export function numberAt(value: unknown, ...path: string[]): number | undefined {
  const found = at(value, ...path);
  return typeof found === 'number' ? found : undefined;
}

export function at(value: unknown, ...path: string[]): Json | undefined {
  let found: unknown = value;
  for (const key of path) {
    if (!isObject(found) || !Object.hasOwn(found, key)) return undefined;
    found = found[key];
  }
  return found as Json | undefined;
}

/** A deep copy; fields that are undefined are left out. */
export function copy<T extends Json>(value: T): T {
  if (Array.isArray(value)) return value.map(copy) as T;
  if (!isObject(value)) return value;
  const result: JsonObject = {};
  for (const [key, field] of Object.entries(value)) if (field !== undefined) set(result, key, copy(field));
  return result as T;
}

/** Sets a field in place, even `__proto__`. */
export function set(target: JsonObject, key: string, value: Json): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
  else target[key] = value;
}

/** Deep equality; a field that is undefined equals one that is absent. */
export function equal(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => equal(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a).filter((key) => a[key] !== undefined);
  if (keys.length !== Object.keys(b).filter((key) => b[key] !== undefined).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]));
}

/** The kind of a value as JSON names it. */
export function typeOf(value: Json | undefined): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}
