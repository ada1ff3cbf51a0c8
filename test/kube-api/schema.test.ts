import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { equal, type Json, type JsonObject } from '../../packages/kube-api/json.ts';
import { builtinResources } from '../../packages/kube-api/resources/builtin-resources.ts';
import { builtinSchema } from '../../packages/kube-api/schema/builtin-schemas.ts';
import {
  canonicalMicroTime,
  canonicalTime,
  firstBadBase64Byte,
  hasFormat,
  isQuantity,
} from '../../packages/kube-api/schema/formats.ts';
import type { Schema } from '../../packages/kube-api/schema/schema.ts';
import { fillDefaults, prune } from '../../packages/kube-api/schema/structural.ts';
import { DecodeError, decode } from '../../packages/kube-api/schema/typed-decode.ts';
import { validate } from '../../packages/kube-api/schema/validate.ts';
import { kubeTypes, kubeTypesFile } from '../../scripts/kube-types.ts';
import { fc, test as property } from './properties.ts';

describe('built-in types', () => {
  test('the table is the one that the installed client makes (node scripts/kube-types.ts)', () => {
    expect(readFileSync(kubeTypesFile, 'utf8')).toBe(kubeTypes());
  });

  test('every built-in resource has its type', () => {
    for (const { schema } of builtinResources)
      expect(Object.keys(schema.properties ?? {})).toContain('metadata');
  });

  test('an object that was read once is read the same again', () => {
    const pod: JsonObject = {
      metadata: { name: 'a', labels: { a: 'b' }, finalizers: [], generation: 1 },
      spec: {
        containers: [{ name: 'c', image: 'i', resources: { limits: { cpu: 2 } } }],
        hostNetwork: false,
      },
      status: {
        conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2024-01-01T02:00:00.5+02:00' }],
      },
    };
    const once = decode(builtinSchema('Pod'), pod, []);
    expect(decode(builtinSchema('Pod'), once, [])).toEqual(once);
    expect(once).toMatchObject({
      spec: { containers: [{ resources: { limits: { cpu: '2' } } }] },
      status: { conditions: [{ lastTransitionTime: '2024-01-01T00:00:00Z' }] },
    });
    expect((once as { metadata: JsonObject }).metadata.finalizers).toBeUndefined();
  });

  property([fc.json], 'anything at all is read or refused', (value) => {
    try {
      decode(builtinSchema('Deployment'), value, []);
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(DecodeError);
    }
  });
});

describe('forms of text', () => {
  test.each([
    ['2024-05-06T07:08:09Z', '2024-05-06T07:08:09Z'],
    ['2024-05-06T07:08:09.999Z', '2024-05-06T07:08:09Z'],
    ['2024-05-06T07:08:09+02:00', '2024-05-06T05:08:09Z'],
    ['2024-05-06', undefined],
    ['2024-13-06T07:08:09Z', undefined],
    ['', undefined],
  ])('the time %s is %s', (text, expected) => {
    expect(canonicalTime(text)).toBe(expected);
  });

  test.each([
    ['2024-05-06T07:08:09.123456Z', '2024-05-06T07:08:09.123456Z'],
    ['2024-05-06T00:08:09.000001-01:00', '2024-05-06T01:08:09.000001Z'],
    ['2024-05-06T07:08:09.12345Z', undefined],
    ['2024-05-06T07:08:09.1234567Z', undefined],
    ['2024-05-06T07:08:09Z', undefined],
  ])('the micro time %s is %s', (text, expected) => {
    expect(canonicalMicroTime(text)).toBe(expected);
  });

  test.each(['1', '0.5', '100m', '1Gi', '1e3', '-2', '+1k', '.5'])('%s is a quantity', (text) => {
    expect(isQuantity(text)).toBe(true);
  });

  test.each(['', 'x', '1 Gi', '1.2.3', '1KiB'])('"%s" is no quantity', (text) => {
    expect(isQuantity(text)).toBe(false);
  });

  test.each([
    ['', -1],
    ['eA==', -1],
    ['YWI=', -1],
    ['YWJj', -1],
    ['!', 0],
    ['YW!j', 2],
    ['YWJjZ', 4],
  ])('"%s" is base64 up to byte %i', (text, byte) => {
    expect(firstBadBase64Byte(text)).toBe(byte);
  });

  property([fc.uint8Array()], 'what is base64 is taken', (bytes) => {
    expect(firstBadBase64Byte(Buffer.from(bytes).toString('base64'))).toBe(-1);
  });

  test('a format that is not known is not checked', () => {
    expect(hasFormat('anything', 'colour')).toBe(true);
    expect(hasFormat('nothing', 'date-time')).toBe(false);
  });
});

describe('structural schemas', () => {
  const schema: Schema = {
    type: 'object',
    properties: {
      a: { type: 'string', default: 'filled' },
      b: { type: 'object', properties: { c: { type: 'integer', default: 1 } } },
      items: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } },
    },
  };
  const clean = (value: JsonObject): Json => fillDefaults(schema, prune(schema, value, []));

  property(
    [fc.jsonObject],
    'pruning and filling in twice is doing it once, and changes no argument',
    (value) => {
      const before = JSON.stringify(value);
      const once = clean(value);
      expect(equal(clean(once as JsonObject), once)).toBe(true);
      expect(JSON.stringify(value)).toBe(before);
    },
  );

  property([fc.json], 'anything at all can be validated', (value) => {
    expect(Array.isArray(validate(schema, value))).toBe(true);
  });

  test('unknown fields are told by their path', () => {
    const unknown: string[] = [];
    prune(schema, { a: 'x', z: 1, b: { c: 1, d: 2 }, items: [{ name: 'n', more: 1 }] }, unknown);
    expect(unknown.sort()).toEqual(['b.d', 'items[0].more', 'z']);
  });

  test('defaults are filled into defaults', () => {
    const nested: Schema = {
      type: 'object',
      properties: { o: { type: 'object', default: {}, properties: { p: { type: 'integer', default: 7 } } } },
    };
    expect(fillDefaults(nested, {})).toEqual({ o: { p: 7 } });
  });
});
