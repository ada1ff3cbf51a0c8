/**
 * Encodes and decodes values: MessagePack without extensions, or JSON.
 *
 * Promises: a decoded value is plain (null, booleans, numbers, text, arrays, plain objects), at most
 * `limits.messageDepth` levels deep and without a key `__proto__`; other bytes are MESSAGE_UNREADABLE, never
 * a crash. Every encoded value can be decoded: undefined fields of objects are left out, and undefined items
 * of arrays become null, as in JSON. Encoding a value that is not plain (a Date, a bigint, bytes) throws an
 * INVARIANT error. Absent: the meaning of a message (`envelope.ts`) and its size limit.
 */
// The main entry would load a compiled add-on whose texts are parts of one text, which each keeps alive.
import { Packr } from 'msgpackr/pack';
import { asError, invariant, OrreryError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { scanMsgpack } from './msgpack-scan.ts';
import { writeMsgpack } from './msgpack-write.ts';

export const contentType = {
  header: 'Content-Type',
  msgpack: 'application/msgpack',
  json: 'application/json',
} as const;

const packr = new Packr({
  useRecords: false,
  // Uses no more bytes than the map needs, and is twice as fast here.
  variableMapSize: true,
  encodeUndefinedAsNil: true,
  int64AsType: 'number',
  ...{ skipValues: [undefined] },
});
// The library would write null in its place, and the actor would differ from its record.
Object.assign(packr, {
  writeFunction: () => invariant(false, 'only plain values are encoded: a function is none'),
});
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });
const brace = 0x7b;
const bracket = 0x5b;
/** What JSON may begin with: space, tab, line feed, carriage return. No message is such a number. */
const blanks: ReadonlySet<number | undefined> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** MessagePack of a plain value. @throws OrreryError INVARIANT if the value is not plain */
export function encode(value: unknown): Uint8Array {
  const written = writeMsgpack(value, limits.messageDepth);
  if (written !== null) return written;
  // The value is not plain or too deep: the library encodes it, and the scan of its bytes decides. pack()
  // returns a view of a buffer that the next call reuses, so copy it before anything waits.
  const bytes = new Uint8Array(packr.pack(value));
  const finding = scanMsgpack(bytes, limits.messageDepth);
  invariant(finding === undefined, 'only plain values are encoded', { finding });
  return bytes;
}

/** JSON of a plain value, for people and other programs. */
export function encodeJson(value: unknown): Uint8Array {
  // A third faster than a TextEncoder. A plain Uint8Array equals what is read back, and its slices are
  // copies.
  const { buffer, byteOffset, byteLength } = Buffer.from(JSON.stringify(value));
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/**
 * Decodes a payload.
 *
 * @param type the `Content-Type` header; without it, a first byte `{` or `[` (after blanks) means JSON,
 *   anything else MessagePack
 * @throws OrreryError MESSAGE_UNREADABLE
 */
export function decode(bytes: Uint8Array, type?: string): unknown {
  const isUntold = type === undefined || type === '';
  switch (isUntold ? guess(bytes) : mediaType(type)) {
    case contentType.msgpack:
      return decodeMsgpack(bytes, isUntold ? untold : '');
    case contentType.json:
      return decodeJson(bytes);
    default:
      throw unreadable(`its content type is "${type?.slice(0, 100)}", neither MessagePack nor JSON`);
  }
}

/** Whoever sends text that is not JSON has no idea of MessagePack. */
const untold =
  ' (it was read as MessagePack, because it has no header Content-Type and does not begin with { as JSON)';

function guess(bytes: Uint8Array): string {
  const first = bytes[0];
  const sign = blanks.has(first) ? bytes.find((byte) => !blanks.has(byte)) : first;
  return sign === brace || sign === bracket ? contentType.json : contentType.msgpack;
}

function mediaType(type: string): string {
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase();
}

function decodeMsgpack(bytes: Uint8Array, why: string): unknown {
  const finding = scanMsgpack(bytes, limits.messageDepth);
  if (finding !== undefined) throw unreadable(`${finding}${why}`);
  try {
    return packr.unpack(bytes);
  } catch (error) {
    throw unreadable(`${asError(error).message}${why}`, error);
  }
}

function decodeJson(bytes: Uint8Array): unknown {
  let value: unknown;
  try {
    value = JSON.parse(strictUtf8.decode(bytes));
  } catch (error) {
    throw unreadable(asError(error).message, error);
  }
  checkJson(value, limits.messageDepth);
  return value;
}

/**
 * JSON.parse creates an own field for a key `__proto__`; copying the object by assignment would then set a
 * prototype.
 */
function checkJson(value: unknown, levelsLeft: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (levelsLeft === 0) throw unreadable(`it is nested deeper than ${limits.messageDepth} levels`);
  if (Object.hasOwn(value, '__proto__')) throw unreadable('it has a key __proto__');
  for (const inner of Object.values(value)) checkJson(inner, levelsLeft - 1);
}

function unreadable(reason: string, cause?: unknown): OrreryError {
  return new OrreryError('MESSAGE_UNREADABLE', `the payload cannot be read: ${reason}`, { cause });
}
