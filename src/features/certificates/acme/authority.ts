/**
 * A private CA, and the certificates it signs (docs/features/certificates.md §8).
 *
 * Promises: a certificate names one host, has no subject, never outlives its CA, and identifies the CA's key
 * in the CA's own way. Each has a new key, ECDSA on P-256. Keys are made and used off the event loop, by
 * Node's own cryptography, and go only to the caller (I9). The encoding is written here, because a
 * certificate is a dozen fields and a general library takes ten times as long.
 */
import {
  createHash,
  createPrivateKey,
  generateKeyPair,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { promisify } from 'node:util';
import { OrreryError } from '../../../base/errors.ts';
import { isUnderConstraints, readAuthority } from './authority-reading.ts';
import {
  bitString,
  certificatesIn,
  childrenOf,
  context,
  element,
  integer,
  octetString,
  oid,
  oids,
  pemOf,
  sequence,
  tags,
  time,
} from './der.ts';
import { trustedOf } from './trust.ts';

/** A CA that can sign; opened once, used many times. */
export type CertificateAuthority = ReturnType<typeof openAuthority>;

/**
 * Clocks differ: a certificate is valid from a minute before it was made; a short-lived one from a twentieth
 * of its life, because it would be due at once otherwise.
 */
const backdateMs = (lifetimeMs: number) => Math.min(60_000, Math.max(0, lifetimeMs) / 20);

/**
 * @param rootsPem what its clients trust, if its Secret says so
 * @throws OrreryError CERTIFICATE_UNUSABLE if the two do not match, or cannot sign for servers
 */
export function openAuthority(chainPem: string, keyPem: string, now: number, rootsPem = '') {
  const { certificate, key } = checkedPair(chainPem, keyPem, now);
  const { subject, keyId, constraints, flaw } = readAuthority(chainPem);
  if (flaw !== null) throw unusable(flaw);
  const signature = signatureOf(key);
  const chain = certificatesIn(chainPem);
  const life = { notBefore: Date.parse(certificate.validFrom), notAfter: Date.parse(certificate.validTo) };
  return {
    /** Of the CA's own certificate, ms since the epoch. */
    life,
    /** What clients trust, in PEM. */
    trusted: trustedOf(chainPem, rootsPem),
    /**
     * A new certificate and its key.
     *
     * @param lifetimeMs bounded by the CA's own expiry
     * @param at ms since the epoch
     * @throws OrreryError ACME_REFUSED if verifiers would not accept this host from the CA
     */
    async issue(
      host: string,
      lifetimeMs: number,
      at: number,
    ): Promise<{ readonly chain: string; readonly key: string }> {
      if (!isUnderConstraints(host, constraints)) throw refused(host);
      const pair = await generate('ec', { namedCurve: 'P-256', publicKeyEncoding, privateKeyEncoding });
      const notAfter = Math.min(at + lifetimeMs, life.notAfter);
      const notBefore = Math.max(at - backdateMs(notAfter - at), life.notBefore);
      const body = sequence(
        element(context(0, true), integer('02')),
        integer(serialNumber()),
        signature.algorithm,
        // In its original encoding: some verifiers compare names byte by byte.
        subject,
        sequence(time(notBefore), time(notAfter)),
        sequence(),
        pair.publicKey,
        element(context(3, true), sequence(...extensionsOf(host, pair.publicKey, keyId))),
      );
      const signed = sequence(body, signature.algorithm, bitString(await signing(signature.hash, body, key)));
      return { chain: `${pemOf(signed)}\n${chain}\n`, key: pair.privateKey };
    },
  };
}

const publicKeyEncoding = { type: 'spki', format: 'der' } as const;
const privateKeyEncoding = { type: 'pkcs8', format: 'pem' } as const;
const generate = promisify(generateKeyPair);

const signing = (hash: string | null, data: Buffer, key: KeyObject): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    sign(hash, data, key, (error, signature) => (error ? reject(error) : resolve(signature)));
  });

/** @param keyId of the CA; absent: it has none */
function extensionsOf(host: string, publicKey: Buffer, keyId: Buffer | undefined): readonly Buffer[] {
  const extension = (id: Buffer, value: Buffer) => sequence(id, octetString(value));
  const critical = (id: Buffer, value: Buffer) => sequence(id, isTrue, octetString(value));
  return [
    // There is no subject, so a verifier that cannot read the name must reject the certificate.
    critical(oids.subjectAltName, sequence(element(context(2), Buffer.from(host, 'ascii')))),
    critical(oids.basicConstraints, sequence()),
    critical(oids.keyUsage, element(tags.bits, digitalSignature)),
    extension(oids.extendedKeyUsage, sequence(oids.serverAuth)),
    extension(oids.subjectKeyIdentifier, octetString(identifierOf(publicKey))),
    // Copied, because a CA may identify its key by any means and verifiers compare the two (RFC 5280
    // 4.2.1.1).
    ...(keyId === undefined
      ? []
      : [extension(oids.authorityKeyIdentifier, sequence(element(context(0), keyId)))]),
  ];
}

const isTrue = element(tags.boolean, Buffer.from([0xff]));
/** The first bit; seven unused bits follow. */
const digitalSignature = Buffer.from([7, 0x80]);

/** SHA-1 of the key's bits (RFC 5280 4.2.1.2, method 1). @param publicKey SubjectPublicKeyInfo */
function identifierOf(publicKey: Buffer): Buffer {
  const [info] = childrenOf(publicKey);
  const bits = childrenOf(info?.content)
    .find(({ tag }) => tag === tags.bits)
    ?.content.subarray(1);
  return createHash('sha1')
    .update(bits ?? publicKey)
    .digest();
}

/** 127 bits, positive (RFC 5280 4.1.2.2, CA/Browser Forum 7.1). */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes.writeUInt8((bytes.readUInt8(0) & 0x7f) | 0x40, 0);
  return bytes.toString('hex');
}

/** How the CA signs: the algorithm in certificates, and the parameters for Node. */
function signatureOf(key: KeyObject): { readonly algorithm: Buffer; readonly hash: string | null } {
  const nothing = Buffer.from([0x05, 0x00]);
  if (key.asymmetricKeyType === 'rsa')
    return { algorithm: sequence(oid('1.2.840.113549.1.1.11'), nothing), hash: 'sha256' };
  if (key.asymmetricKeyType === 'ed25519') return { algorithm: sequence(oid('1.3.101.112')), hash: null };
  const curve = key.asymmetricKeyDetails?.namedCurve;
  if (curve === 'prime256v1') return { algorithm: sequence(oid('1.2.840.10045.4.3.2')), hash: 'sha256' };
  if (curve === 'secp384r1' || curve === 'secp521r1')
    return { algorithm: sequence(oid('1.2.840.10045.4.3.3')), hash: 'sha384' };
  throw unusable('its key is not RSA, P-256, P-384, P-521 or Ed25519');
}

const unusable = (why: string) => new OrreryError('CERTIFICATE_UNUSABLE', `the CA cannot be used: ${why}`);

/** As an authority refuses by policy: no further try helps. */
const refused = (host: string) =>
  new OrreryError('ACME_REFUSED', `the CA may not sign for ${host} (its name constraints)`, {
    facts: { hopeless: true },
  });

function checkedPair(chainPem: string, keyPem: string, now: number) {
  const certificate = read('certificate', () => new X509Certificate(chainPem));
  const isEncrypted = /^-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED/m.test(keyPem);
  if (isEncrypted) throw unusable('its key is encrypted');
  const key = read('key', () => createPrivateKey(keyPem));
  if (!certificate.checkPrivateKey(key))
    throw unusable('the key does not belong to its certificate, the first of the chain');
  const until = Date.parse(certificate.validTo);
  if (until <= now) throw unusable(`its certificate expired ${new Date(until).toISOString()}`);
  const from = Date.parse(certificate.validFrom);
  if (from > now) throw unusable(`its certificate is not valid before ${new Date(from).toISOString()}`);
  return { certificate, key };
}

function read<T>(what: string, parse: () => T): T {
  try {
    return parse();
  } catch {
    // The library's message may quote what it could not parse.
    throw unusable(`its ${what} cannot be read`);
  }
}
