/**
 * What is wrong with the defaults of a definition: each must be a value that its own schema takes.
 *
 * As in the real server, a default is held against its schema as it is written, before the defaults within it
 * are filled in; its rules in CEL are asked only if the schema itself has nothing to complain of; lists that
 * say an item twice are not noticed, and what stands below `additionalProperties` or in the metadata of the
 * object is not looked at.
 */
import { type Cause, invalidValue } from '../causes.ts';
import type { Json } from '../json.ts';
import { ruleCauses } from './cel/rule-check.ts';
import type { Schema } from './schema.ts';
import { unknownFields } from './structural.ts';
import { validate } from './validate.ts';

/** @param path where the schema of the whole object stands in the definition */
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

/** Causes are told from the default on; those about all of it name nothing. */
function below(path: string, field: string): string {
  if (field === '' || field === '<nil>') return path;
  return field.startsWith('[') ? `${path}${field}` : `${path}.${field}`;
}
