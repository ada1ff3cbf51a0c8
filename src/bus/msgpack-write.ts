/**
 * Plain values to MessagePack, in one pass.
 *
 * Writes what a general library writes for null, booleans, numbers, text, arrays and plain objects: the
 * shortest form of each, an undefined field left out. It need not be looked through afterwards, since it
 * writes nothing else, and what stands twice in a value, as the facts of an event that a context keeps, is
 * written once and copied. Promises: the bytes are of their own memory; `null` if the value is more than
 * plain, too deep or has a key `__proto__`, and nothing is said of why. Absent: reading.
 */

let target = Buffer.allocUnsafeSlow(64 * 1024);
let view = viewOf(target);
let at = 0;

/** No larger one is kept from one call to the next. */
const keptBytes = 1024 * 1024;
/** Objects of so many keys are looked for among those before them. */
const repeatedKeys = 5;
const repeatedMax = 8;
/** Shorter text is written faster here than by a call of Node's. */
const shortText = 96;

class NotPlain extends Error {}
const notPlain = new NotPlain();

const seen: object[] = [];
const seenFrom: number[] = [];
const seenTo: number[] = [];

/** @returns null: only a general library can say what is to be done with it */
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

/** Room for so many bytes more, and for the head of what comes next. */
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

/** What stands in an object is known when it is written: undefined fields count as none. */
function writeCount(start: number, headBytes: number, count: number): void {
  if (headBytes === 1) target[start] = 0x80 | count;
  else if (count < 16) {
    target.copyWithin(start + 1, start + 3, at);
    at -= 2;
    target[start] = 0x80 | count;
    // Those in it have moved.
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

/** @returns false: it is something else, and nothing is written */
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
