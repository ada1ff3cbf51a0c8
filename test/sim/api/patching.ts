/**
 * How patches change an object, as far as simulated worlds need that: JSON merge patches (RFC 7386), lists of
 * conditions by type, and server-side apply with an owner for each leaf.
 */
import { jsonPatch } from '../../../packages/kube-api/patching/json-patch.ts';
import { equal } from '../../../src/base/equal.ts';
import { asError, OrreryError } from '../../../src/base/errors.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const merged: Record<string, unknown> = isFields(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatch(merged[name], value);
  }
  return merged;
}

/** Conditions are merged by type; everything else as by a merge patch. */
export function strategicPatch(target: Fields, patch: Fields): unknown {
  const { status, ...rest } = patch;
  const merged = mergePatch(target, rest) as Fields;
  if (!isFields(status)) return merged;
  const before = isFields(target.status) ? target.status : {};
  const { conditions, ...others } = status;
  const known = Array.isArray(before.conditions) ? (before.conditions as Fields[]) : [];
  const said = Array.isArray(conditions) ? (conditions as Fields[]) : [];
  const kept = known.map((one) => ({ ...one, ...said.find(({ type }) => type === one.type) }));
  const added = said.filter(({ type }) => !known.some((one) => one.type === type));
  return {
    ...merged,
    status: { ...(mergePatch(before, others) as Fields), conditions: [...kept, ...added] },
  };
}

/** Who set which leaf of an object; paths are JSON. */
export type Owners = Map<string, Set<string>>;

/** Those of an object that nobody has applied yet. */
export const ownersOf = (object: Fields): Owners =>
  new Map([['somebody', new Set([...leavesOf(object)].map(([path]) => path))]]);

/**
 * What the manager applied before and no longer applies is removed, unless somebody else set it too. What it
 * changes belongs to it alone from now on, what it applies as it was to others as well.
 *
 * @returns null: without force, because it would change what others set
 */
export function applyPatch(
  target: Fields,
  body: Fields,
  { manager, force, owners }: { readonly manager: string; readonly force: boolean; readonly owners: Owners },
): Fields | null {
  const paths = new Map(leavesOf(body));
  const before = new Map(leavesOf(target));
  const lost = [...(owners.get(manager) ?? [])].filter((path) => !paths.has(path));
  for (const [one, set] of owners) {
    const taken = [...paths].filter(([path, value]) => set.has(path) && !equal(before.get(path), value));
    if (taken.length > 0 && one !== manager && !force) return null;
    for (const [path] of taken) set.delete(path);
  }
  owners.set(manager, new Set(paths.keys()));
  let next = mergePatch(target, body) as Fields;
  for (const path of lost) {
    if ([...owners.values()].some((set) => set.has(path))) continue;
    next = without(next, JSON.parse(path) as string[]);
  }
  return next;
}

/** The object with its managers; unchanged if nobody has applied it. */
export function withManagers(object: KubeObject, owners: Owners | undefined): KubeObject {
  if (owners === undefined) return object;
  const managedFields = [...owners].flatMap(([manager, paths]) =>
    paths.size === 0 ? [] : [{ manager, operation: 'Apply', fieldsV1: fieldsOf(paths) }],
  );
  return { ...object, metadata: { ...object.metadata, managedFields } };
}

/** Paths as FieldsV1: nested objects with a key `f:<name>` for each step. */
function fieldsOf(paths: Iterable<string>): Fields {
  const fields = {};
  for (const path of paths) {
    let at: Record<string, object> = fields;
    for (const step of JSON.parse(path) as string[]) {
      at[`f:${step}`] ??= {};
      at = at[`f:${step}`] as Record<string, object>;
    }
  }
  return fields;
}

function* leavesOf(value: unknown, path: readonly string[] = []): Iterable<[string, unknown]> {
  // Nobody owns what identifies the object.
  if (identity.some((one) => equal(one, path))) return;
  if (!isFields(value)) yield [JSON.stringify(path), value];
  else for (const [name, inner] of Object.entries(value)) yield* leavesOf(inner, [...path, name]);
}

const identity = [
  ['apiVersion'],
  ['kind'],
  ['metadata', 'name'],
  ['metadata', 'namespace'],
  ['metadata', 'uid'],
  ['metadata', 'resourceVersion'],
];

function without(fields: Fields, [name = '', ...rest]: readonly string[]): Fields {
  if (!(name in fields)) return fields;
  const { [name]: inner, ...others } = fields;
  if (rest.length === 0) return others;
  return isFields(inner) ? { ...others, [name]: without(inner, rest) } : fields;
}

/** A JSON patch. @throws OrreryError KUBE_REFUSED 422 if one of its tests fails */
export function testedPatch(before: KubeObject, body: unknown): KubeObject {
  try {
    return jsonPatch(before as never, body as never) as unknown as KubeObject;
  } catch (thrown) {
    throw new OrreryError('KUBE_REFUSED', asError(thrown).message, {
      facts: { status: 422, reason: 'Invalid' },
    });
  }
}

/** A copy of plain JSON; for objects as small as these ten times as fast as `structuredClone`. */
export function copyOf<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf) as T;
  const copy: Record<string, unknown> = {};
  for (const key in value) copy[key] = copyOf(value[key]);
  return copy as T;
}
