/** Addresses: one canonical form each, and texts that are none. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAddress } from '../../src/base/address.ts';

describe('an address has one canonical form', () => {
  test.each([
    ['10.0.0.7', '10.0.0.7', 'IPv4'],
    ['0.0.0.0', '0.0.0.0', 'IPv4'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1', 'IPv6'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1', 'IPv6'],
    ['2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8::1', 'IPv6'],
    ['0:0:0:0:0:0:0:0', '::', 'IPv6'],
    ['fe80::0001', 'fe80::1', 'IPv6'],
    ['::ffff:192.0.2.1', '192.0.2.1', 'IPv4'],
    ['::FFFF:c000:0201', '192.0.2.1', 'IPv4'],
    // As in Go and in the WHATWG URL parser: only the prefix ::ffff: makes an IPv4 address.
    ['::10.0.0.1', '::a00:1', 'IPv6'],
    ['64:ff9b::192.0.2.1', '64:ff9b::c000:201', 'IPv6'],
    ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4:5:6:c000:201', 'IPv6'],
  ])('%s is %s', (text, ip, family) => {
    expect(parseAddress(text)).toEqual({ ip, family });
  });

  test.each([
    '',
    ' 10.0.0.7',
    '10.0.0.7 ',
    '10.0.0.07',
    '010.0.0.7',
    '10.0.0',
    '10.0.0.256',
    '10.0.0.7:80',
    '[::1]',
    'fe80::1%eth0',
    '::ffff:192.0.2.01',
    '1::2::3',
    '12345::',
    'web-0',
    '0x7f.0.0.1',
    '2130706433',
  ])('"%s" is no address', (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });
});

test('every spelling of an IPv6 address gives what the WHATWG URL parser gives', () => {
  const address = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
  // Zeros are frequent, so that compression has something to choose from.
  const sparse = address.map((groups) => groups.map((group) => (group % 3 === 0 ? 0 : group)));
  fc.assert(
    fc.property(fc.oneof(address, sparse), fc.boolean(), (groups, upper) => {
      const spelled = groups.map((group) => group.toString(16).padStart(4, '0')).join(':');
      const found = parseAddress(upper ? spelled.toUpperCase() : spelled);
      if (found?.family === 'IPv4') return; // mapped
      expect(found?.ip).toBe(new URL(`http://[${spelled}]`).hostname.slice(1, -1));
    }),
  );
});

test('the canonical form of a canonical form is itself', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      const once = parseAddress(text);
      expect(once).toBeDefined();
      expect(parseAddress(once?.ip ?? '')).toEqual(once);
    }),
  );
});
