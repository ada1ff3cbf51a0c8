/** How a certificate is called at its authority (RFC 9773 4.1). */
import { X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { renewalIdOf } from '../../../src/features/certificates/acme/renewal-id.ts';
import { makeAuthority } from './test-authority.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(/[\s:]/g, ''), 'hex');

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const length =
    content.byteLength < 128
      ? Buffer.from([content.byteLength])
      : Buffer.from([0x82, content.byteLength >> 8, content.byteLength & 0xff]);
  return Buffer.concat([Buffer.from([tag]), length, content]);
}

const pem = (bytes: Buffer) =>
  `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64')}\n-----END CERTIFICATE-----\n`;
const keyId = hex('69:88:5B:6B:87:46:40:41:E1:B3:7B:84:7B:A0:AE:2C:DE:01:C8:D4');
const extension = (oid: string, value: Buffer) => der(0x30, der(0x06, hex(oid)), der(0x04, value));

function certificate(serial: string, ...extensions: readonly Buffer[]): string {
  const version = der(0xa0, der(0x02, hex('02')));
  const names = der(0x30, Buffer.alloc(200));
  const fields = [version, der(0x02, hex(serial)), names, der(0xa3, der(0x30, ...extensions))];
  return pem(der(0x30, der(0x30, ...fields), names));
}

test('the example of RFC 9773', () => {
  const other = extension('551d11', der(0x30, hex('820161')));
  const own = extension('551d23', der(0x30, der(0x80, keyId)));
  expect(renewalIdOf(certificate('00:87:65:43:21', other, own))).toBe('aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE');
});

test('one that does not say who issued it has none', () => {
  expect(renewalIdOf(certificate('01'))).toBeNull();
  expect(renewalIdOf(certificate('01', extension('551d23', der(0x30, der(0x81, keyId)))))).toBeNull();
  expect(renewalIdOf('no certificate')).toBeNull();
});

test('real ones: the serial number is the one that OpenSSL reads, whatever its first bit', async () => {
  const authority = await makeAuthority('ids');
  for (let n = 0; n < 12; n++) {
    const { chain } = await authority.issue(`h${n}.example.com`);
    const [, serial = ''] = (renewalIdOf(chain) ?? '').split('.');
    const read = Buffer.from(serial, 'base64url').toString('hex').replace(/^00/, '');
    const own = new X509Certificate(chain).serialNumber.toLowerCase();
    expect(read.replace(/^0/, '')).toBe(own.replace(/^(00)+/, '').replace(/^0/, ''));
  }
});

test('whatever bytes stand there, reading ends', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const id = renewalIdOf(pem(der(0x30, Buffer.from(bytes))));
      expect(id === null || typeof id === 'string').toBe(true);
    }),
  );
});
