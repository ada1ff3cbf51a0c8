/**
 * Keys, requests and certificates (X.509): the only file that knows the X.509 library.
 *
 * Promises: every key is new, ECDSA on P-256, made by Node's own cryptography; a certificate of a CA names
 * one host, carries no subject, never outlives the CA that signs it, and names that CA's key as the CA itself
 * does (docs/features/certificates.md §8.1). Keys go to the caller and nowhere else (I9).
 */
import { createPrivateKey, generateKeyPair, type KeyObject, webcrypto, X509Certificate } from 'node:crypto';
import { promisify } from 'node:util';
import { OrreryError } from '../../../base/errors.ts';

/** Read by every client there is, and small (RFC 8422, CA/Browser Forum 6.1.5). */
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

const generate = promisify(generateKeyPair);

/** A private key in PEM (PKCS #8). */
export async function makeKey(): Promise<string> {
  const { privateKey } = await generate('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** A request for one host, in PEM. */
export async function makeRequest(host: string, keyPem: string): Promise<string> {
  const x509 = await library();
  const keys = await keysOf(createPrivateKey(keyPem));
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: algorithm,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: host }])],
  });
  return request.toString('pem');
}

/** A CA that can sign; made once, it signs many. */
export interface CertificateAuthority {
  /**
   * A new certificate and its key.
   *
   * @param lifetimeMs bounded by the CA's own end @param now ms since the epoch
   */
  issue(
    host: string,
    lifetimeMs: number,
    now: number,
  ): Promise<{ readonly chain: string; readonly key: string }>;
}

/**
 * Clocks differ: a certificate is valid from a minute before it was made; a short one from a twentieth of its
 * life, or it would be due at once.
 */
const backdateMs = (lifetimeMs: number) => Math.min(60_000, lifetimeMs / 20);

/** @throws OrreryError CERTIFICATE_UNUSABLE if they do not belong together, or are not those of a CA */
export async function openAuthority(
  chainPem: string,
  keyPem: string,
  now: number,
): Promise<CertificateAuthority> {
  const x509 = await library();
  const key = checkedKey(chainPem, keyPem, now);
  const authority = new x509.X509Certificate(firstOf(chainPem));
  const usages = authority.getExtension(x509.KeyUsagesExtension)?.usages;
  if (usages !== undefined && (usages & x509.KeyUsageFlags.keyCertSign) === 0)
    throw unusable('its certificate may not sign others (key usage)');
  const signingKey = await importKey(key);
  const signingAlgorithm = signatureOf(key);
  const keyId = authority.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId;
  // Copied: a CA may identify its key by any means, and verifiers compare the two (RFC 5280 4.2.1.1). Where
  // it has none there is none.
  const authorityKeyId = keyId === undefined ? [] : [new x509.AuthorityKeyIdentifierExtension(keyId, false)];
  const chain = chainPem.trim();
  return {
    async issue(host, lifetimeMs, at) {
      const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
      const notBefore = Math.max(at - backdateMs(lifetimeMs), authority.notBefore.getTime());
      const notAfter = Math.min(at + lifetimeMs, authority.notAfter.getTime());
      const certificate = await x509.X509CertificateGenerator.create({
        serialNumber: serialNumber(),
        // As it is encoded: some verifiers compare names byte by byte.
        issuer: authority.subjectName,
        notBefore: new Date(notBefore),
        notAfter: new Date(notAfter),
        signingKey,
        signingAlgorithm,
        publicKey: keys.publicKey,
        extensions: [
          new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: host }], true),
          new x509.BasicConstraintsExtension(false, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
          new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
          await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
          ...authorityKeyId,
        ],
      });
      const exported = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
      const keyObject = createPrivateKey({ key: exported, format: 'der', type: 'pkcs8' });
      return {
        chain: `${certificate.toString('pem')}\n${chain}\n`,
        key: keyObject.export({ type: 'pkcs8', format: 'pem' }).toString(),
      };
    },
  };
}

const unusable = (why: string) => new OrreryError('CERTIFICATE_UNUSABLE', `the CA cannot be used: ${why}`);

function checkedKey(chainPem: string, keyPem: string, now: number): KeyObject {
  let certificate: X509Certificate;
  let key: KeyObject;
  try {
    certificate = new X509Certificate(chainPem);
    key = createPrivateKey(keyPem);
  } catch {
    // What the library says may quote what it could not read.
    throw unusable('its certificate or key cannot be read');
  }
  if (!certificate.checkPrivateKey(key)) throw unusable('the key does not belong to its certificate');
  if (!certificate.ca) throw unusable('its certificate is not that of a CA');
  if (Date.parse(certificate.validTo) <= now) throw unusable('its certificate has ended');
  return key;
}

function signatureOf(key: KeyObject) {
  if (key.asymmetricKeyType === 'rsa') return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  if (key.asymmetricKeyType === 'ed25519') return { name: 'Ed25519' };
  const curve = curves[key.asymmetricKeyDetails?.namedCurve ?? ''];
  if (curve === undefined) throw unusable('its key is of an unknown sort');
  return { name: 'ECDSA', namedCurve: curve, hash: curve === 'P-256' ? 'SHA-256' : 'SHA-384' };
}

const curves: Readonly<Record<string, string>> = {
  prime256v1: 'P-256',
  secp384r1: 'P-384',
  secp521r1: 'P-521',
};

async function importKey(key: KeyObject): Promise<webcrypto.CryptoKey> {
  const der = key.export({ type: 'pkcs8', format: 'der' });
  return webcrypto.subtle.importKey('pkcs8', der, signatureOf(key), false, ['sign']);
}

async function keysOf(key: KeyObject): Promise<webcrypto.CryptoKeyPair> {
  const jwk = key.export({ format: 'jwk' });
  const { d: _, ...open } = jwk;
  return {
    privateKey: await webcrypto.subtle.importKey('jwk', jwk, algorithm, false, ['sign']),
    publicKey: await webcrypto.subtle.importKey('jwk', open, algorithm, true, ['verify']),
  };
}

/** 127 bits, positive (RFC 5280 4.1.2.2, CA/Browser Forum 7.1). */
function serialNumber(): string {
  const bytes = webcrypto.getRandomValues(new Uint8Array(16));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return Buffer.from(bytes).toString('hex');
}

function firstOf(chainPem: string): string {
  return /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/.exec(chainPem)?.[0] ?? '';
}

let loading: Promise<typeof import('@peculiar/x509')> | undefined;

/** Loaded when the first key is made: most processes never need it. */
function library(): Promise<typeof import('@peculiar/x509')> {
  // The library's container of parts does not start without the polyfill.
  loading ??= import('reflect-metadata').then(() => import('@peculiar/x509'));
  return loading;
}
