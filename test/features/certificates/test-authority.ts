/** A CA for tests, made by the product's own signing code: only its own certificate comes from elsewhere. */
import { webcrypto } from 'node:crypto';
import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { systemClock } from '../../../src/base/clock.ts';
import { openAuthority } from '../../../src/features/certificates/acme/authority.ts';

export interface TestAuthority {
  /** The certificate. */
  readonly pem: string;
  readonly keyPem: string;
  issue(host: string): Promise<{ readonly chain: string; readonly key: string }>;
}

const dayMs = 24 * 3_600_000;

export async function makeAuthority(name: string): Promise<TestAuthority> {
  const signingAlgorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(signingAlgorithm, true, ['sign', 'verify']);
  const now = systemClock.now();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    notBefore: new Date(now - dayMs),
    notAfter: new Date(now + 100 * dayMs),
    signingAlgorithm,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const keyPem = `-----BEGIN PRIVATE KEY-----\n${der.match(/.{1,64}/g)?.join('\n')}\n-----END PRIVATE KEY-----\n`;
  const pem = certificate.toString('pem');
  const authority = await openAuthority(pem, keyPem, now);
  return { pem, keyPem, issue: (host) => authority.issue(host, 30 * dayMs, now) };
}
