/** The language of validation rules: Kubernetes' functions, and what its compiler refuses. */
import { describe, expect } from 'vitest';
import type { Client, JsonObject } from './client.ts';
import { test, uniqueName } from './conformance.ts';
import { define, definitionOf, definitions, ruled, told } from './things.ts';

const text: JsonObject = { type: 'string', maxLength: 20 };
const whole = (properties: JsonObject, ...rules: JsonObject[]): JsonObject => ({
  type: 'object',
  properties: { spec: ruled({ type: 'object', properties }, ...rules) },
});

describe('expressions', () => {
  const object: JsonObject = {
    name: 'web-1',
    count: 3,
    words: ['b', 'a', 'c'],
    labels: { app: 'x', tier: 'y' },
    ports: [
      { name: 'http', port: 80 },
      { name: 'https', port: 443 },
    ],
  };
  const properties: JsonObject = {
    name: text,
    count: { type: 'integer' },
    words: { type: 'array', maxItems: 5, items: text },
    labels: { type: 'object', maxProperties: 5, additionalProperties: text },
    ports: {
      type: 'array',
      maxItems: 5,
      items: {
        type: 'object',
        properties: { name: text, port: { type: 'integer' }, protocol: text },
      },
    },
    absent: text,
  };
  const holding = [
    'self.name.startsWith("web") && self.name.endsWith("1") && self.name.contains("b-")',
    'self.name.matches("^[a-z]+-[0-9]$")',
    'self.name.find("[0-9]") == "1" && self.name.findAll("[a-z]") == ["w", "e", "b"]',
    'self.name.split("-") == ["web", "1"] && self.name.split("-", 1) == ["web-1"]',
    'self.name.upperAscii() == "WEB-1" && self.name.upperAscii().lowerAscii() == self.name',
    'self.name.replace("web", "db") == "db-1" && self.name.charAt(0) == "w" && self.name.substring(4) == "1"',
    'self.name.indexOf("-") == 3 && self.name.lastIndexOf("e") == 1 && " a ".trim() == "a"',
    '"%s has %d of %.2f".format([self.name, self.count, 1.5]) == "web-1 has 3 of 1.50"',
    'size(self.words) == 3 && self.words.size() == 3 && size(self.name) == 5 && size(self.labels) == 2',
    '!self.words.isSorted() && self.words.min() == "a" && self.words.max() == "c"',
    '[1, 2, 3].sum() == 6 && [1.5, 2.5].sum() == 4.0 && self.words.indexOf("a") == 1',
    'sets.contains(self.words, ["a"]) && sets.equivalent(self.words, ["a", "b", "c"]) && sets.intersects(self.words, ["c", "d"])',
    'self.labels.all(k, self.labels[k] != "") && self.labels.exists(k, k == "app") && "tier" in self.labels',
    'self.ports.exists_one(p, p.port == 80) && self.ports.map(p, p.name) == ["http", "https"]',
    'self.ports.filter(p, p.port > 100).size() == 1 && self.ports.map(p, p.port > 100, p.name)[0] == "https"',
    'has(self.name) && !has(self.absent) && !has(self.ports[0].protocol) && has(self.ports[0].name)',
    'self.ports[0] == self.ports[0] && self.ports[0] != self.ports[1] && self.ports == self.ports',
    'self.count + 1 == 4 && self.count % 2 == 1 && double(self.count) / 2.0 == 1.5 && string(self.count) == "3"',
    'self.?absent.orValue("none") == "none" && self.?name.hasValue()',
    'duration("90s") < duration("2m") && timestamp("2024-05-06T07:08:09Z").getFullYear() == 2024',
    'quantity("1.5Gi").isGreaterThan(quantity("1500Mi")) && quantity("500m").add(quantity("0.5")).compareTo(quantity("1")) == 0',
    'isQuantity("10k") && !isQuantity("ten") && quantity("2k").asInteger() == 2000',
    'ip("127.0.0.1").family() == 4 && ip("::1").isLoopback() && isIP("10.0.0.1") && !isIP("10.0.0")',
    'cidr("10.0.0.0/8").containsIP("10.1.2.3") && !cidr("10.0.0.0/8").containsIP(ip("11.0.0.1"))',
    'cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && cidr("10.0.0.0/8").prefixLength() == 8 && isCIDR("::/0")',
    'url("https://a.example:8443/b?c=d").getHost() == "a.example:8443" && url("https://a.example/b").getScheme() == "https"',
    'isURL("https://a.example/b") && url("https://a.example:8443/b").getPort() == "8443" && url("https://a.example/b").getEscapedPath() == "/b"',
    'self.name == "say has(x)" ? false : true',
  ];

  test('know the functions of Kubernetes', async ({ api }) => {
    const group = `${uniqueName('fn')}.example.com`;
    const rules = holding.map((rule) => ({ rule, message: rule }));
    const version = { schema: { openAPIV3Schema: whole(properties, ...rules) } };
    const definition = definitionOf(group, 'fns', 'Fn', version, { scope: 'Cluster' });
    await define(api, definition, `/apis/${group}/v1/fns`);
    const fn = { apiVersion: `${group}/v1`, kind: 'Fn', metadata: { name: 'a' }, spec: object };
    const reply = await api.post(`/apis/${group}/v1/fns`, fn);
    expect(told(reply)).toEqual([]);
    expect(reply.code).toBe(201);
    await api.delete(`${definitions}/fns.${group}`);
  });

  const refused = async (api: Client, properties: JsonObject, ...rules: JsonObject[]) => {
    const group = `${uniqueName('bad')}.example.com`;
    const version = { schema: { openAPIV3Schema: whole(properties, ...rules) } };
    return api.post(`${definitions}?dryRun=All`, definitionOf(group, 'bads', 'Bad', version));
  };
  const place = 'spec.validation.openAPIV3Schema.properties[spec]';
  const value = (rule: string, more: JsonObject = {}) =>
    JSON.stringify({
      Rule: rule,
      Message: '',
      MessageExpression: '',
      Reason: null,
      FieldPath: '',
      OptionalOldSelf: null,
      ...more,
    });

  test.for<[string, string]>([
    ['self.foo == "a"', '1:5: undefined field \'foo\'\n | self.foo == "a"\n | ....^'],
    ['has(self.foo)', "1:4: undefined field 'foo'\n | has(self.foo)\n | ...^"],
    [
      'self.a + 1 == 2',
      "1:8: found no matching overload for '_+_' applied to '(string, int)'\n | self.a + 1 == 2\n | .......^",
    ],
    ['cel == 2', "1:1: undeclared reference to 'cel' (in container '')\n | cel == 2\n | ^"],
    ['foo == 2', "1:1: undeclared reference to 'foo' (in container '')\n | foo == 2\n | ^"],
    [
      'self.a.nofn()',
      "1:12: undeclared reference to 'nofn' (in container '')\n | self.a.nofn()\n | ...........^",
    ],
  ])('that do not compile are refused with their definition: %s', async ([rule, problem], { api }) => {
    const reply = await refused(api, { a: text }, { rule });
    expect(reply.code).toBe(422);
    expect(told(reply)).toEqual([
      `${place}.x-kubernetes-validations[0].rule: Invalid value: ${value(rule)}: compilation failed: ERROR: <input>:${problem}`,
    ]);
  });

  test('that cannot be read are refused with their definition', async ({ api }) => {
    const reply = await refused(api, { a: text }, { rule: 'self.a ==' });
    expect(reply.code).toBe(422);
    expect(told(reply)[0]).toMatch(/compilation failed: ERROR: <input>:1:10: Syntax error: /);
  });

  test.for<[JsonObject, string]>([
    [{ rule: 'self.a' }, `rule: Invalid value: ${value('self.a')}: cel expression must evaluate to a bool`],
    [{ rule: '' }, 'rule: Required value: rule is not specified'],
    [{ rule: 'true', message: 'a\nb' }, 'message: Invalid value: "a\\nb": must not contain line breaks'],
    [
      { rule: 'self.a ==\n"x"' },
      'message: Required value: message must be specified if rule contains line breaks',
    ],
    [
      { rule: 'true', reason: 'Nope' },
      'reason: Unsupported value: "Nope": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
    ],
    [{ rule: 'true', fieldPath: '.nope' }, 'fieldPath: Invalid value: ".nope": must be a valid path'],
    [{ rule: 'true', fieldPath: 'a' }, 'fieldPath: Invalid value: "a": must be a valid path'],
    [
      { rule: 'true', optionalOldSelf: true },
      'optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule',
    ],
    [
      { rule: 'true', messageExpression: '1' },
      `messageExpression: Invalid value: ${value('true', { MessageExpression: '1' })}: messageExpression must evaluate to a string`,
    ],
    [
      { rule: 'true', messageExpression: 'self.no' },
      `messageExpression: Invalid value: ${value('true', { MessageExpression: 'self.no' })}: messageExpression compilation failed: ERROR: <input>:1:5: undefined field 'no'\n | self.no\n | ....^`,
    ],
  ])('are refused with their definition if something else is wrong: %j', async ([rule, problem], { api }) => {
    const reply = await refused(api, { a: text }, rule);
    expect(reply.code).toBe(422);
    expect(told(reply)).toEqual([`${place}.x-kubernetes-validations[0].${problem}`]);
  });

  test('cannot compare items of a list without keys', async ({ api }) => {
    const items = ruled(text, { rule: 'self == oldSelf' });
    const reply = await refused(api, { l: { type: 'array', maxItems: 3, items } });
    expect(told(reply)).toEqual([
      `${place}.properties[l].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ${place}.properties[l]`,
    ]);
  });
});
