/**
 * Schemas as types of the expression language, and JSON values as values of these types.
 *
 * Owns: the names by which expressions know fields (`a-b` is `a__dash__b`). Expressions cannot see what the
 * schema does not describe.
 */
import { isObject, type Json, type JsonObject } from '../../json.ts';
import type { Schema } from '../schema.ts';
import { type CelObjectType, durationOf } from './cel-library.ts';

const keywords: ReadonlySet<string> = new Set([
  ...['true', 'false', 'null', 'in', 'as', 'break', 'const', 'continue', 'else', 'for', 'function', 'if'],
  ...['import', 'let', 'loop', 'package', 'namespace', 'return', 'var', 'void', 'while'],
]);

const signs: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
};

/** The field's name in expressions; undefined if expressions cannot name it. */
export function celName(field: string): string | undefined {
  if (keywords.has(field)) return `__${field}__`;
  const name = field.replace(/__|[./-]/g, (sign) => signs[sign] ?? sign);
  return /^[A-Za-z_]\w*$/.test(name) ? name : undefined;
}

const objectMeta: Schema = {
  type: 'object',
  properties: { name: { type: 'string' }, generateName: { type: 'string' } },
};

const embedded: Readonly<Record<string, Schema>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: objectMeta,
};

/** The types of one definition's schema. */
export class CelTypes {
  readonly #byName = new Map<string, CelObjectType>();
  readonly #objects = new Map<Schema, CelObjectType>();
  readonly #root: Schema;

  constructor(root: Schema) {
    this.#root = root;
    this.bareTypeOf(root);
  }

  /** Inner types before those that hold them. */
  all(): CelObjectType[] {
    return [...this.#byName.values()];
  }

  /** Name of the type; a nullable value can have any type. */
  typeOf(schema: Schema): string {
    return schema.nullable === true ? 'dyn' : this.bareTypeOf(schema);
  }

  /** Name of the type of values other than null. */
  bareTypeOf(schema: Schema): string {
    if (schema['x-kubernetes-int-or-string'] === true) return 'dyn';
    switch (schema.type) {
      case 'object':
        return isMap(schema)
          ? `map<string, ${this.typeOf(schema.additionalProperties)}>`
          : this.#objectType(schema).name;
      case 'array':
        return schema.items === undefined ? 'list' : `list<${this.typeOf(schema.items)}>`;
      case 'string':
        return textTypes[schema.format ?? ''] ?? 'string';
      case 'integer':
        return 'int';
      case 'number':
        return 'double';
      case 'boolean':
        return 'bool';
      default:
        return 'dyn';
    }
  }

  /** The value as expressions of its schema see it. */
  valueOf(schema: Schema, value: Json): unknown {
    if (Array.isArray(value)) return value.map((item) => this.valueOf(schema.items ?? {}, item));
    if (isObject(value)) return isMap(schema) ? this.#mapOf(schema, value) : this.#objectOf(schema, value);
    if (typeof value === 'number')
      return schema.type !== 'number' && Number.isInteger(value) ? BigInt(value) : value;
    return typeof value === 'string' ? textValue(schema, value) : value;
  }

  #mapOf(schema: Schema & { additionalProperties: Schema }, value: JsonObject): Map<string, unknown> {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    return new Map(
      entries.map(([key, item]) => [key, this.valueOf(schema.additionalProperties, item ?? null)]),
    );
  }

  #objectOf(schema: Schema, value: JsonObject): object {
    const object: Record<string, unknown> = {};
    for (const [key, field] of Object.entries(this.#fieldsOf(schema))) {
      const name = celName(key);
      if (name === undefined || !Object.hasOwn(value, key) || value[key] === undefined) continue;
      object[name] = this.valueOf(field, value[key]);
    }
    return Object.assign(new (this.#objectType(schema).ctor)(), object);
  }

  #objectType(schema: Schema): CelObjectType {
    const known = this.#objects.get(schema);
    if (known !== undefined) return known;
    const fields: Record<string, string> = {};
    for (const [key, field] of Object.entries(this.#fieldsOf(schema))) {
      const name = celName(key);
      if (name !== undefined) fields[name] = this.typeOf(field);
    }
    const type = { name: `object${this.#byName.size}`, ctor: class {}, fields };
    this.#objects.set(schema, type);
    this.#byName.set(type.name, type);
    return type;
  }

  #fieldsOf(schema: Schema): Readonly<Record<string, Schema>> {
    const own = schema.properties ?? {};
    const isWhole = schema === this.#root || schema['x-kubernetes-embedded-resource'] === true;
    return isWhole ? { ...own, ...embedded } : own;
  }
}

const textTypes: Readonly<Record<string, string>> = {
  byte: 'bytes',
  date: 'google.protobuf.Timestamp',
  'date-time': 'google.protobuf.Timestamp',
  duration: 'google.protobuf.Duration',
};

function isMap(schema: Schema): schema is Schema & { additionalProperties: Schema } {
  return typeof schema.additionalProperties === 'object';
}

function textValue({ format, type }: Schema, text: string): unknown {
  if (type !== 'string') return text;
  if (format === 'byte') return new Uint8Array(Buffer.from(text, 'base64'));
  if (format === 'duration') return durationOf(text);
  if (format === 'date' || format === 'date-time') return new Date(text);
  return text;
}
