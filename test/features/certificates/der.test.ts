/** DER as X.690 and RFC 5280 have it. */
import { expect, test } from 'vitest';
import {
  bitString,
  childrenOf,
  context,
  element,
  oid,
  sequence,
  tags,
  time,
} from '../../../src/features/certificates/acme/der.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

test.each([
  ['2.5.29.35', '0603551d23'],
  ['1.2.840.113549.1.1.11', '06092a864886f70d01010b'],
  ['1.3.101.112', '06032b6570'],
])('the object identifier %s', (text, bytes) => {
  expect(hex(oid(text))).toBe(bytes);
});

test.each([
  ['2049-12-31T23:59:59.999Z', tags.utcTime, '491231235959Z'],
  ['2050-01-01T00:00:00.000Z', tags.generalizedTime, '20500101000000Z'],
])('RFC 5280 4.1.2.5: %s', (text, tag, written) => {
  const [read] = childrenOf(time(Date.parse(text)));
  expect(read?.tag).toBe(tag);
  expect(read?.content.toString()).toBe(written);
});

test.each([0, 1, 127, 128, 255, 256, 65_535, 65_536])('a content of %i bytes is read back', (length) => {
  const content = Buffer.alloc(length, 7);
  const whole = sequence(element(context(2), content), bitString(content));
  const [outer, behind] = childrenOf(whole);
  expect(behind).toBeUndefined();
  const [first, second] = childrenOf(outer?.content);
  expect(first).toMatchObject({ tag: 0x82 });
  expect(first?.content.equals(content)).toBe(true);
  expect(second?.content.byteLength).toBe(length + 1);
  expect(outer?.whole.equals(whole)).toBe(true);
});

test('what ends too early is nothing', () => {
  const whole = sequence(Buffer.alloc(300));
  for (const length of [0, 1, 2, 3, 200]) expect(childrenOf(whole.subarray(0, length))).toEqual([]);
  expect(childrenOf(undefined)).toEqual([]);
});
