/**
 * From the value that a client sent to the stored form: checks the type, drops unknown fields, fills in
 * defaults.
 *
 * Owns: the strictness about unknown fields. Absent: the rules of the kind, which `insert.ts` and
 * `replace.ts` apply.
 */

import { invalidValue } from '../causes.ts';
import { at, isObject, type JsonObject, textAt } from '../json.ts';
import { apiVersionOf, type Resource } from '../resources/resource.ts';
import { builtinSchema } from '../schema/builtin-schemas.ts';
import { fillDefaults, prune } from '../schema/structural.ts';
import { DecodeError, decode } from '../schema/typed-decode.ts';
import { badRequest, invalid } from '../status.ts';
import type { ObjectMeta, StoredObject } from '../stored-object.ts';
import { sentManagers } from './field-ownership.ts';
import type { WriteOptions } from './options.ts';

export interface ReadObject {
  readonly object: StoredObject;
  readonly warnings: readonly string[];
}

/**
 * @throws ApiError 400 if the value is of another type, cannot be decoded, or has unknown fields although
 * `Strict` was requested
 */
export function readObject(
  resource: Resource,
  value: JsonObject,
  options: Pick<WriteOptions, 'fieldValidation'>,
): ReadObject {
  checkType(resource, value);
  const unknown: string[] = [];
  const object = decoded(resource, () =>
    resource.isCustom ? readCustom(resource, value, unknown) : readBuiltin(resource, value, unknown),
  );
  resource.rules.fill?.(object);
  return { object, warnings: warningsOf(resource, unknown, options.fieldValidation) };
}

/** A custom object must state its type; the path gives that of a built-in one. */
function checkType(resource: Resource, value: JsonObject): void {
  const apiVersion = textAt(value, 'apiVersion');
  const kind = textAt(value, 'kind');
  if (resource.isCustom) checkCustomType(resource, value, apiVersion, kind);
  else checkBuiltinType(resource, apiVersion, kind);
}

function checkBuiltinType(resource: Resource, apiVersion: string, kind: string): void {
  if (kind !== '' && kind !== resource.kind) {
    const from = `${apiVersion === '' ? resource.version : apiVersion}`.split('/').at(-1);
    throw badRequest(
      `${kind} in version ${JSON.stringify(from)} cannot be handled as a ${resource.kind}: converting (${from}.${kind}) to (core.${resource.kind}): unknown conversion`,
    );
  }
  if (apiVersion !== '' && apiVersion !== apiVersionOf(resource)) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${apiVersionOf(resource)})`,
    );
  }
}

function checkCustomType(resource: Resource, value: JsonObject, apiVersion: string, kind: string): void {
  const text = JSON.stringify(value);
  const unrecognized = `the object provided is unrecognized (must be of type ${resource.kind})`;
  if (kind === '')
    throw badRequest(`${unrecognized}: Object 'Kind' is missing in '${text}' (${text.slice(0, 32)} ...)`);
  if (apiVersion === '') throw badRequest(`${unrecognized}: Object 'apiVersion' is missing in '${text}'`);
  if (apiVersion !== apiVersionOf(resource)) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${apiVersionOf(resource)})`,
    );
  }
  if (kind === resource.kind) return;
  const name = textAt(value, 'metadata', 'name');
  throw invalid({ kind, group: resource.group }, name, [
    invalidValue('kind', kind, `must be ${resource.kind}`),
  ]);
}

function decoded<T>(resource: Resource, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof DecodeError)) throw thrown;
    throw badRequest(cannotBeHandled(resource, thrown.message));
  }
}

function cannotBeHandled(resource: Resource, why: string): string {
  const { kind, version } = resource;
  return `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${why}`;
}

function readBuiltin(resource: Resource, value: JsonObject, unknown: string[]): StoredObject {
  const { apiVersion: _, kind: __, ...shown } = decode(resource.schema, value, unknown) as JsonObject;
  const object = { ...shown, metadata: cleanMeta(shown.metadata, value) };
  return resource.view === undefined ? object : resource.view.store(object);
}

function readCustom(resource: Resource, value: JsonObject, unknown: string[]): StoredObject {
  const metadata = decode(builtinSchema('ObjectMeta'), value.metadata ?? {}, unknown, 'metadata');
  const pruned = prune(resource.schema, { ...value, metadata: {} }, unknown);
  const { apiVersion: _, kind: __, ...filled } = fillDefaults(resource.schema, pruned) as JsonObject;
  return { ...filled, metadata: cleanMeta(metadata, value) };
}

/** Metadata without what the server no longer keeps (selfLink). */
function cleanMeta(value: unknown, sent: JsonObject): ObjectMeta {
  const { managedFields, selfLink: _, ...meta } = isObject(value) ? value : {};
  const managers = sentManagers(
    at(sent, 'metadata', 'managedFields'),
    managedFields as JsonObject[] | undefined,
  );
  return { name: '', uid: '', resourceVersion: '', creationTimestamp: '', ...meta, ...managers };
}

function warningsOf(
  resource: Resource,
  unknown: readonly string[],
  mode: WriteOptions['fieldValidation'],
): string[] {
  const texts = [...unknown].sort().map((path) => `unknown field ${JSON.stringify(path)}`);
  if (mode === 'Strict' && texts.length > 0)
    throw badRequest(cannotBeHandled(resource, `strict decoding error: ${texts.join(', ')}`));
  return mode === 'Warn' ? texts : [];
}
