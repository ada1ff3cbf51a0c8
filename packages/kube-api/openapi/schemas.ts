/**
 * Built-in schemas in OpenAPI: each type under its own name, with descriptions, defaults, and how lists are
 * merged (`x-kubernetes-patch-*`), which `kubectl apply`, `edit` and `explain` read.
 */
import { equal, type Json, type JsonObject } from '../json.ts';
import type { Schema } from '../schema/schema.ts';
import { typeText } from './descriptions.ts';
import { schemaName } from './schema-names.ts';

/** The schemas of a document by name; types are added when they are first used. */
export type Components = Map<string, JsonObject>;

const intOrString = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString';
const quantity = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
const moment = 'io.k8s.apimachinery.pkg.apis.meta.v1.Time';
const preciseMoment = 'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime';

const scalars: Readonly<Record<string, JsonObject>> = {
  [intOrString]: {
    description: 'A number or a text.',
    format: 'int-or-string',
    oneOf: [{ type: 'integer' }, { type: 'string' }],
  },
  [quantity]: {
    description: 'An amount with a unit, e.g. 500m or 1Gi.',
    oneOf: [{ type: 'string' }, { type: 'number' }],
  },
  [moment]: { description: 'A moment, in RFC 3339.', type: 'string', format: 'date-time' },
  [preciseMoment]: {
    description: 'A moment with microseconds, in RFC 3339.',
    type: 'string',
    format: 'date-time',
  },
};

export function reference(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

/** Adds a built-in type and everything that it consists of; returns its name. */
export function addType(components: Components, schema: Schema): string {
  const type = schema.builtin?.name ?? '';
  const name = schemaName(type);
  if (components.has(name)) return name;
  const result: JsonObject = {};
  components.set(name, result);
  const text = typeText(type);
  if (text.description !== '') result.description = text.description;
  result.type = 'object';
  const required = [...text.fields].filter(([, field]) => field.isRequired).map(([field]) => field);
  if (required.length > 0) result.required = required;
  const properties: JsonObject = {};
  for (const [field, inner] of Object.entries(schema.properties ?? {})) {
    const description = text.fields.get(field)?.description ?? '';
    const fallback = schema.builtin?.defaults[field];
    properties[field] = described(fieldOf(components, inner), description, fallback);
  }
  result.properties = properties;
  if (schema['x-kubernetes-map-type'] !== undefined) result['x-kubernetes-map-type'] = 'atomic';
  return name;
}

/** A reference cannot have siblings, so it goes inside. */
function described(field: JsonObject, description: string, fallback: Json | undefined): JsonObject {
  const words = {
    ...(description === '' ? {} : { description }),
    ...(fallback === undefined ? {} : { default: fallback }),
  };
  if (equal(words, {})) return field;
  const { $ref, ...rest } = field;
  return $ref === undefined ? { ...words, ...field } : { ...words, ...rest, allOf: [{ $ref }] };
}

function fieldOf(components: Components, schema: Schema): JsonObject {
  if (schema.type === 'array') return listOf(components, schema);
  if (schema.builtin !== undefined) {
    const strategy = schema.builtin.retainKeys ? { 'x-kubernetes-patch-strategy': 'retainKeys' } : {};
    return { ...reference(addType(components, schema)), ...strategy };
  }
  if (typeof schema.additionalProperties === 'object') {
    return { type: 'object', additionalProperties: fieldOf(components, schema.additionalProperties) };
  }
  if (schema['x-kubernetes-int-or-string']) return scalar(components, intOrString);
  if (schema['x-kubernetes-preserve-unknown-fields']) return { 'x-kubernetes-preserve-unknown-fields': true };
  if (schema.format === 'quantity') return scalar(components, quantity);
  if (schema.format === 'time') return scalar(components, moment);
  if (schema.format === 'microtime') return scalar(components, preciseMoment);
  if (schema.format === 'bytes') return { type: 'string', format: 'byte' };
  return {
    ...(schema.type === undefined ? {} : { type: schema.type }),
    ...(schema.format === undefined ? {} : { format: schema.format }),
  };
}

function scalar(components: Components, name: string): JsonObject {
  components.set(name, scalars[name] ?? {});
  return reference(name);
}

function listOf(components: Components, schema: Schema): JsonObject {
  const items = schema.items ?? {};
  const inner = fieldOf(components, items);
  delete inner['x-kubernetes-patch-strategy'];
  const keys = schema['x-kubernetes-list-map-keys'];
  const { mergeKey } = schema;
  const strategy = items.builtin?.retainKeys ? 'merge,retainKeys' : 'merge';
  return {
    type: 'array',
    items: inner,
    ...(keys === undefined ? {} : { 'x-kubernetes-list-map-keys': [...keys] }),
    'x-kubernetes-list-type': schema['x-kubernetes-list-type'] ?? 'atomic',
    ...(mergeKey === undefined || mergeKey === '' ? {} : { 'x-kubernetes-patch-merge-key': mergeKey }),
    ...(mergeKey === undefined ? {} : { 'x-kubernetes-patch-strategy': strategy }),
  };
}
