/**
 * Message signatures with a shared key (TSIG, RFC 8945): signs requests and verifies answers. Pure.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { TsigAlgorithm } from '../challenge-spec.ts';
import { classes, type DnsMessage, type DnsRecord, nameBytes, recordTypes, writeMessage } from './message.ts';

export interface TsigKey {
  readonly name: string;
  readonly algorithm: TsigAlgorithm;
  /** Secret. */
  readonly secret: Uint8Array;
}

export interface Signed {
  readonly bytes: Uint8Array;
  /** Of the request; the answer's signature covers it. */
  readonly mac: Uint8Array;
}

/** Permitted clock difference, s: RFC 8945 10. */
const fudgeSeconds = 300;
const noError = 0;

const hashes: Readonly<Record<TsigAlgorithm, string>> = { 'hmac-sha256': 'sha256', 'hmac-sha512': 'sha512' };

interface Variables {
  /** Seconds since the epoch. */
  readonly time: number;
  readonly fudge: number;
  readonly error: number;
  readonly other: Uint8Array;
}

/** @param now ms since the epoch */
export function signed(message: DnsMessage, key: TsigKey, now: number): Signed {
  const variables = {
    time: Math.floor(now / 1000),
    fudge: fudgeSeconds,
    error: noError,
    other: Buffer.alloc(0),
  };
  const mac = macOf(key, [writeMessage(message), variableBytes(key, variables)]);
  const data = Buffer.concat([
    nameBytes(key.algorithm),
    timeBytes(variables),
    word(mac.byteLength),
    mac,
    word(message.id),
    word(noError),
    word(0),
  ]);
  const record = { name: key.name, type: recordTypes.tsig, class: classes.any, ttl: 0, data };
  return { bytes: writeMessage({ ...message, additionals: [...message.additionals, record] }), mac };
}

function macOf({ algorithm, secret }: TsigKey, parts: readonly Uint8Array[]): Buffer {
  const hmac = createHmac(hashes[algorithm], secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

const word = (value: number) => Buffer.from([value >> 8, value & 0xff]);

function timeBytes({ time, fudge }: Pick<Variables, 'time' | 'fudge'>): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUIntBE(time, 0, 6);
  bytes.writeUInt16BE(fudge, 6);
  return bytes;
}

/** RFC 8945 4.3.3. */
function variableBytes(key: TsigKey, variables: Variables): Uint8Array {
  return Buffer.concat([
    nameBytes(key.name),
    word(classes.any),
    Buffer.alloc(4),
    nameBytes(key.algorithm),
    timeBytes(variables),
    word(variables.error),
    word(variables.other.byteLength),
    variables.other,
  ]);
}

const errors: Readonly<Record<number, string>> = {
  16: 'the key does not match (BADSIG)',
  17: 'it does not know the key (BADKEY)',
  18: 'its clock and ours are too far apart (BADTIME)',
  22: 'it wants a longer signature (BADTRUNC)',
};

/**
 * What is wrong with an answer's signature; null: it is valid.
 *
 * @param bytes the answer as received
 * @param mac of the request
 * @param now ms since the epoch
 */
export function signatureFault(
  bytes: Uint8Array,
  answer: DnsMessage,
  key: TsigKey,
  { mac, now }: { readonly mac: Uint8Array; readonly now: number },
): string | null {
  const record = answer.additionals.at(-1);
  const read = record?.type === recordTypes.tsig ? readData(record) : null;
  if (record === undefined || read === null) return 'the answer is not signed';
  if (read.error !== noError) return errors[read.error] ?? `it refuses the signature (${read.error})`;
  if (record.name !== key.name.toLowerCase() || read.algorithm !== key.algorithm)
    return 'the answer is signed by another key';
  const unsigned = Buffer.from(bytes.subarray(0, answer.lastAt ?? 0));
  unsigned.writeUInt16BE(read.id, 0);
  unsigned.writeUInt16BE(answer.additionals.length - 1, 10);
  const own = macOf(key, [word(mac.byteLength), mac, unsigned, variableBytes(key, read)]);
  if (own.byteLength !== read.mac.byteLength || !timingSafeEqual(own, read.mac))
    return 'the signature of the answer is wrong';
  const isNow = Math.abs(now / 1000 - read.time) <= Math.max(read.fudge, 1);
  return isNow ? null : 'the answer was signed at another time';
}

interface TsigData extends Variables {
  readonly algorithm: string;
  readonly mac: Uint8Array;
  readonly id: number;
}

function readData({ data }: DnsRecord): TsigData | null {
  try {
    const bytes = Buffer.from(data);
    const { name: algorithm, end } = plainName(bytes);
    const macLength = bytes.readUInt16BE(end + 8);
    const macAt = end + 10;
    const otherAt = macAt + macLength + 6;
    return {
      algorithm,
      time: bytes.readUIntBE(end, 6),
      fudge: bytes.readUInt16BE(end + 6),
      mac: bytes.subarray(macAt, macAt + macLength),
      id: bytes.readUInt16BE(macAt + macLength),
      error: bytes.readUInt16BE(macAt + macLength + 2),
      other: bytes.subarray(otherAt, otherAt + bytes.readUInt16BE(otherAt - 2)),
    };
  } catch (thrown) {
    if (thrown instanceof RangeError) return null;
    throw thrown;
  }
}

/** Compression is not allowed here: RFC 8945 4.2. */
function plainName(bytes: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = 0;
  for (let length = bytes.readUInt8(at); length > 0; length = bytes.readUInt8(at)) {
    labels.push(bytes.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  return { name: labels.join('.'), end: at + 1 };
}
