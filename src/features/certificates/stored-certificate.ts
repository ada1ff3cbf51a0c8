/**
 * Reads a stored certificate and checks whether it is usable: chain and key from a Secret, parsed by Node's
 * own cryptography. Pure; nothing secret leaves it (I9): of a key only whether it matches the certificate.
 */
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';

/** The public part of a certificate. Times in ms since the epoch. */
export interface PublicPart {
  /** SHA-256 of the certificate, hexadecimal. */
  readonly fingerprint: string;
  /** The names that it covers, in lower case. */
  readonly hosts: readonly string[];
  readonly notBefore: number;
  readonly notAfter: number;
}

/** The first certificate of a chain, if it is readable and matches the key; otherwise why not. */
export function readPair(chainPem: string, keyPem: string): PublicPart | { readonly broken: string } {
  try {
    const certificate = new X509Certificate(chainPem);
    if (!certificate.checkPrivateKey(createPrivateKey(keyPem))) {
      return { broken: 'the key does not belong to the certificate' };
    }
    return publicPart(certificate);
  } catch {
    // The library's message may quote what it could not parse.
    return { broken: 'certificate or key cannot be read' };
  }
}

/** @throws Error if the text is no certificate */
export function readPublicPart(chainPem: string): PublicPart {
  return publicPart(new X509Certificate(chainPem));
}

function publicPart(certificate: X509Certificate): PublicPart {
  return {
    fingerprint: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
    hosts: (certificate.subjectAltName ?? '')
      .split(', ')
      .flatMap((name) => (name.startsWith('DNS:') ? [name.slice('DNS:'.length).toLowerCase()] : [])),
    notBefore: Date.parse(certificate.validFrom),
    notAfter: Date.parse(certificate.validTo),
  };
}

/**
 * Whether the certificate names exactly this host. A covering wildcard is another host's certificate and does
 * not count.
 */
export function isFor({ hosts }: PublicPart, host: string): boolean {
  return hosts.includes(host);
}

export function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
