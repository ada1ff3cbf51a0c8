/** Defaults of definitions: a definition whose own defaults break its schema is refused. */
import { describe, expect } from 'vitest';
import type { Client, Json, JsonObject, Reply } from './client.ts';
import { test, uniqueName } from './conformance.ts';
import { definitionOf, definitions, ruled, told } from './things.ts';

const whole = (n: JsonObject): JsonObject => ({ type: 'integer', ...n });
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
});
const list = (items: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'array',
  maxItems: 3,
  items,
  ...more,
});
const above3 = { rule: 'self > 3', message: 'more than 3' };
const x3 = { rule: 'self.x > 3', message: 'x more than 3' };

/** Asks for a definition in which `spec.a` has the schema. */
function define(api: Client, schema: JsonObject): Promise<Reply> {
  const openAPIV3Schema = object({ spec: object({ a: schema }) });
  const group = `${uniqueName('g')}.example.com`;
  const version = { schema: { openAPIV3Schema } };
  return api.post(`${definitions}?dryRun=All`, definitionOf(group, 'things', 'Thing', version));
}

const place = 'spec.validation.openAPIV3Schema.properties[spec].properties[a]';

describe('defaults', () => {
  test.for<[string, Json, string[]]>([
    [
      'of another type',
      whole({ default: 'x' }),
      ['.default: Invalid value: "string":  in body must be of type integer: "string"'],
    ],
    [
      'above the maximum',
      whole({ maximum: 5, default: 7 }),
      ['.default: Invalid value: 7:  in body should be less than or equal to 5'],
    ],
    [
      'that are no choice',
      { type: 'string', enum: ['X', 'Y'], default: 'Z' },
      ['.default: Unsupported value: "Z": supported values: "X", "Y"'],
    ],
    [
      'that lack a field, though that field has a default',
      object({ x: whole({ default: 1 }) }, { required: ['x'], default: {} }),
      ['.default.x: Required value'],
    ],
    [
      'with a field that the schema does not know',
      object({ x: whole({}) }, { default: { y: 1 } }),
      ['.default: Invalid value: {"y":1}: must not have unknown fields'],
    ],
    [
      'of items',
      list(whole({ maximum: 3, default: 9 })),
      ['.items.default: Invalid value: 9:  in body should be less than or equal to 3'],
    ],
    [
      'within a default, and the default around it',
      object({ x: whole({ maximum: 3, default: 9 }) }, { default: { x: 8 } }),
      [
        '.default.x: Invalid value: 8: x in body should be less than or equal to 3',
        '.properties[x].default: Invalid value: 9:  in body should be less than or equal to 3',
      ],
    ],
    ['against a rule', ruled(whole({ default: 1 }), above3), ['.default: Invalid value: 1: more than 3']],
    [
      'against a rule of a field within',
      object({ x: ruled(whole({}), above3) }, { default: { x: 1 } }),
      ['.default.x: Invalid value: 1: more than 3'],
    ],
    [
      'for which a rule asks what only an inner default would fill in',
      ruled(object({ x: whole({ default: 5 }) }, { default: {} }), x3),
      ['.default: Invalid value: "object": no such key: x evaluating rule: x more than 3'],
    ],
    [
      'against the schema and a rule, of which the schema is told',
      ruled(whole({ maximum: 5, default: 7 }), { rule: 'self < 3', message: 'less than 3' }),
      ['.default: Invalid value: 7:  in body should be less than or equal to 5'],
    ],
  ])('%s are refused with their definition', async ([, schema, problems], { api }) => {
    const reply = await define(api, schema as JsonObject);
    expect(reply.code).toBe(422);
    expect(told(reply).sort()).toEqual(problems.map((problem) => `${place}${problem}`));
  });

  test.for<[string, Json]>([
    ['which are null', whole({ default: null })],
    [
      'which a rule of the object around them will refuse',
      ruled(object({ x: whole({ default: 1 }) }), { rule: '!has(self.x) || self.x > 3' }),
    ],
    ['which a rule compares with an old value', ruled(whole({ default: 1 }), { rule: 'self == oldSelf' })],
    [
      'that say an item of a set twice',
      list(whole({}), { 'x-kubernetes-list-type': 'set', default: [1, 1] }),
    ],
    [
      'of values by key',
      {
        type: 'object',
        maxProperties: 3,
        additionalProperties: object({ x: whole({ maximum: 3, default: 9 }) }),
      },
    ],
  ])('%s are taken', async ([, schema], { api }) => {
    expect((await define(api, schema as JsonObject)).code).toBe(201);
  });
});
