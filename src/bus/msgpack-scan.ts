/**
 * Checks MessagePack bytes before anything is decoded from them.
 *
 * Accepts what JSON can express: null, booleans, numbers, text, arrays, and maps with text as keys. Rejects
 * extensions (the decoder would make dates, cycles, classes and generated code of them), binary, integers
 * beyond the range of a JavaScript number, the key `__proto__`, deeper nesting than `depthMax`, and missing
 * or extra bytes. Does not recurse, and allocates nothing by lengths that the bytes merely claim.
 */

type Finding = string;

const protoKey = new TextEncoder().encode('__proto__');
/** Bytes after the first one, for formats of fixed size without nested values: 0xca … 0xd3. */
const scalarBytes = [4, 8, 1, 2, 4, 8, 1, 2, 4, 8];
/** High half of 2^53: unsigned 64-bit integers from here on are not exact as numbers. */
const unsafeHigh = 0x0020_0000;

/** What is wrong with the bytes; undefined if they are one plain value of at most `depthMax` levels. */
export function scanMsgpack(bytes: Uint8Array, depthMax: number): Finding | undefined {
  /** Values still expected at each open level; a map entry counts as two. */
  const open: number[] = [];
  const isMap: boolean[] = [];
  let at = 0;
  do {
    const first = bytes[at];
    if (first === undefined) return 'it ends too early';
    const level = open.length - 1;
    if (level >= 0) {
      const left = open[level] ?? 0;
      if (isMap[level] && left % 2 === 0) {
        const finding = keyFinding(bytes, at, first);
        if (finding) return finding;
      }
      open[level] = left - 1;
    }
    const size = sizeOf(bytes, at, first);
    if (size.bytes === 0) return refusal(first);
    at += size.bytes;
    if (at > bytes.length) return 'it ends too early';
    if (size.values > bytes.length - at) return 'it claims more values than it has bytes';
    if (size.values > 0) {
      if (open.length >= depthMax) return `it is nested deeper than ${depthMax} levels`;
      open.push(size.values);
      isMap.push(size.map);
    }
    while (open.length > 0 && open[open.length - 1] === 0) {
      open.pop();
      isMap.pop();
    }
  } while (open.length > 0);
  return at === bytes.length ? undefined : 'something follows its end';
}

/** `bytes` is 0 for a rejected format; `values` is the number of nested values. */
interface Size {
  readonly bytes: number;
  readonly values: number;
  readonly map: boolean;
}

const refused: Size = { bytes: 0, values: 0, map: false };
const scalar = (bytes: number): Size => ({ bytes, values: 0, map: false });
const scalars = Array.from({ length: 34 }, (_, bytes) => scalar(bytes));
const oneByte = scalar(1);

function sizeOf(bytes: Uint8Array, at: number, first: number): Size {
  if (first < 0x80 || first >= 0xe0) return oneByte;
  if (first < 0x90) return { bytes: 1, values: 2 * (first & 0x0f), map: true };
  if (first < 0xa0) return { bytes: 1, values: first & 0x0f, map: false };
  if (first < 0xc0) return scalars[1 + (first & 0x1f)] ?? refused;
  if (first >= 0xca && first <= 0xd3) return numberSize(bytes, at, first);
  switch (first) {
    case 0xc0:
    case 0xc2:
    case 0xc3:
      return oneByte;
    case 0xd9:
      return scalar(2 + uint(bytes, at + 1, 1));
    case 0xda:
      return scalar(3 + uint(bytes, at + 1, 2));
    case 0xdb:
      return scalar(5 + uint(bytes, at + 1, 4));
    case 0xdc:
      return { bytes: 3, values: uint(bytes, at + 1, 2), map: false };
    case 0xdd:
      return { bytes: 5, values: uint(bytes, at + 1, 4), map: false };
    case 0xde:
      return { bytes: 3, values: 2 * uint(bytes, at + 1, 2), map: true };
    case 0xdf:
      return { bytes: 5, values: 2 * uint(bytes, at + 1, 4), map: true };
    default:
      return refused;
  }
}

function numberSize(bytes: Uint8Array, at: number, first: number): Size {
  if (first === 0xcf && uint(bytes, at + 1, 4) >= unsafeHigh) return refused;
  if (first === 0xd3) {
    const high = uint(bytes, at + 1, 4) | 0;
    if (high >= unsafeHigh || high < -unsafeHigh) return refused;
  }
  return scalars[1 + (scalarBytes[first - 0xca] ?? 0)] ?? refused;
}

function refusal(first: number): Finding {
  if (first === 0xcf || first === 0xd3) return 'it holds an integer beyond ±2^53';
  if (first >= 0xc4 && first <= 0xc6) return 'it holds binary data';
  return `it holds a value of format 0x${first.toString(16)}, which plain data has not`;
}

function keyFinding(bytes: Uint8Array, at: number, first: number): Finding | undefined {
  const start =
    first >= 0xa0 && first < 0xc0 ? 1 : first === 0xd9 ? 2 : first === 0xda ? 3 : first === 0xdb ? 5 : 0;
  if (start === 0) return 'it has a key that is not text';
  const length = start === 1 ? first & 0x1f : uint(bytes, at + 1, start - 1);
  if (length !== protoKey.length) return undefined;
  return protoKey.every((byte, index) => bytes[at + start + index] === byte)
    ? 'it has a key __proto__'
    : undefined;
}

/** Big-endian. Bytes past the end count as 0; the caller detects the end by the position. */
function uint(bytes: Uint8Array, at: number, length: number): number {
  let value = 0;
  for (let index = 0; index < length; index++) value = value * 256 + (bytes[at + index] ?? 0);
  return value;
}
