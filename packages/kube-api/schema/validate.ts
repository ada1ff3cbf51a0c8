/**
 * Checks a custom object against its structural schema and reports every violation in the real server's
 * words.
 *
 * Absent: CEL rules (`x-kubernetes-validations`), which are in `cel/`.
 */
import {
  type Cause,
  duplicate,
  invalidValue,
  notSupported,
  required,
  tooLong,
  tooMany,
  wrongType,
} from '../causes.ts';
import { at, equal, isObject, type Json, type JsonObject, typeOf } from '../json.ts';
import { compiledPattern, hasFormat } from './formats.ts';
import { fieldSchema, type Schema } from './schema.ts';

/** Field name of a cause that the real server cannot locate. */
const nowhere = '<nil>';

export function validate(schema: Schema, value: Json, path = ''): Cause[] {
  const causes: Cause[] = [];
  check(schema, value, path, causes);
  return causes;
}

function check(schema: Schema, value: Json, path: string, causes: Cause[]): void {
  if (value === null && (schema.nullable === true || isUntyped(schema))) return;
  if (!hasType(schema, value)) return void causes.push(typeCause(schema, value, path));
  if (schema.enum !== undefined) checkEnum(schema.enum, value, path, causes);
  if (typeof value === 'string') checkText(schema, value, path, causes);
  if (typeof value === 'number') checkNumber(schema, value, path, causes);
  if (Array.isArray(value)) checkList(schema, value, path, causes);
  if (isObject(value)) checkObject(schema, value, path, causes);
  checkCombinations(schema, value, path, causes);
}

function isUntyped(schema: Schema): boolean {
  return schema.type === undefined && schema['x-kubernetes-int-or-string'] !== true;
}

function hasType(schema: Schema, value: Json): boolean {
  const type = typeOf(value);
  if (schema['x-kubernetes-int-or-string']) return type === 'integer' || type === 'string';
  if (schema.type === undefined || schema.type === type) return true;
  return schema.type === 'number' && type === 'integer';
}

function typeCause(schema: Schema, value: Json, path: string): Cause {
  const wanted = schema['x-kubernetes-int-or-string'] ? 'integer,string' : schema.type;
  const type = typeOf(value);
  return wrongType(path, type, `${path} in body must be of type ${wanted}: "${type}"`);
}

function checkEnum(allowed: readonly Json[], value: Json, path: string, causes: Cause[]): void {
  if (allowed.some((item) => equal(item, value))) return;
  causes.push(
    notSupported(
      path,
      value,
      allowed.map((item) => (typeof item === 'string' ? item : JSON.stringify(item))),
    ),
  );
}

function checkText(schema: Schema, value: string, path: string, causes: Cause[]): void {
  const length = [...value].length;
  const { maxLength, minLength, pattern, format } = schema;
  const say = (text: string) => causes.push(invalidValue(path, value, `${path} in body ${text}`));
  // As in the real server, only the first violation among these is reported.
  if (maxLength !== undefined && length > maxLength) causes.push(tooLong(path, maxLength));
  else if (minLength !== undefined && length < minLength) say(`should be at least ${minLength} chars long`);
  else if (pattern !== undefined && !matches(pattern, value)) say(`should match '${pattern}'`);
  if (format !== undefined && !hasFormat(value, format)) {
    const detail = `${path} in body must be of type ${format}: ${JSON.stringify(value)}`;
    causes.push(wrongType(path, value, detail));
  }
}

function matches(pattern: string, value: string): boolean {
  return compiledPattern(pattern)?.test(value) ?? true;
}

function checkNumber(schema: Schema, value: number, path: string, causes: Cause[]): void {
  const say = (text: string) => causes.push(invalidValue(path, value, `${path} in body should be ${text}`));
  const { minimum, maximum, multipleOf } = schema;
  if (minimum !== undefined && schema.exclusiveMinimum && value <= minimum) say(`greater than ${minimum}`);
  else if (minimum !== undefined && value < minimum) say(`greater than or equal to ${minimum}`);
  if (maximum !== undefined && schema.exclusiveMaximum && value >= maximum) say(`less than ${maximum}`);
  else if (maximum !== undefined && value > maximum) say(`less than or equal to ${maximum}`);
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf)) say(`a multiple of ${multipleOf}`);
  if (schema.format === 'int32' && Math.abs(value) > 2_147_483_647) {
    const detail = `Checked value must be of type integer with format int32 in ${path}`;
    causes.push(invalidValue(nowhere, '', detail));
  }
}

function checkList(schema: Schema, value: Json[], path: string, causes: Cause[]): void {
  const { items, minItems, maxItems } = schema;
  if (maxItems !== undefined && value.length > maxItems) causes.push(tooMany(path, value.length, maxItems));
  if (minItems !== undefined && value.length < minItems)
    causes.push(invalidValue(path, value.length, `${path} in body should have at least ${minItems} items`));
  if (items !== undefined) {
    for (const [index, item] of value.entries()) check(items, item, `${path}[${index}]`, causes);
  }
  checkDuplicates(schema, value, path, causes);
}

function checkDuplicates(schema: Schema, value: Json[], path: string, causes: Cause[]): void {
  const listType = schema['x-kubernetes-list-type'];
  if (listType !== 'set' && listType !== 'map') return;
  const seen = new Set<string>();
  for (const [index, item] of value.entries()) {
    const identity = listType === 'set' ? item : listKeyOf(schema, item);
    const text = JSON.stringify(identity);
    if (seen.has(text)) causes.push(duplicate(`${path}[${index}]`, identity));
    seen.add(text);
  }
}

/** The key fields of an item of a map list. */
export function listKeyOf(schema: Schema, item: Json): JsonObject {
  const key: JsonObject = {};
  for (const name of schema['x-kubernetes-list-map-keys'] ?? []) {
    const { items } = schema;
    const value = at(item, name) ?? items?.properties?.[name]?.default ?? items?.builtin?.defaults[name];
    if (value !== undefined) key[name] = value;
  }
  return key;
}

function checkObject(schema: Schema, value: JsonObject, path: string, causes: Cause[]): void {
  const count = Object.keys(value).length;
  const { minProperties, maxProperties } = schema;
  if (maxProperties !== undefined && count > maxProperties) causes.push(tooMany(path, count, maxProperties));
  if (minProperties !== undefined && count < minProperties) {
    const detail = `${path} in body should have at least ${minProperties} properties`;
    causes.push(invalidValue(path, count, detail));
  }
  for (const name of schema.required ?? [])
    if (!Object.hasOwn(value, name)) causes.push(required(inside(path, name)));
  for (const [key, field] of Object.entries(value)) {
    const known = fieldSchema(schema, key);
    if (known !== undefined && field !== undefined) check(known, field, inside(path, key), causes);
  }
}

function checkCombinations(schema: Schema, value: Json, path: string, causes: Cause[]): void {
  const say = (text: string) => causes.push(invalidValue(nowhere, '', `"${path}" must ${text}`));
  for (const part of schema.allOf ?? []) check(part, value, path, causes);
  if (schema.anyOf !== undefined && !schema.anyOf.some((part) => validate(part, value, path).length === 0)) {
    say('validate at least one schema (anyOf)');
    causes.push(...fewestCauses(schema.anyOf, value, path));
  }
  if (schema.oneOf !== undefined) {
    const valid = schema.oneOf.filter((part) => validate(part, value, path).length === 0).length;
    if (valid !== 1)
      say(
        `validate one and only one schema (oneOf). Found ${valid === 0 ? 'none valid' : `${valid} valid alternatives`}`,
      );
  }
  if (schema.not !== undefined && validate(schema.not, value, path).length === 0)
    say('not validate the schema (not)');
}

/** The complaints of the alternative that fits best. */
function fewestCauses(alternatives: readonly Schema[], value: Json, path: string): Cause[] {
  const all = alternatives.map((part) => validate(part, value, path));
  return all.reduce((best, next) => (next.length < best.length ? next : best));
}

function inside(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
