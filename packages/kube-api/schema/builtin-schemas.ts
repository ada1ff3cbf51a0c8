/**
 * Compiles the table of built-in types (`builtin-types.txt`, generated) and our tables of defaults and merge
 * keys into schemas.
 */
import { readFileSync } from 'node:fs';
import { invariant } from '../../../src/base/errors.ts';
import type { Json, JsonObject } from '../json.ts';
import { always, defaults, quantities } from './builtin-defaults.ts';
import { atomicFields, atomicTypes, listMerges, retainKeysTypes } from './merge-keys.ts';
import type { BuiltinType, Schema } from './schema.ts';

/** A schema under construction: types refer to each other, so all are created first and filled afterwards. */
interface TypeSchema extends Schema {
  readonly type: 'object';
  readonly properties: Record<string, Schema>;
  readonly builtin: BuiltinType & { readonly always: JsonObject };
}

interface Field {
  readonly name: string;
  readonly type: string;
  readonly always: boolean;
}

const types = compile(readFileSync(new URL('./builtin-types.txt', import.meta.url), 'utf8'));

/** The schema of a built-in type, e.g. `Pod`, `CoreV1Event`, `ObjectMeta`. */
export function builtinSchema(name: string): Schema {
  const schema = types.get(name);
  invariant(schema, 'every built-in type is in the table', { name });
  return schema;
}

function compile(text: string): Map<string, TypeSchema> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const parsed = lines.map(parseLine);
  const schemas = new Map(parsed.map(({ name }) => [name, emptyType(name)]));
  for (const { name, fields } of parsed) {
    const schema = schemas.get(name);
    for (const field of fields) if (schema) addField(schemas, schema, field);
  }
  return schemas;
}

function parseLine(line: string): { name: string; fields: Field[] } {
  const colon = line.indexOf(': ');
  const fields = line
    .slice(colon + 2)
    .split(', ')
    .filter((part) => part !== '');
  return { name: line.slice(0, colon), fields: fields.map(parseField) };
}

function parseField(part: string): Field {
  const [name = '', type = ''] = part.split(' ');
  return { name, type: type.replace(/!$/, ''), always: type.endsWith('!') };
}

function emptyType(name: string): TypeSchema {
  return {
    type: 'object',
    properties: {},
    ...(atomicTypes.has(name) ? { 'x-kubernetes-map-type': 'atomic' as const } : {}),
    builtin: {
      name,
      defaults: defaults[name] ?? {},
      always: { ...always[name] },
      retainKeys: retainKeysTypes.has(name),
    },
  };
}

function addField(schemas: Map<string, TypeSchema>, owner: TypeSchema, field: Field): void {
  const path = `${owner.builtin.name}.${field.name}`;
  owner.properties[field.name] = fieldSchemaOf(schemas, path, field.type);
  if (field.always && !(field.name in owner.builtin.always)) {
    owner.builtin.always[field.name] = emptyValue(field.type);
  }
}

function fieldSchemaOf(schemas: Map<string, TypeSchema>, path: string, type: string): Schema {
  if (type.startsWith('[]')) {
    const merge = listMerges[path];
    const listType = merge?.applyKeys === undefined ? 'atomic' : merge.applyKeys.length > 0 ? 'map' : 'set';
    return {
      type: 'array',
      items: fieldSchemaOf(schemas, path, type.slice(2)),
      'x-kubernetes-list-type': listType,
      ...(listType === 'map' ? { 'x-kubernetes-list-map-keys': merge?.applyKeys ?? [] } : {}),
      ...(merge?.patchKey === undefined ? {} : { mergeKey: merge.patchKey }),
    };
  }
  if (type.startsWith('{}')) {
    const values = { type: 'object', additionalProperties: fieldSchemaOf(schemas, path, type.slice(2)) };
    return atomicFields.has(path) ? { ...values, 'x-kubernetes-map-type': 'atomic' } : values;
  }
  if (quantities.has(path)) return { format: 'quantity' };
  return schemas.get(type) ?? scalarSchema(type);
}

function scalarSchema(type: string): Schema {
  switch (type) {
    case 'string':
    case 'boolean':
      return { type };
    case 'int32':
    case 'int64':
      return { type: 'integer', format: type };
    case 'double':
      return { type: 'number', format: type };
    case 'time':
    case 'microtime':
    case 'bytes':
      return { type: 'string', format: type };
    case 'intOrString':
      return { 'x-kubernetes-int-or-string': true };
    default:
      invariant(type === 'any', 'the table of types names only known scalars', { type });
      return { 'x-kubernetes-preserve-unknown-fields': true };
  }
}

function emptyValue(type: string): Json {
  if (type.startsWith('[]') || type.startsWith('{}') || type.endsWith('time')) return null;
  if (type === 'string' || type === 'bytes') return '';
  if (type === 'boolean') return false;
  if (/^(int|double)/.test(type)) return 0;
  return type === 'any' ? null : {};
}
