/**
 * DER (X.690) as far as certificates need it: reads elements in place, and writes nested ones. Pure. Absent:
 * tags of more than one byte, and lengths beyond 4 GiB.
 */

export interface Element {
  readonly tag: number;
  readonly content: Buffer;
  /** With its tag and length. */
  readonly whole: Buffer;
}

/** Consecutive elements; an unreadable one ends them. */
export function childrenOf(bytes: Buffer | undefined): readonly Element[] {
  const elements: Element[] = [];
  for (let at = 0; bytes !== undefined && at + 2 <= bytes.byteLength; ) {
    const tag = bytes.readUInt8(at);
    const first = bytes.readUInt8(at + 1);
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
    const from = at + 2 + lengthBytes;
    if (lengthBytes > 4 || from > bytes.byteLength) break;
    const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes);
    const end = from + length;
    if (end > bytes.byteLength) break;
    elements.push({ tag, content: bytes.subarray(from, end), whole: bytes.subarray(at, end) });
    at = end;
  }
  return elements;
}

export function derOf(chainPem: string): Buffer | undefined {
  return dersOf(chainPem)[0];
}

/** Each certificate of a chain. */
export function dersOf(chainPem: string): readonly Buffer[] {
  const found = chainPem.matchAll(/-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----/g);
  return [...found].map(([, body = '']) => Buffer.from(body, 'base64'));
}

export function pemOf(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----`;
}

/**
 * The certificates of a text alone, each on its own lines: a text with a key, or anything else, beside them
 * must not reach those who get a certificate.
 */
export const certificatesIn = (pem: string): string => dersOf(pem).map(pemOf).join('\n');

export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  oid: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
} as const;

/** `[n]`, context-specific; constructed if it contains other elements. */
export const context = (n: number, isConstructed = false) => 0x80 | n | (isConstructed ? 0x20 : 0);

export function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.byteLength)]), content]);
}

export const sequence = (...contents: readonly Uint8Array[]) => element(tags.sequence, ...contents);

/** Whole bytes, without unused bits. */
export const bitString = (bytes: Uint8Array) => element(tags.bits, Buffer.from([0]), bytes);

export const octetString = (bytes: Uint8Array) => element(tags.octets, bytes);

/** @param hex of a non-negative number, with its first bit 0 */
export const integer = (hex: string) => element(tags.integer, Buffer.from(hex, 'hex'));

/** @param text `1.2.840.10045.4.3.2` */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...others] = text.split('.').map(Number);
  return element(tags.oid, Buffer.from([first * 40 + second, ...others.flatMap(inSevens)]));
}

/** RFC 5280 4.1.2.5: two digits of the year until 2049. @param ms since the epoch */
export function time(ms: number): Buffer {
  const digits = new Date(ms)
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replace(/[-:T]/g, '');
  return digits < '2050'
    ? element(tags.utcTime, Buffer.from(digits.slice(2)))
    : element(tags.generalizedTime, Buffer.from(digits));
}

function lengthOf(length: number): readonly number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 | bytes.length, ...bytes];
}

/** Base 128, every byte but the last with its high bit set. */
function inSevens(value: number): readonly number[] {
  const bytes = [value & 0x7f];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128))
    bytes.unshift(0x80 | (rest & 0x7f));
  return bytes;
}

/** Extensions of certificates and key purposes (RFC 5280 4.2.1). */
export const oids = {
  subjectKeyIdentifier: oid('2.5.29.14'),
  keyUsage: oid('2.5.29.15'),
  subjectAltName: oid('2.5.29.17'),
  basicConstraints: oid('2.5.29.19'),
  nameConstraints: oid('2.5.29.30'),
  authorityKeyIdentifier: oid('2.5.29.35'),
  extendedKeyUsage: oid('2.5.29.37'),
  anyPurpose: oid('2.5.29.37.0'),
  serverAuth: oid('1.3.6.1.5.5.7.3.1'),
} as const;
