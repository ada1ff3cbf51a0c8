/**
 * What is wrong with the defaults of a definition: each must be a value that its own schema accepts.
 *
 * As in the real server, a default is checked against its schema as written, before the defaults within it
 * are filled in. Its CEL rules run only if the schema itself has no complaint. Duplicate items of lists are
 * not noticed, and nothing below `additionalProperties` or in the object's metadata is checked.
 */
import { type Cause, invalidValue } from '../causes.ts';
import type { Json } from '../json.ts';
import { ruleCauses } from './cel/rule-check.ts';
import type { Schema } from './schema.ts';
import { unknownFields } from './structural.ts';
import { validate } from './validate.ts';

/** @param path of the schema of the whole object in the definition */
export function defaultCauses(schema: Schema, path: string): Cause[] {
  const { metadata: _, ...properties } = schema.properties ?? {};
  return nodeCauses({ ...schema, properties }, path);
}

function nodeCauses(schema: Schema, path: string): Cause[] {
  const { default: value = null, items } = schema;
  return [
    ...(value === null ? [] : causesOf(schema, value, `${path}.default`)),
    ...Object.entries(schema.properties ?? {}).flatMap(([key, field]) =>
      nodeCauses(field, `${path}.properties[${key}]`),
    ),
    ...(items === undefined ? [] : nodeCauses(items, `${path}.items`)),
  ];
}

function causesOf(schema: Schema, value: Json, path: string): Cause[] {
  if (unknownFields(schema, value).length > 0)
    return [invalidValue(path, value, 'must not have unknown fields')];
  const causes = validate(schema, value).filter(({ reason }) => reason !== 'FieldValueDuplicate');
  const all = causes.length > 0 ? causes : ruleCauses(schema, value, undefined, []);
  return all.map((cause) => ({ ...cause, field: below(path, cause.field) }));
}

/** Causes name the path below the default; a cause about the whole default names none. */
function below(path: string, field: string): string {
  if (field === '' || field === '<nil>') return path;
  return field.startsWith('[') ? `${path}${field}` : `${path}.${field}`;
}
