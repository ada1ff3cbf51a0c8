/**
 * `metadata.managedFields`: who owns which fields, and how a write changes that.
 *
 * Promises: a write takes the fields that it changes from all other managers. An apply takes them only with
 * `force`; otherwise it reports whose they are. Absent: conversion between versions of a kind.
 */
import { isObject, type JsonObject, objectsAt, textAt } from '../json.ts';
import type { Schema } from '../schema/schema.ts';
import { ApiError } from '../status.ts';
import {
  difference,
  type FieldSet,
  fromFieldsV1,
  intersection,
  isEmpty,
  nothing,
  pathsOf,
  pathText,
  toFieldsV1,
  union,
} from './field-set.ts';
import { type Comparison, compare } from './typed.ts';

export interface Manager {
  readonly name: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  /** Empty: the object itself. */
  readonly subresource: string;
}

export interface Owned {
  readonly manager: Manager;
  readonly time: string;
  readonly fields: FieldSet;
}

/** By the manager's `keyOf`. */
export type Ownership = ReadonlyMap<string, Owned>;

export function keyOf({ name, operation, apiVersion, subresource }: Manager): string {
  return JSON.stringify([name, operation, operation === 'Apply' ? '' : apiVersion, subresource]);
}

export function ownershipOf(meta: JsonObject): Ownership {
  const owned = objectsAt(meta, 'managedFields').flatMap((entry): Array<[string, Owned]> => {
    const operation = textAt(entry, 'operation');
    if (operation !== 'Apply' && operation !== 'Update') return [];
    const manager: Manager = {
      name: textAt(entry, 'manager'),
      operation,
      apiVersion: textAt(entry, 'apiVersion'),
      subresource: textAt(entry, 'subresource'),
    };
    return [[keyOf(manager), { manager, time: textAt(entry, 'time'), fields: fromFieldsV1(entry.fieldsV1) }]];
  });
  return new Map(owned);
}

/** The entries as they are stored, in the real server's order. */
export function entriesOf(ownership: Ownership): JsonObject[] {
  const order = ({ manager, time }: Owned) =>
    [manager.operation, time, manager.name, manager.apiVersion, manager.subresource].join('\0');
  const sorted = [...ownership.values()].sort((a, b) => (order(a) < order(b) ? -1 : 1));
  return sorted.map(({ manager, time, fields }) => ({
    ...(manager.name === '' ? {} : { manager: manager.name }),
    operation: manager.operation,
    apiVersion: manager.apiVersion,
    ...(time === '' ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: toFieldsV1(fields),
    ...(manager.subresource === '' ? {} : { subresource: manager.subresource }),
  }));
}

/**
 * After a write other than apply: its manager owns what it added and changed, nobody owns what it removed.
 */
export function afterUpdate(
  ownership: Ownership,
  schema: Schema,
  values: { old: JsonObject; next: JsonObject },
  manager: Manager,
  time: string,
): Ownership {
  const changes = compare(schema, values.old, values.next);
  const taken = ownable(union(changes.added, changes.modified));
  const result = new Map(takenFrom(ownership, changes, undefined));
  if (isEmpty(taken)) return result;
  const key = keyOf(manager);
  const before = result.get(key)?.fields ?? nothing;
  result.set(key, { manager, time, fields: union(before, taken) });
  return bounded(result);
}

/** The most managers of updates that are kept apart; Kubernetes' bound. */
const updatersMax = 10;

/** If there are too many managers, the oldest are merged into one for each API version. */
function bounded(ownership: Map<string, Owned>): Ownership {
  const updaters = [...ownership].filter(([, { manager }]) => manager.operation === 'Update');
  const order = ([key, { time }]: [string, Owned]) => `${time}\0${key}`;
  updaters.sort((a, b) => (order(a) < order(b) ? -1 : 1));
  const firsts = new Map<string, string>();
  let count = updaters.length;
  for (const [key, owned] of updaters) {
    if (count <= updatersMax) break;
    const { apiVersion } = owned.manager;
    const first = firsts.get(apiVersion);
    if (first === undefined) firsts.set(apiVersion, key);
    else {
      const manager: Manager = { name: 'ancient-changes', operation: 'Update', apiVersion, subresource: '' };
      const bucket = keyOf(manager);
      const before = ownership.get(bucket) ?? ownership.get(first);
      ownership.delete(first);
      ownership.delete(key);
      const fields = union(before?.fields ?? nothing, owned.fields);
      ownership.set(bucket, { manager, time: owned.time, fields });
      count -= 1;
    }
  }
  return ownership;
}

/** Everyone's fields without those that changed, except for `except`, who changed them. */
export function takenFrom(ownership: Ownership, changes: Comparison, except: string | undefined): Ownership {
  const gone = union(union(changes.added, changes.modified), changes.removed);
  const result = new Map<string, Owned>();
  for (const [key, owned] of ownership) {
    const fields = key === except ? owned.fields : difference(owned.fields, gone);
    if (!isEmpty(fields)) result.set(key, { ...owned, fields });
  }
  return result;
}

/** @throws ApiError 409 with every field that the apply changes and another manager owns */
export function checkConflicts(ownership: Ownership, changes: Comparison, own: string): void {
  const changed = union(changes.added, changes.modified);
  const conflicts = [...ownership]
    .filter(([key]) => key !== own)
    .map(([, { manager, fields }]) => ({
      manager: managerText(manager),
      paths: pathsOf(intersection(fields, changed)).map(pathText),
    }))
    .filter(({ paths }) => paths.length > 0)
    .sort((a, b) => (a.manager < b.manager ? -1 : 1));
  const all = conflicts.flatMap(({ manager, paths }) => paths.map((path) => ({ manager, path })));
  if (all.length === 0) return;
  const texts = conflicts.map(({ manager, paths }) =>
    [`conflicts with ${manager}:`, ...paths.map((path) => `- ${path}`)].join('\n'),
  );
  const [first] = all;
  const text =
    all.length === 1
      ? `1 conflict: conflict with ${first?.manager}: ${first?.path}`
      : `${all.length} conflicts: ${texts.join('\n')}`;
  throw new ApiError(409, 'Conflict', `Apply failed with ${text}`, {
    details: {
      causes: all.map(({ manager, path }) => ({
        reason: 'FieldManagerConflict',
        message: `conflict with ${manager}`,
        field: path,
      })),
    },
  });
}

function managerText({ name, operation, apiVersion, subresource }: Manager): string {
  const part = subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`;
  const version = operation === 'Update' ? ` using ${apiVersion}` : '';
  return `${JSON.stringify(name)}${part}${version}`;
}

const unowned: FieldSet = fromFieldsV1({
  'f:apiVersion': {},
  'f:kind': {},
  'f:metadata': {
    '.': {},
    'f:name': {},
    'f:namespace': {},
    'f:creationTimestamp': {},
    'f:selfLink': {},
    'f:uid': {},
    'f:generation': {},
    'f:managedFields': {},
    'f:resourceVersion': {},
  },
});

/** Without what nobody owns: the identity of the object, and what the server itself writes. */
export function ownable(fields: FieldSet): FieldSet {
  return difference(fields, unowned);
}

/** Whether a client asks to forget all managers, by an empty list or a single empty entry. */
export function isReset(managedFields: unknown): boolean {
  if (!Array.isArray(managedFields)) return false;
  const [only] = managedFields;
  return (
    managedFields.length === 0 ||
    (managedFields.length === 1 && isObject(only) && Object.keys(only).length === 0)
  );
}
