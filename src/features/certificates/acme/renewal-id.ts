/**
 * How an authority's renewal information calls a certificate (RFC 9773 4.1): the key identifier of its
 * issuer and its serial number. Pure.
 *
 * It is asked for at every look at a Secret, so the two fields are read where they stand in DER
 * instead of by the library that signs, which reads all of a certificate.
 */

/** null: these are no certificates, or the first one does not say who issued it. */
export function renewalIdOf(chainPem: string): string | null {
  const [, body] = /-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----/.exec(chainPem) ?? [];
  if (body === undefined) return null;
  const certificate = childrenOf(Buffer.from(body, 'base64'))[0];
  const fields = childrenOf(childrenOf(certificate?.content)[0]?.content);
  const serial = fields.find(({ tag }) => tag === tags.integer)?.content;
  const keyId = issuerKeyId(fields.find(({ tag }) => tag === tags.extensions)?.content);
  if (serial === undefined || keyId === undefined) return null;
  // As it stands in DER, a zero byte before a high bit with it.
  return `${keyId.toString('base64url')}.${serial.toString('base64url')}`;
}

const tags = { integer: 0x02, octets: 0x04, oid: 0x06, keyId: 0x80, extensions: 0xa3 } as const;
/** 2.5.29.35 */
const authorityKeyIdentifier = Buffer.from([0x55, 0x1d, 0x23]);

function issuerKeyId(extensions: Buffer | undefined): Buffer | undefined {
  for (const { content } of childrenOf(childrenOf(extensions)[0]?.content)) {
    const parts = childrenOf(content);
    if (parts[0]?.tag !== tags.oid || !authorityKeyIdentifier.equals(parts[0].content)) continue;
    const value = childrenOf(parts.find(({ tag }) => tag === tags.octets)?.content)[0];
    return childrenOf(value?.content).find(({ tag }) => tag === tags.keyId)?.content;
  }
  return undefined;
}

interface Element {
  readonly tag: number;
  readonly content: Buffer;
}

/** Elements one behind the other; what cannot be read ends them. */
function childrenOf(bytes: Buffer | undefined): readonly Element[] {
  const elements: Element[] = [];
  for (let at = 0; bytes !== undefined && at + 2 <= bytes.byteLength; ) {
    const tag = bytes.readUInt8(at);
    const first = bytes.readUInt8(at + 1);
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
    const from = at + 2 + lengthBytes;
    if (lengthBytes > 4 || from > bytes.byteLength) break;
    const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes);
    if (from + length > bytes.byteLength) break;
    elements.push({ tag, content: bytes.subarray(from, from + length) });
    at = from + length;
  }
  return elements;
}
