import fc from 'fast-check';
import { Packr } from 'msgpackr/pack';
import { describe, expect, test } from 'vitest';
import { writeMsgpack } from '../../src/bus/msgpack-write.ts';

const library = new Packr({
  useRecords: false,
  variableMapSize: true,
  encodeUndefinedAsNil: true,
  ...{ skipValues: [undefined] },
});
const isSafe = (key: string) => key !== '__proto__' && key !== 'toJSON' && key !== 'constructor';
const scalar = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.integer({ min: -70_000, max: 70_000 }),
  fc.boolean(),
  fc.constant(null),
  fc.constant(undefined),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.string({ maxLength: 40 }),
);
const { plain } = fc.letrec((tie) => ({
  plain: fc.oneof({ maxDepth: 5 }, scalar, tie('list'), tie('map')),
  list: fc.array(tie('plain'), { maxLength: 20 }),
  map: fc.dictionary(fc.string({ maxLength: 20 }).filter(isSafe), tie('plain'), {
    maxKeys: 40,
    noNullPrototype: true,
  }),
}));

describe('a plain value', () => {
  test('becomes the bytes that a general library makes of it', () => {
    fc.assert(
      fc.property(plain, (value) => {
        expect(writeMsgpack(value, 32)).toEqual(new Uint8Array(library.pack(value)));
      }),
      { numRuns: 500 },
    );
  });

  test('that holds the same object several times is written as if they were several', () => {
    fc.assert(
      fc.property(fc.array(plain, { minLength: 6, maxLength: 20 }), plain, (parts, other) => {
        const shared = Object.fromEntries(parts.map((part, n) => [`key${n}`, part]));
        const around = {
          a: undefined,
          ...Object.fromEntries(parts.map((part, n) => [`n${n}`, part])),
          shared,
        };
        const value = { first: shared, other, around, again: [shared, { shared }, around], last: shared };
        expect(writeMsgpack(value, 32)).toEqual(new Uint8Array(library.pack(value)));
      }),
      { numRuns: 40 },
    );
  });

  test('keeps its place where undefined fields make the head of a map shorter', () => {
    const inner = { a: 1, b: 2, c: 3, d: 4, e: 5 };
    const fields = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`gone${n}`, undefined]));
    const value = { ...fields, inner, again: inner, text: 'after'.repeat(100), last: [inner, inner] };
    expect(writeMsgpack([value, inner, value], 32)).toEqual(
      new Uint8Array(library.pack([value, inner, value])),
    );
  });

  test('of any size has memory of its own, and no more than it needs', () => {
    for (const length of [1, 70_000, 3_000_000]) {
      const bytes = writeMsgpack({ text: 'é'.repeat(length) }, 32);
      expect(bytes?.length).toBe(bytes?.buffer.byteLength);
      expect(library.unpack(bytes ?? new Uint8Array())).toEqual({ text: 'é'.repeat(length) });
    }
  });
});

test('what is more than plain, or too deep, is left to others', () => {
  const own = JSON.parse('{"__proto__": 1}') as object;
  for (const value of [new Date(0), 1n, new Map(), () => {}, new Uint8Array(1), Symbol('x'), own])
    expect(writeMsgpack({ list: [value] }, 32)).toBeNull();
  expect(writeMsgpack([[[1]]], 3)).not.toBeNull();
  expect(writeMsgpack([[[1]]], 2)).toBeNull();
  // Nothing is left over from what was given up.
  expect(writeMsgpack([1], 3)).toEqual(new Uint8Array([0x91, 1]));
});
