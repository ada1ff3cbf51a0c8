/**
 * The certificates of the development API server: an authority of its own, and one certificate for loopback.
 *
 * Promises: they are created at each start, in memory. The authority's key is dropped as soon as it has
 * signed, so nobody can create another certificate that clients of this server would trust. ECDSA with P-256,
 * because such keys are quick to make. Source of the form: RFC 5280. Absent: an end of validity, because both
 * live only as long as the process.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import {
  bits,
  booleanTrue,
  der,
  integer,
  objectId,
  octets,
  sequence,
  setOf,
  tagged,
  text,
  time,
} from './der.ts';

export interface ServerCertificates {
  /** PEM: the authority, which clients trust. */
  readonly ca: string;
  /** PEM: what the server presents. */
  readonly cert: string;
  /** PEM, secret. */
  readonly key: string;
}

export function createCertificates(): ServerCertificates {
  const authority = newKeys();
  const server = newKeys();
  const authorityName = 'orrery-dev authority';
  const ca = certificate({
    subject: authorityName,
    issuer: authorityName,
    keys: authority,
    signer: authority,
    extensions: [
      extension('2.5.29.19', true, sequence(booleanTrue())),
      // keyCertSign
      extension('2.5.29.15', true, bits(Buffer.from([0x04]), 2)),
    ],
  });
  const cert = certificate({
    subject: 'orrery-dev API server',
    issuer: authorityName,
    keys: server,
    signer: authority,
    extensions: [
      // digitalSignature
      extension('2.5.29.15', true, bits(Buffer.from([0x80]), 7)),
      // serverAuth
      extension('2.5.29.37', false, sequence(objectId('1.3.6.1.5.5.7.3.1'))),
      extension('2.5.29.17', false, sequence(dnsName('localhost'), ipv4([127, 0, 0, 1]))),
      extension('2.5.29.35', false, sequence(der(0x80, keyId(authority)))),
    ],
  });
  return { ca, cert, key: server.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
}

/**
 * An authority whose key is kept, for an Issuer of the development cluster: certificate and key in PEM, the
 * key secret.
 */
export function createAuthority(name: string): { readonly cert: string; readonly key: string } {
  const keys = newKeys();
  const extensions = [
    extension('2.5.29.19', true, sequence(booleanTrue())),
    // keyCertSign
    extension('2.5.29.15', true, bits(Buffer.from([0x04]), 2)),
  ];
  const cert = certificate({ subject: name, issuer: name, keys, signer: keys, extensions });
  return { cert, key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
}

interface Keys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

interface CertificatePlan {
  readonly subject: string;
  readonly issuer: string;
  readonly keys: Keys;
  readonly signer: Keys;
  readonly extensions: readonly Buffer[];
}

function newKeys(): Keys {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

const ecdsaWithSha256 = sequence(objectId('1.2.840.10045.4.3.2'));

/** RFC 5280 4.1.2.5: the last moment stands for "no end". */
const validity = sequence(time('20000101000000Z'), time('99991231235959Z'));

function certificate({ subject, issuer, keys, signer, extensions }: CertificatePlan): string {
  const version3 = tagged(0, integer(Buffer.from([2])));
  const content = sequence(
    version3,
    integer(serial()),
    ecdsaWithSha256,
    commonName(issuer),
    validity,
    commonName(subject),
    publicKeyOf(keys),
    tagged(3, sequence(extension('2.5.29.14', false, octets(keyId(keys))), ...extensions)),
  );
  const signature = sign('sha256', content, signer.privateKey);
  return pem(sequence(content, ecdsaWithSha256, bits(signature)));
}

/** Positive, and never starting with a zero byte. */
function serial(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

function commonName(name: string): Buffer {
  return sequence(setOf(sequence(objectId('2.5.4.3'), text(name))));
}

function publicKeyOf({ publicKey }: Keys): Buffer {
  return publicKey.export({ type: 'spki', format: 'der' });
}

/** Lets a client find the authority of a certificate. */
function keyId(keys: Keys): Buffer {
  return createHash('sha256').update(publicKeyOf(keys)).digest().subarray(0, 20);
}

function extension(id: string, isCritical: boolean, value: Buffer): Buffer {
  return sequence(objectId(id), ...(isCritical ? [booleanTrue()] : []), octets(value));
}

function dnsName(name: string): Buffer {
  return der(0x82, Buffer.from(name, 'ascii'));
}

function ipv4(address: readonly number[]): Buffer {
  return der(0x87, Buffer.from(address));
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
