/** Validation rules of definitions (`x-kubernetes-validations`). */
import { describe, expect } from 'vitest';
import type { Client, Json, JsonObject } from './client.ts';
import { test as base, uniqueName } from './conformance.ts';
import { define, definitionOf, definitions, ruled, told } from './things.ts';

const text: JsonObject = { type: 'string', maxLength: 20 };
const whole = (properties: JsonObject, ...rules: JsonObject[]): JsonObject => ({
  type: 'object',
  properties: { spec: ruled({ type: 'object', properties }, ...rules) },
});

const parts: JsonObject = {
  n: ruled(
    { type: 'integer' },
    { rule: 'self > 3', messageExpression: 'self > 2 ? "never" : "must be more than 3"' },
    { rule: 'self >= oldSelf', message: 'may not shrink', reason: 'FieldValueForbidden' },
  ),
  s: ruled(
    text,
    { rule: 'self != "x"', message: ' not x ', reason: 'FieldValueDuplicate' },
    { rule: 'self != "x"', reason: 'FieldValueRequired' },
  ),
  list: {
    type: 'array',
    maxItems: 4,
    items: ruled(
      { type: 'object', required: ['name'], properties: { name: text, v: { type: 'integer' } } },
      { rule: 'self.v == oldSelf.v', message: 'fixed' },
    ),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
  },
  map: {
    type: 'object',
    maxProperties: 3,
    additionalProperties: ruled(
      text,
      { rule: 'self != "bad"', message: 'bad value' },
      { rule: 'self == oldSelf', message: 'fixed value' },
    ),
  },
  first: ruled(text, {
    rule: 'oldSelf.hasValue() || self == "first"',
    optionalOldSelf: true,
    message: 'must begin with first',
  }),
  where: ruled(
    {
      type: 'object',
      properties: { a: text, 'b-c': text, d: { type: 'object', properties: { e: text } } },
    },
    { rule: '!has(self.a) || self.a != "q"', fieldPath: '.a', message: 'a is q' },
    { rule: '!has(self.b__dash__c) || self.b__dash__c != "q"', fieldPath: "['b-c']", message: 'bc is q' },
    { rule: '!has(self.d) || !has(self.d.e) || self.d.e != "q"', fieldPath: '.d.e', message: 'e is q' },
  ),
  fails: ruled(
    { type: 'object', properties: { z: { type: 'integer' } } },
    { rule: '10 / self.z > 1', message: 'division' },
  ),
  pair: ruled({ type: 'array', maxItems: 5, items: text }, { rule: 'self.size() != 2', message: 'not two' }),
  yes: ruled({ type: 'boolean' }, { rule: 'self', message: 'must be true' }),
  small: ruled({ type: 'number' }, { rule: 'self < 2.0' }),
  either: ruled(
    { 'x-kubernetes-int-or-string': true },
    { rule: 'type(self) == int ? self < 5 : self == "all"', message: 'either' },
  ),
  when: ruled(
    { type: 'string', format: 'date-time' },
    { rule: 'self > timestamp("2020-01-01T00:00:00Z")', message: 'too early' },
  ),
  told: ruled(
    text,
    { rule: 'self != "x"', messageExpression: 'self.substring(5)', message: 'fallback' },
    { rule: 'self != "y"', messageExpression: 'self.substring(5)' },
  ),
  maybe: ruled({ ...text, nullable: true }, { rule: 'self != "no"', message: 'no' }),
  kept: ruled(text, { rule: 'self != "old"', message: 'not old' }),
};

const schemaOf = (more: JsonObject): JsonObject =>
  ruled(
    {
      type: 'object',
      properties: {
        spec: ruled(
          { type: 'object', properties: { ...parts, ...more } },
          { rule: '!has(self.n) || self.n < 100', message: 'n is big' },
        ),
        status: ruled(
          { type: 'object', properties: { k: { type: 'integer' } } },
          { rule: 'self.k < 4', message: 'status k' },
        ),
      },
    },
    { rule: 'self.metadata.name != "forbidden"', message: 'bad name' },
  );

async function defineRules(api: Client): Promise<{ path: string; group: string }> {
  const group = `${uniqueName('cel')}.example.com`;
  const version = { subresources: { status: {} }, schema: { openAPIV3Schema: schemaOf({}) } };
  const path = `/apis/${group}/v1/cels`;
  await define(api, definitionOf(group, 'cels', 'Cel', version, { scope: 'Cluster' }), path);
  return { path, group };
}

const test = base.extend<{ cels: { path: string; make: (spec: Json, name?: string) => JsonObject } }>({
  cels: [
    async ({ api }, use) => {
      const { path, group } = await defineRules(api);
      const make = (spec: Json, name = 'a') => ({
        apiVersion: `${group}/v1`,
        kind: 'Cel',
        metadata: { name },
        spec,
      });
      await use({ path, make });
      await api.delete(`${definitions}/cels.${group}`);
    },
    { scope: 'file' },
  ],
});

describe('an object that breaks a rule is refused', () => {
  test.for<[string, JsonObject, string[]]>([
    [
      'with the message that an expression makes',
      { n: 1 },
      ['spec.n: Invalid value: 1: must be more than 3'],
    ],
    [
      'for the reason of the rule',
      { s: 'x' },
      ['spec.s: Duplicate value: "x"', 'spec.s: Required value: failed rule: self != "x"'],
    ],
    ['at the key of a map', { map: { k: 'bad' } }, ['spec.map[k]: Invalid value: "bad": bad value']],
    [
      'on creation where oldSelf is optional',
      { first: 'no' },
      ['spec.first: Invalid value: "no": must begin with first'],
    ],
    [
      'at the field that the rule names',
      { where: { a: 'q', 'b-c': 'q', d: { e: 'q' } } },
      [
        'spec.where.a: Invalid value: a is q',
        'spec.where.b-c: Invalid value: bc is q',
        'spec.where.d.e: Invalid value: e is q',
      ],
    ],
    [
      'when the rule fails',
      { fails: { z: 0 } },
      ['spec.fails: Invalid value: "object": division by zero evaluating rule: division'],
    ],
    [
      'when the rule needs what is not there',
      { fails: {} },
      ['spec.fails: Invalid value: "object": no such key: z evaluating rule: division'],
    ],
    ['without repeating a list', { pair: ['a', 'b'] }, ['spec.pair: Invalid value: not two']],
    ['as a boolean', { yes: false }, ['spec.yes: Invalid value: false: must be true']],
    ['as a number', { small: 3 }, ['spec.small: Invalid value: 3: failed rule: self < 2.0']],
    ['as an integer or text', { either: 9 }, ['spec.either: Invalid value: 9: either']],
    [
      'as a time',
      { when: '2010-01-01T00:00:00Z' },
      ['spec.when: Invalid value: "2010-01-01T00:00:00Z": too early'],
    ],
    ['with the message, if its expression fails', { told: 'x' }, ['spec.told: Invalid value: "x": fallback']],
    [
      'with the rule, if there is nothing else',
      { told: 'y' },
      ['spec.told: Invalid value: "y": failed rule: self != "y"'],
    ],
    [
      'with all that it breaks, from the outside in',
      { n: 1000, s: 'x' },
      [
        'spec: Invalid value: n is big',
        'spec.s: Duplicate value: "x"',
        'spec.s: Required value: failed rule: self != "x"',
      ],
    ],
  ])('%s', async ([, spec, expected], { api, cels }) => {
    const reply = await api.post(`${cels.path}?dryRun=All`, cels.make(spec));
    expect(reply.code).toBe(422);
    expect(told(reply)).toEqual(expected);
  });

  test('for its name, which belongs to the whole', async ({ api, cels }) => {
    const reply = await api.post(`${cels.path}?dryRun=All`, cels.make({}, 'forbidden'));
    expect(told(reply)).toEqual(['<nil>: Invalid value: bad name']);
  });

  test('but what the schema refuses is not asked further', async ({ api, cels }) => {
    const reply = await api.post(`${cels.path}?dryRun=All`, cels.make({ n: 1, s: 5 }));
    expect(told(reply)).toEqual([
      'spec.s: Invalid value: "integer": spec.s in body must be of type string: "integer"',
      '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ]);
  });

  test('but null is held against no rule', async ({ api, cels }) => {
    const reply = await api.post(`${cels.path}?dryRun=All`, cels.make({ maybe: null }));
    expect(reply.code).toBe(201);
  });
});

describe('a change that breaks a rule is refused', () => {
  const change = async (api: Client, path: string, spec: JsonObject) =>
    api.patch(`${path}?dryRun=All`, 'merge', { spec });

  test('where the rule compares with what was', async ({ api, cels }) => {
    const name = uniqueName('u');
    const list = [
      { name: 'a', v: 1 },
      { name: 'b', v: 2 },
    ];
    const made = await api.post(cels.path, cels.make({ n: 10, list, map: { k: 'x' }, first: 'first' }, name));
    expect(made.code).toBe(201);
    const path = `${cels.path}/${name}`;
    expect(told(await change(api, path, { n: 5 }))).toEqual(['spec.n: Forbidden: may not shrink']);
    expect(
      told(
        await change(api, path, {
          list: [
            { name: 'b', v: 3 },
            { name: 'c', v: 9 },
          ],
        }),
      ),
    ).toEqual(['spec.list[0]: Invalid value: fixed']);
    expect(told(await change(api, path, { map: { k: 'y', j: 'new' } }))).toEqual([
      'spec.map[k]: Invalid value: "y": fixed value',
    ]);
    expect((await change(api, path, { first: 'other' })).code).toBe(200);
  });

  test('in the status', async ({ api, cels }) => {
    const name = uniqueName('u');
    await api.post(cels.path, cels.make({}, name));
    const path = `${cels.path}/${name}/status`;
    expect(told(await api.patch(path, 'merge', { status: { k: 7 } }))).toEqual([
      'status: Invalid value: status k',
    ]);
    expect((await api.patch(path, 'merge', { status: { k: 1 } })).code).toBe(200);
  });
});

describe('an object that breaks a rule already', () => {
  test('may keep what breaks it, and change the rest', async ({ api }) => {
    const group = `${uniqueName('old')}.example.com`;
    const path = `/apis/${group}/v1/olds`;
    const definition = (...rules: JsonObject[]) =>
      definitionOf(
        group,
        'olds',
        'Old',
        { schema: { openAPIV3Schema: whole({ kept: ruled(text, ...rules), other: text }) } },
        { scope: 'Cluster' },
      );
    await define(api, definition(), path);
    const old = { apiVersion: `${group}/v1`, kind: 'Old', metadata: { name: 'a' }, spec: { kept: 'old' } };
    await api.post(path, old);
    const stricter = definition({ rule: 'self != "old"', message: 'not old' });
    const name = `${definitions}/olds.${group}`;
    expect((await api.patch(name, 'merge', { spec: stricter.spec as Json })).code).toBe(200);
    const change = () => api.patch(`${path}/a`, 'merge', { spec: { other: uniqueName('x') } });
    expect((await change()).code).toBe(200);
    await api.delete(name);
  });
});
