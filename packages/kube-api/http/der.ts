/**
 * DER, the encoding of certificates: only the values that `server-certificate.ts` writes (ITU-T X.690).
 * Writes only.
 */

/** One value: tag, length, content. */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...lengthBytes(content.length)]), content]);
}

function lengthBytes(length: number): number[] {
  if (length < 0x80) return [length];
  if (length < 0x100) return [0x81, length];
  return [0x82, length >> 8, length & 0xff];
}

export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, ...parts);
}

export function setOf(...parts: readonly Uint8Array[]): Buffer {
  return der(0x31, ...parts);
}

/** @param bytes a positive number, its highest bit clear */
export function integer(bytes: Uint8Array): Buffer {
  return der(0x02, bytes);
}

export function booleanTrue(): Buffer {
  return der(0x01, Buffer.from([0xff]));
}

export function octets(content: Uint8Array): Buffer {
  return der(0x04, content);
}

/** @param unused bits of the last byte that do not count */
export function bits(content: Uint8Array, unused = 0): Buffer {
  return der(0x03, Buffer.from([unused]), content);
}

export function text(value: string): Buffer {
  return der(0x0c, Buffer.from(value, 'utf8'));
}

/** @param value `YYYYMMDDHHMMSSZ` */
export function time(value: string): Buffer {
  return der(0x18, Buffer.from(value, 'ascii'));
}

/** @param id `2.5.4.3` */
export function objectId(id: string): Buffer {
  const [first = 0, second = 0, ...rest] = id.split('.').map(Number);
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let left = value >>> 7; left > 0; left >>>= 7) bytes.unshift((left & 0x7f) | 0x80);
  return bytes;
}

/** A context-specific value around others: `[number]`. */
export function tagged(number: number, ...parts: readonly Uint8Array[]): Buffer {
  return der(0xa0 | number, ...parts);
}
