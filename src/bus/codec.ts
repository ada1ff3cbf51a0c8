/**
 * Values to bytes and back: MessagePack without extensions, or JSON.
 *
 * Promises: what is decoded is plain (null, booleans, numbers, text, arrays, plain objects), at most
 * `limits.messageDepth` levels deep and without a key `__proto__`; anything else is MESSAGE_UNREADABLE, never
 * a crash. What is encoded can be decoded: in objects an undefined field is left out, in arrays it becomes
 * null, as in JSON; a value that is not plain (a Date, a bigint, bytes) is an INVARIANT error at the one who
 * encodes it. Absent: what a message means (`envelope.ts`) and how large it may be.
 */
import { Packr } from 'msgpackr';
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
  // Leaves room for no more than the map needs, and is twice as fast here.
  variableMapSize: true,
  encodeUndefinedAsNil: true,
  int64AsType: 'number',
  ...{ skipValues: [undefined] },
});
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });
const brace = 0x7b;
const bracket = 0x5b;

/** MessagePack of a plain value. @throws OrreryError INVARIANT if the value is not plain */
export function encode(value: unknown): Uint8Array {
  const written = writeMsgpack(value, limits.messageDepth);
  if (written !== null) return written;
  // What is more than plain, or too deep: the library says what becomes of it, and the bytes whether that
  // will do. pack() returns a view of a buffer that the next call reuses: copy it before anything waits.
  const bytes = new Uint8Array(packr.pack(value));
  const finding = scanMsgpack(bytes, limits.messageDepth);
  invariant(finding === undefined, 'only plain values are encoded', { finding });
  return bytes;
}

/** JSON of a plain value, for what people and other programs read. */
export function encodeJson(value: unknown): Uint8Array {
  // Takes a third less time than a TextEncoder; plain, so that it equals what is read back, and slices copy.
  const { buffer, byteOffset, byteLength } = Buffer.from(JSON.stringify(value));
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/**
 * The value of a payload.
 *
 * @param type the `Content-Type` header; without one a first byte `{` or `[` means JSON, anything else
 * MessagePack
 * @throws OrreryError MESSAGE_UNREADABLE
 */
export function decode(bytes: Uint8Array, type?: string): unknown {
  switch (type === undefined || type === '' ? guess(bytes) : mediaType(type)) {
    case contentType.msgpack:
      return decodeMsgpack(bytes);
    case contentType.json:
      return decodeJson(bytes);
    default:
      throw unreadable(`its content type is "${type?.slice(0, 100)}", neither MessagePack nor JSON`);
  }
}

function guess(bytes: Uint8Array): string {
  return bytes[0] === brace || bytes[0] === bracket ? contentType.json : contentType.msgpack;
}

function mediaType(type: string): string {
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase();
}

function decodeMsgpack(bytes: Uint8Array): unknown {
  const finding = scanMsgpack(bytes, limits.messageDepth);
  if (finding !== undefined) throw unreadable(finding);
  try {
    return packr.unpack(bytes);
  } catch (error) {
    throw unreadable(asError(error).message, error);
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
 * JSON.parse makes an own field of a key `__proto__`; the first one who copies the object by assignment would
 * set a prototype.
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
