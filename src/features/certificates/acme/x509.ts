/**
 * Keys and certificate requests (X.509): the only file that knows the X.509 library.
 *
 * Promises: every key is new, ECDSA on P-256, made by Node's own cryptography. Keys go only to the caller
 * (I9).
 */
import { createPrivateKey, generateKeyPair, type KeyObject, webcrypto } from 'node:crypto';
import { promisify } from 'node:util';
import { attempt } from '../../../base/errors.ts';
import { loadedOnce } from '../../../base/program/loaded-once.ts';

/** All clients support it, and it is small (RFC 8422, CA/Browser Forum 6.1.5). */
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

const generate = promisify(generateKeyPair);

/** A private key in PEM (PKCS #8). */
export async function makeKey(): Promise<string> {
  const { privateKey } = await generate('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Whether `makeKey` could have made a key: whoever can edit a Secret may have put another one there. */
export function isOwnKey(pem: string): boolean {
  const key = attempt(() => createPrivateKey(pem), null);
  return key?.asymmetricKeyDetails?.namedCurve === 'prime256v1';
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

async function keysOf(key: KeyObject): Promise<webcrypto.CryptoKeyPair> {
  const jwk = key.export({ format: 'jwk' });
  const { d: _, ...open } = jwk;
  return {
    privateKey: await webcrypto.subtle.importKey('jwk', jwk, algorithm, false, ['sign']),
    publicKey: await webcrypto.subtle.importKey('jwk', open, algorithm, true, ['verify']),
  };
}

/** Imported for the first key, because most processes never need it. */
const library = loadedOnce('the X.509 library', async () => {
  // The library's dependency injection needs this polyfill.
  await import('reflect-metadata');
  return import('@peculiar/x509');
});
