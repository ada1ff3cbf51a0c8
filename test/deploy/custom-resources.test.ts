/**
 * The definitions in deploy/crds are made of what the features declare, and what the API server lets in by
 * them is what the program can read.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Json, JsonObject } from '../../packages/kube-api/json.ts';
import { ruleCauses } from '../../packages/kube-api/schema/cel/rule-check.ts';
import type { Schema } from '../../packages/kube-api/schema/schema.ts';
import { fillDefaults } from '../../packages/kube-api/schema/structural.ts';
import { validate } from '../../packages/kube-api/schema/validate.ts';
import { customResource } from '../../scripts/docs/custom-resource-tables.ts';
import { declared, definitionOf, withSpec } from '../../scripts/docs/custom-resources.ts';
import { readIssuerSpec } from '../../src/features/certificates/issuer-spec.ts';
import { readSpec } from '../../src/kube/api/spec-fields.ts';

const manifest = (plural: string) =>
  readFileSync(join(import.meta.dirname, '../..', definitionOf(plural)), 'utf8');
const specOf = (text: string) =>
  parse(text).spec.versions[0].schema.openAPIV3Schema.properties.spec as Schema;

const selector = {
  matchLabels: { app: 'web' },
  matchExpressions: [{ key: 'tier', operator: 'In', values: ['a', 'b'] }],
};
const secret = { name: 'key', namespace: 'orrery' };
/** With every field once. */
const whole: Readonly<Record<string, JsonObject>> = {
  domains: { host: 'shop.example.com', secretName: 'shop', issuer: 'internal', sharedWith: ['bank'] },
  elections: {
    lease: { name: 'till', namespace: 'bank' },
    ...{ leaseDurationSeconds: 15, renewDeadlineSeconds: 10, retryPeriodSeconds: 2, releaseOnCancel: true },
  },
  issuers: {
    domains: ['**.example.com'],
    allowedNamespaces: selector,
    acme: {
      server: 'https://acme.example.com/directory',
      email: 'a@example.com',
      eab: { keyId: 'k', secretRef: { ...secret, key: 'hmac' } },
      profile: 'short',
      accountSecret: secret,
      challenge: 'http01',
    },
    budget: { ordersPer3h: 1, certificatesPerDomainPer7d: 2, duplicatesPer7d: 3 },
  },
  routegates: {
    conditionType: 'example.com/routed',
    podSelector: selector,
    group: { podLabel: 'app', serviceLabel: 'example.com/app' },
    serviceSelector: {},
    groupResource: {
      apiVersion: 'example.com/v1',
      kind: 'Group',
      require: { 'spec.type': 'egress' },
      replicas: { path: 'spec.replicas', default: 2 },
    },
    probe: {
      portName: 'health',
      path: '/healthz',
      podIPHeaders: { IPv4: 'A', IPv6: 'B' },
      timeoutSeconds: 3,
      attemptsPerReplica: 3,
      address: 'dns',
      onlyIfEnv: { name: 'A', value: 'b' },
    },
    whenRouteIsLost: 'keep',
    whenUnverifiable: 'pass',
  },
};

test.each([...Object.keys(declared), 'releases'])(
  'of %s, kubectl explain and the reference say something of each field',
  (plural) => {
    const reference = customResource(manifest(plural));
    expect(reference).toMatch(/^\| `status\.conditions` \| list of objects \| \w/m);
    // A row whose third cell, the meaning, is empty.
    expect(reference.match(/^\| [^|]+\| [^|]+\| {2}\|.*$/gm) ?? []).toEqual([]);
  },
);

describe.each(Object.entries(declared))('%s', (plural, spec) => {
  const text = manifest(plural);
  const schema = specOf(text);

  test('a manifest of another schema gets the declared one, and keeps its words', () => {
    const [before = '', after = ''] = text.split(/(?=^ {12}status:$)/m);
    const other = before.replaceAll(/^( +)(maxLength|maximum|maxItems): \d+$/gm, '$1$2: 7') + after;
    expect(specOf(other)).not.toEqual(schema);
    expect(parse(withSpec(other, spec))).toEqual(parse(text));
  });

  test('what has every field is taken by the API server and by the program', () => {
    expect(refusals(schema, whole[plural] ?? {})).toEqual([]);
    expect(readSpec(spec, whole[plural])).not.toHaveProperty('invalid');
  });

  test('what the program can read, the API server lets in, with the same defaults', () => {
    const readable = [...changed(whole[plural] ?? {})].filter((one) => !('invalid' in read(one)));
    expect(readable.filter((one) => refusals(schema, one).length > 0)).toEqual([]);
    for (const one of readable) expect(read(one)).toEqual(read(filled(schema, one) as JsonObject));
    expect(readable.length).toBeGreaterThan(10);
  });

  const read = (one: JsonObject) => readSpec(spec, one) as object;
});

// A Domain and an Issuer are held to more than a schema can say: names in other scripts, certificates in PEM.
test.each(['elections', 'routegates'])(
  'of %s the program can read all that the API server lets in',
  (plural) => {
    const [spec, schema] = [declared[plural], specOf(manifest(plural))];
    const taken = [...changed(whole[plural] ?? {})].filter((one) => refusals(schema, one).length === 0);
    const misread = taken.filter((one) => spec === undefined || 'invalid' in (readSpec(spec, one) as object));
    expect(misread).toEqual([]);
    expect(taken.length).toBeGreaterThan(10);
  },
);

test('an Issuer by both ways, or none, is refused by both in the same words', () => {
  const schema = specOf(manifest('issuers'));
  const ca = { secret };
  const both: JsonObject[] = [{ domains: ['a.com'] }, { ...whole.issuers, ca }];
  for (const spec of both) {
    expect(refusals(schema, spec)).toEqual([expect.stringContaining('exactly one of acme and ca')]);
    expect(readIssuerSpec(spec)).toEqual({ invalid: 'spec: exactly one of acme and ca must be given' });
  }
});

const filled = (schema: Schema, spec: JsonObject) => fillDefaults(schema, structuredClone(spec));

/** What an API server answers to an object with that specification. */
function refusals(schema: Schema, spec: JsonObject): readonly string[] {
  const given = filled(schema, spec);
  const causes = validate(schema, given, 'spec');
  return [...causes, ...ruleCauses(schema, given, undefined, causes)].map(({ message }) => message);
}

const values: ReadonlyArray<Json | undefined> = [
  ...[undefined, 0, 1, 2, 61, 2.5, -1, true, [], {}, ['a', ''], [{ key: 'a', operator: 'In' }]],
  ...['', 'a', 'A b', 'a/b/c', '/a#b', '-x', 'x'.repeat(400), 'Ready', 'B', { 'a b': 'c' }],
];

/** Each field of it as each of the values, or not there. */
function* changed(from: JsonObject): Generator<JsonObject> {
  for (const place of placesOf(from)) {
    for (const value of values) {
      const copy = structuredClone(from);
      const parent = place.slice(0, -1).reduce<JsonObject>((at, key) => at[key] as JsonObject, copy);
      const last = place.at(-1) ?? '';
      if (value !== undefined) parent[last] = value;
      else if (Array.isArray(parent)) parent.splice(Number(last), 1);
      else delete parent[last];
      yield copy;
    }
  }
}

function placesOf(value: Json | undefined, at: readonly string[] = []): ReadonlyArray<readonly string[]> {
  const here = at.length === 0 ? [] : [at];
  if (typeof value !== 'object' || value === null) return here;
  return [...here, ...Object.entries(value).flatMap(([key, one]) => placesOf(one, [...at, key]))];
}

test.each(['domains', 'issuers'])('a wide list of %s says why one is not Ready', (plural) => {
  const { additionalPrinterColumns: columns } = parse(manifest(plural)).spec.versions[0];
  expect(columns).toContainEqual({
    name: 'Message',
    type: 'string',
    jsonPath: '.status.conditions[?(@.type=="Ready")].message',
    priority: 1,
  });
});
