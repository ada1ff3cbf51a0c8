import fc from 'fast-check';
import { Packr } from 'msgpackr/pack';
import { describe, expect, test } from 'vitest';
import { readMsgpack } from '../../src/bus/msgpack-read.ts';
import { scanMsgpack } from '../../src/bus/msgpack-scan.ts';

const library = new Packr({ useRecords: false, variableMapSize: true, int64AsType: 'number' });
const depth = 6;
const hex = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'));

const scalar = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.maxSafeInteger(),
  fc.integer({ min: -70_000, max: 70_000 }),
  fc.boolean(),
  fc.constant(null),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.string({ maxLength: 40 }),
);
const { plain } = fc.letrec((tie) => ({
  plain: fc.oneof({ maxDepth: depth - 1 }, scalar, tie('list'), tie('map')),
  list: fc.array(tie('plain'), { maxLength: 20 }),
  map: fc.dictionary(
    fc.string({ maxLength: 40 }).filter((key) => key !== '__proto__'),
    tie('plain'),
    {
      maxKeys: 40,
      noNullPrototype: true,
    },
  ),
}));

describe('a plain value', () => {
  test('is read as a general library reads it', () => {
    fc.assert(
      fc.property(plain, (value) => {
        const bytes = new Uint8Array(library.pack(value));
        if (scanMsgpack(bytes, depth) !== undefined) return;
        expect(readMsgpack(bytes, depth)).toEqual(library.unpack(bytes));
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ['d3 ff df ff ff ff ff ff ff', undefined],
    ['d3 ff e0 00 00 00 00 00 01', -(2 ** 53 - 1)],
    ['cf 00 1f ff ff ff ff ff ff', 2 ** 53 - 1],
    ['cf 00 20 00 00 00 00 00 00', undefined],
    ['ca 3f 80 00 00', 1],
    ['d9 03 e2 82 ac', '€'],
    ['da 00 01 61', 'a'],
    ['db 00 00 00 01 61', 'a'],
    ['de 00 01 a1 61 dd 00 00 00 01 c3', { a: [true] }],
  ])('%s is %s', (bytes, value) => {
    expect(readMsgpack(hex(bytes), depth)).toEqual(value);
  });

  test('is read at a place in other bytes', () => {
    const bytes = new Uint8Array(library.pack({ number: 1.5, text: 'é' }));
    const around = new Uint8Array([0xc1, ...bytes, 0xc1]);
    expect(readMsgpack(around.subarray(1, -1), depth)).toEqual({ number: 1.5, text: 'é' });
  });

  test('has the texts of its own bytes, whatever was read before', () => {
    const texts = Array.from({ length: 20_000 }, (_, n) => `text ${n}`);
    expect(readMsgpack(library.pack(texts), depth)).toEqual(texts);
    expect(readMsgpack(library.pack(texts), depth)).toEqual(texts);
  });
});

test('any bytes are refused exactly when the scan finds something', () => {
  const broken = fc
    .tuple(plain, fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }))))
    .map(([value, changes]) => {
      const bytes = new Uint8Array(library.pack(value));
      for (const [place, byte] of changes) bytes[place % bytes.length] = byte;
      return bytes;
    });
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 60 }), broken), (bytes) => {
      const isRead = readMsgpack(bytes, depth) !== undefined;
      expect(isRead).toBe(scanMsgpack(bytes, depth) === undefined);
    }),
    { numRuns: 2_000 },
  );
});
