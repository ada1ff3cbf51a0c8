/**
 * Who signed whom: the order of a chain, and what clients of a private CA trust, which is the `ca.crt` beside
 * its certificates, as users of cert-manager know it (docs/features/certificates.md §8.6). Pure.
 *
 * What is trusted is made of the CA's own Secret alone. A text from a tenant's Secret is only ever compared
 * with it.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { attempt } from '../../../base/errors.ts';
import { dersOf, pemOf } from './der.ts';

/** Certificates that are read of a text: a chain has a few, and each Secret gets what is trusted. */
const certificatesMax = 32;

/**
 * The certificates given beside the CA's chain, if one of them is its root: of several a client may need the
 * last and the next one. Otherwise the topmost of the chain.
 */
export function trustedOf(chain: string, given: string): string {
  if (dersOf(given).length <= certificatesMax && verifies(given, chain)) return textOf(read(given));
  return textOf(pathOf(chain).slice(-1));
}

/** Whether a client that trusts these certificates accepts the first one of a chain, dates aside. */
export function verifies(trusted: string, chain: string): boolean {
  const roots = read(trusted);
  return pathOf(chain).some((one) =>
    roots.some((root) => root.fingerprint256 === one.fingerprint256 || isSignedBy(one, root)),
  );
}

/**
 * A chain with the key's own certificate first, who signed it next, and so on (RFC 8555 9.1, RFC 8446 4.4.2):
 * some authorities send a root first, or all of it the other way round. One that is in order, or has none of
 * the key's, is left as it is.
 */
export function leafFirst(chain: string, keyPem: string): string {
  const key = attempt(() => createPrivateKey(keyPem), null);
  const all = read(chain);
  const leaf = all.find((one) => key !== null && attempt(() => one.checkPrivateKey(key), false));
  if (leaf === undefined || leaf === all[0]) return chain;
  const others = all.filter((one) => one !== leaf);
  return textOf(pathOf(textOf([leaf, ...others])));
}

/** The first certificate of a chain, who signed it, and so on; what else is in the text does not count. */
function pathOf(chain: string): readonly X509Certificate[] {
  const [first, ...others] = read(chain);
  const path = first === undefined ? [] : [first];
  for (let last = first; last !== undefined && path.length <= others.length; ) {
    const below = last;
    last = others.find((one) => !path.includes(one) && isSignedBy(below, one));
    if (last !== undefined) path.push(last);
  }
  return path;
}

const isSignedBy = (one: X509Certificate, other: X509Certificate) =>
  one.checkIssued(other) && attempt(() => one.verify(other.publicKey), false);

const read = (pem: string): readonly X509Certificate[] =>
  dersOf(pem)
    .slice(0, certificatesMax)
    .flatMap((der) => attempt(() => [new X509Certificate(der)], []));

const textOf = (certificates: readonly X509Certificate[]) =>
  certificates.map(({ raw }) => `${pemOf(raw)}\n`).join('');
