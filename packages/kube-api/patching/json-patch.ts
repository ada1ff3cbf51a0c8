/**
 * JSON patch (RFC 6902) with JSON pointers (RFC 6901).
 *
 * Promises: all operations or none; the given document is not changed.
 */
import { copy, equal, isObject, type Json, type JsonObject, set } from '../json.ts';
import { badRequest, patchRejected } from '../status.ts';

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from: string;
  readonly value: Json | undefined;
}

/** Operations in one patch; the real server's bound. */
const operationsMax = 10_000;

/**
 * @throws ApiError 400 if `patch` is not a list of operations, 422 if one cannot be applied or a test fails
 */
export function jsonPatch(document: Json, patch: Json): Json {
  let result = copy(document);
  for (const operation of operationsOf(patch)) result = apply(result, operation);
  return result;
}

function operationsOf(patch: Json): Operation[] {
  if (!Array.isArray(patch))
    throw badRequest(
      'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    );
  if (patch.length > operationsMax)
    throw badRequest(
      `The allowed maximum operations in a JSON patch is ${operationsMax}, got ${patch.length}`,
    );
  return patch.map((item) => {
    if (!isObject(item)) throw patchRejected();
    const { op, path, from, value } = item;
    if (typeof op !== 'string' || typeof path !== 'string') throw patchRejected();
    return { op, path, from: typeof from === 'string' ? from : '', value };
  });
}

function apply(document: Json, { op, path, from, value }: Operation): Json {
  switch (op) {
    case 'add':
      return add(document, path, given(value));
    case 'remove':
      return remove(document, path);
    case 'replace':
      return path === '' ? given(value) : add(remove(document, path), path, given(value));
    case 'move':
      return move(document, from, path);
    case 'copy':
      return add(document, path, copy(read(document, from)));
    case 'test':
      if (equal(lookUp(document, path) ?? null, value ?? null)) return document;
      throw patchRejected();
    default:
      throw patchRejected();
  }
}

function move(document: Json, from: string, path: string): Json {
  const value = read(document, from);
  return add(remove(document, from), path, value);
}

function given(value: Json | undefined): Json {
  if (value === undefined) throw patchRejected();
  return copy(value);
}

function segments(path: string): string[] {
  if (path === '') return [];
  if (!path.startsWith('/')) throw patchRejected();
  return path
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function read(document: Json, path: string): Json {
  const found = lookUp(document, path);
  if (found === undefined) throw patchRejected();
  return found;
}

function lookUp(document: Json, path: string): Json | undefined {
  let found: Json | undefined = document;
  for (const part of segments(path)) found = childOf(found, part);
  return found;
}

function childOf(value: Json | undefined, part: string): Json | undefined {
  if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(part) ? value[Number(part)] : undefined;
  return isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined;
}

function parentOf(document: Json, path: string): { parent: Json[] | JsonObject; last: string } {
  const parts = segments(path);
  const last = parts.pop() ?? '';
  let parent: Json | undefined = document;
  for (const part of parts) parent = childOf(parent, part);
  if (!Array.isArray(parent) && !isObject(parent)) throw patchRejected();
  return { parent, last };
}

function add(document: Json, path: string, value: Json): Json {
  if (path === '') return value;
  const { parent, last } = parentOf(document, path);
  if (Array.isArray(parent))
    parent.splice(last === '-' ? parent.length : indexIn(parent, last, parent.length), 0, value);
  else set(parent, last, value);
  return document;
}

function remove(document: Json, path: string): Json {
  const { parent, last } = parentOf(document, path);
  if (Array.isArray(parent)) parent.splice(indexIn(parent, last, parent.length - 1), 1);
  else if (Object.hasOwn(parent, last)) delete parent[last];
  else throw patchRejected();
  return document;
}

/** Negative indexes are an extension of the real server's library that Kubernetes leaves on. */
function indexIn(list: readonly Json[], text: string, max: number): number {
  const index = Number(text) < 0 ? Number(text) + list.length : Number(text);
  if (!/^-?\d+$/.test(text) || index < 0 || index > max) throw patchRejected();
  return index;
}
