/**
 * A certificate's identifier in an authority's renewal information (RFC 9773 4.1): the key identifier of its
 * issuer and its serial number. Pure.
 *
 * It is needed at every inspection of a Secret, so the two fields are read in place from DER rather than by
 * the library that signs, which parses the whole certificate.
 */
import { childrenOf, context, derOf, tags } from './der.ts';

/** null: not a certificate, or without its issuer's key identifier. */
export function renewalIdOf(chainPem: string): string | null {
  const [certificate] = childrenOf(derOf(chainPem));
  const fields = childrenOf(childrenOf(certificate?.content)[0]?.content);
  const serial = fields.find(({ tag }) => tag === tags.integer)?.content;
  const issuer = issuerKeyId(fields.find(({ tag }) => tag === extensions)?.content);
  if (serial === undefined || issuer === undefined) return null;
  // As encoded in DER, including a zero byte before a high bit.
  return `${issuer.toString('base64url')}.${serial.toString('base64url')}`;
}

const keyId = context(0);
const extensions = context(3, true);
/** 2.5.29.35 */
const authorityKeyIdentifier = Buffer.from([0x55, 0x1d, 0x23]);

function issuerKeyId(list: Buffer | undefined): Buffer | undefined {
  for (const { content } of childrenOf(childrenOf(list)[0]?.content)) {
    const parts = childrenOf(content);
    if (parts[0]?.tag !== tags.oid || !authorityKeyIdentifier.equals(parts[0].content)) continue;
    const value = childrenOf(parts.find(({ tag }) => tag === tags.octets)?.content)[0];
    return childrenOf(value?.content).find(({ tag }) => tag === keyId)?.content;
  }
  return undefined;
}
