/**
 * Encodes plain values as MessagePack in one pass.
 *
 * Writes null, booleans, numbers, text, arrays and plain objects as a general library does: in their shortest
 * form, without undefined fields. The result needs no scan, because it contains nothing else. A value that
 * occurs twice, such as the facts of an event that a context keeps, is encoded once and copied. Promises: the
 * bytes have memory of their own; the result is `null`, without a reason, if the value is not plain, too deep
 * or has a key `__proto__`. Absent: decoding.
 */

let target = Buffer.allocUnsafeSlow(64 * 1024);
let view = viewOf(target);
let at = 0;

/** A larger buffer is not kept between calls. */
const keptBytes = 1024 * 1024;
/** Objects with at least this many keys are compared with earlier ones. */
const repeatedKeys = 5;
const repeatedMax = 8;
/** Shorter text is written faster here than by a call into Node. */
const shortText = 96;

class NotPlain extends Error {}
const notPlain = new NotPlain();

const seen: object[] = [];
const seenFrom: number[] = [];
const seenTo: number[] = [];

/** @returns null if only a general library can decide what to do with the value */
export function writeMsgpack(value: unknown, depthMax: number): Uint8Array | null {
  at = 0;
  try {
    write(value, depthMax);
    const bytes = new Uint8Array(at);
    bytes.set(target.subarray(0, at));
    return bytes;
  } catch (thrown) {
    if (thrown === notPlain) return null;
    throw thrown;
  } finally {
    seen.length = 0;
    if (target.length > keptBytes) resize(64 * 1024);
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function resize(bytes: number): void {
  const before = target;
  target = Buffer.allocUnsafeSlow(bytes);
  target.set(before.subarray(0, Math.min(at, bytes)));
  view = viewOf(target);
}

/** Reserves space for this many bytes and the head of the next value. */
function ensure(bytes: number): void {
  if (at + bytes + 16 > target.length) resize(2 * (at + bytes + 16));
}

function write(value: unknown, levelsLeft: number): void {
  ensure(0);
  if (typeof value === 'string') writeText(value);
  else if (typeof value === 'number') writeNumber(value);
  else if (typeof value === 'boolean') target[at++] = value ? 0xc3 : 0xc2;
  else if (value === undefined || value === null) target[at++] = 0xc0;
  else if (typeof value === 'object') writeObject(value, levelsLeft);
  else throw notPlain;
}

function writeObject(value: object, levelsLeft: number): void {
  if (levelsLeft === 0) throw notPlain;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Array.prototype) writeArray(value as readonly unknown[], levelsLeft - 1);
  else if (prototype === Object.prototype)
    writeMap(value as Readonly<Record<string, unknown>>, levelsLeft - 1);
  else throw notPlain;
}

function writeArray(values: readonly unknown[], levelsLeft: number): void {
  const { length } = values;
  if (length < 16) target[at++] = 0x90 | length;
  else if (length < 0x10000) writeHead(0xdc, length);
  else writeLongHead(0xdd, length);
  for (let index = 0; index < length; index++) write(values[index], levelsLeft);
}

function writeMap(object: Readonly<Record<string, unknown>>, levelsLeft: number): void {
  const keys = Object.keys(object);
  const isLarge = keys.length >= repeatedKeys;
  if (isLarge && copied(object)) return;
  if (keys.length >= 0x10000) throw notPlain;
  const start = at;
  const headBytes = keys.length < 16 ? 1 : 3;
  at += headBytes;
  let count = 0;
  for (const key of keys) {
    const value = object[key];
    if (value === undefined) continue;
    if (key === '__proto__') throw notPlain;
    count++;
    ensure(0);
    writeText(key);
    write(value, levelsLeft);
  }
  writeCount(start, headBytes, count);
  if (isLarge && seen.length < repeatedMax) {
    seenFrom[seen.length] = start;
    seenTo[seen.length] = at;
    seen.push(object);
  }
}

/** Undefined fields do not count, so the number of fields is known only after writing them. */
function writeCount(start: number, headBytes: number, count: number): void {
  if (headBytes === 1) target[start] = 0x80 | count;
  else if (count < 16) {
    target.copyWithin(start + 1, start + 3, at);
    at -= 2;
    target[start] = 0x80 | count;
    // The values inside have moved.
    seen.length = 0;
  } else {
    target[start] = 0xde;
    view.setUint16(start + 1, count);
  }
}

function copied(object: object): boolean {
  const known = seen.indexOf(object);
  if (known < 0) return false;
  const [from = 0, to = 0] = [seenFrom[known], seenTo[known]];
  ensure(to - from);
  target.copyWithin(at, from, to);
  at += to - from;
  return true;
}

function writeHead(first: number, length: number): void {
  target[at] = first;
  view.setUint16(at + 1, length);
  at += 3;
}

function writeLongHead(first: number, length: number): void {
  target[at] = first;
  view.setUint32(at + 1, length);
  at += 5;
}

function writeText(text: string): void {
  const { length } = text;
  if (length < shortText) {
    ensure(4 * shortText);
    if (writtenAsAscii(text, length)) return;
  }
  const bytes = Buffer.byteLength(text);
  ensure(bytes);
  if (bytes < 32) target[at++] = 0xa0 | bytes;
  else if (bytes < 0x100) {
    target[at++] = 0xd9;
    target[at++] = bytes;
  } else if (bytes < 0x10000) writeHead(0xda, bytes);
  else writeLongHead(0xdb, bytes);
  at += target.write(text, at, bytes, 'utf8');
}

/** @returns false if the text is not ASCII; nothing is written then */
function writtenAsAscii(text: string, length: number): boolean {
  let to = at + (length < 32 ? 1 : 2);
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return false;
    target[to++] = code;
  }
  if (length < 32) target[at] = 0xa0 | length;
  else {
    target[at] = 0xd9;
    target[at + 1] = length;
  }
  at = to;
  return true;
}

function writeNumber(value: number): void {
  if (value >>> 0 === value) writeWhole(value);
  else if (value >> 0 === value) writeNegative(value);
  else {
    target[at] = 0xcb;
    view.setFloat64(at + 1, value);
    at += 9;
  }
}

function writeWhole(value: number): void {
  if (value < 0x80) target[at++] = value;
  else if (value < 0x100) {
    target[at++] = 0xcc;
    target[at++] = value;
  } else if (value < 0x10000) writeHead(0xcd, value);
  else writeLongHead(0xce, value);
}

function writeNegative(value: number): void {
  if (value >= -0x20) target[at++] = 0x100 + value;
  else if (value >= -0x80) {
    target[at++] = 0xd0;
    target[at++] = 0x100 + value;
  } else if (value >= -0x8000) {
    target[at] = 0xd1;
    view.setInt16(at + 1, value);
    at += 3;
  } else {
    target[at] = 0xd2;
    view.setInt32(at + 1, value);
    at += 5;
  }
}
