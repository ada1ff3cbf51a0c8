/**
 * Decodes plain values from MessagePack in one pass.
 *
 * Reads what `scanMsgpack` accepts, which this replaces where nothing is wrong: null, booleans, numbers,
 * text, arrays, and maps with text as keys. Promises: no text keeps another one alive; the result is
 * `undefined`, without a reason, for any other bytes. Absent: the reason (`msgpack-scan.ts`).
 */

let source: Uint8Array = new Uint8Array();
let view: DataView = new DataView(source.buffer);
let at = 0;

class NotPlain extends Error {}
const notPlain = new NotPlain();

/**
 * Text up to this length is looked up among what was read before: keys, states and names come again and
 * again.
 */
const shortText = 24;
const remembered: string[] = Array.from({ length: 2_048 }, () => '');
/** Unsigned 64-bit integers from 2^53 on are not exact as numbers; this is the half above 2^32. */
const unsafeHigh = 0x0020_0000;
const high = 0x1_0000_0000;

/** @returns undefined if the bytes are not one plain value of at most `depthMax` levels */
export function readMsgpack(bytes: Uint8Array, depthMax: number): unknown {
  source = bytes;
  view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  at = 0;
  try {
    const value = read(depthMax);
    return at === bytes.length ? value : undefined;
  } catch (thrown) {
    // Reading past the end of the view.
    if (thrown === notPlain || thrown instanceof RangeError) return undefined;
    throw thrown;
  }
}

function read(levelsLeft: number): unknown {
  const first = view.getUint8(at++);
  if (first < 0x80) return first;
  if (first >= 0xe0) return first - 0x100;
  if (first < 0x90) return readMap(first & 0x0f, levelsLeft);
  if (first < 0xa0) return readArray(first & 0x0f, levelsLeft);
  if (first < 0xc0) return readText(first & 0x1f);
  switch (first) {
    case 0xc0:
      return null;
    case 0xc2:
      return false;
    case 0xc3:
      return true;
    case 0xdc:
      return readArray(readLength(0xd), levelsLeft);
    case 0xdd:
      return readArray(readLength(0xe), levelsLeft);
    case 0xde:
      return readMap(readLength(0xd), levelsLeft);
    case 0xdf:
      return readMap(readLength(0xe), levelsLeft);
    default:
      return first >= 0xd9 ? readText(textLength(first)) : readNumber(first);
  }
}

/** @param size of the length in the bytes: 0xc one, 0xd two, 0xe four */
function readLength(size: number): number {
  const from = at;
  if (size === 0xc) {
    at += 1;
    return view.getUint8(from);
  }
  at += size === 0xd ? 2 : 4;
  return size === 0xd ? view.getUint16(from) : view.getUint32(from);
}

function textLength(first: number): number {
  if (first > 0xdb) throw notPlain;
  return readLength(first - 0xcd);
}

function readNumber(first: number): number {
  const from = at;
  at += 1 << (first < 0xcc ? first - 0xc8 : first & 3);
  switch (first) {
    case 0xca:
      return view.getFloat32(from);
    case 0xcb:
      return view.getFloat64(from);
    case 0xcc:
      return view.getUint8(from);
    case 0xcd:
      return view.getUint16(from);
    case 0xce:
      return view.getUint32(from);
    case 0xd0:
      return view.getInt8(from);
    case 0xd1:
      return view.getInt16(from);
    case 0xd2:
      return view.getInt32(from);
    case 0xcf:
      return whole(view.getUint32(from), from);
    case 0xd3:
      return whole(view.getInt32(from), from);
    default:
      throw notPlain;
  }
}

function whole(above: number, from: number): number {
  if (above >= unsafeHigh || above < -unsafeHigh) throw notPlain;
  return above * high + view.getUint32(from + 4);
}

/** No more than the bytes can hold is taken for true. */
function checkCount(values: number, levelsLeft: number): void {
  if (levelsLeft === 0 || values > source.length - at) throw notPlain;
}

function readArray(length: number, levelsLeft: number): unknown[] {
  const values: unknown[] = [];
  if (length === 0) return values;
  checkCount(length, levelsLeft);
  for (let index = 0; index < length; index++) values.push(read(levelsLeft - 1));
  return values;
}

function readMap(entries: number, levelsLeft: number): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  if (entries === 0) return object;
  checkCount(2 * entries, levelsLeft);
  for (let index = 0; index < entries; index++) {
    const key = readKey();
    object[key] = read(levelsLeft - 1);
  }
  return object;
}

function readKey(): string {
  const first = view.getUint8(at++);
  const isShort = first >= 0xa0 && first < 0xc0;
  if (!isShort && (first < 0xd9 || first > 0xdb)) throw notPlain;
  const key = readText(isShort ? first & 0x1f : textLength(first));
  if (key === '__proto__') throw notPlain;
  return key;
}

function readText(length: number): string {
  const from = at;
  const to = from + length;
  if (to > source.length) throw notPlain;
  at = to;
  if (length > shortText) return textOf(from, to);
  let hash = length;
  for (let index = from; index < to; index++) {
    const byte = source[index] as number;
    if (byte > 0x7f) return textOf(from, to);
    hash = (Math.imul(hash, 31) + byte) | 0;
  }
  const place = (hash ^ (hash >>> 11)) & (remembered.length - 1);
  const known = remembered[place] as string;
  if (known.length === length && isAt(known, from)) return known;
  const text = textOf(from, to);
  remembered[place] = text;
  return text;
}

function isAt(text: string, from: number): boolean {
  for (let index = 0; index < text.length; index++)
    if (text.charCodeAt(index) !== source[from + index]) return false;
  return true;
}

const { utf8Slice } = Buffer.prototype as unknown as {
  utf8Slice(this: Uint8Array, from: number, to: number): string;
};

const textOf = (from: number, to: number): string => utf8Slice.call(source, from, to);
