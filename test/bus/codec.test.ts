import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { addExtension, Packr } from 'msgpackr/pack';
import { describe, expect, test } from 'vitest';
import { hasCode } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import { decode, encode, encodeJson } from '../../src/bus/codec.ts';
import { readMessage, writeMessage } from '../../src/bus/envelope.ts';

const plain = fc
  .jsonValue({ maxDepth: 6, noUnicodeString: false } as never)
  .filter((value) => !JSON.stringify(value).includes('__proto__'));
const isUnreadable = (fn: () => unknown): boolean => {
  try {
    fn();
    return false;
  } catch (error) {
    if (!hasCode(error, 'MESSAGE_UNREADABLE')) throw error;
    return true;
  }
};
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const hex = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'));

describe('a plain value', () => {
  test('does not keep the text around what is kept of it', () => {
    const bytes = encode({
      uid: '5f0c7f38-6f0e-4d27-9d8e-0123456789ab',
      rest: Array(20).fill('x'.repeat(50)),
    });
    collect();
    const before = process.memoryUsage().heapUsed;
    const kept = Array.from({ length: 5_000 }, () => (decode(bytes) as { uid: string }).uid);
    collect();
    expect((process.memoryUsage().heapUsed - before) / kept.length).toBeLessThan(200);
  });

  test('comes back as it was, by MessagePack and by JSON', () => {
    fc.assert(
      fc.property(plain, (value) => {
        const wanted = JSON.parse(JSON.stringify(value));
        expect(decode(encode(value), 'application/msgpack')).toEqual(wanted);
        expect(decode(encodeJson(value), 'application/json')).toEqual(wanted);
      }),
    );
  });

  test('keeps integers to 2^53, fractions and the ends of the scale', () => {
    for (const value of [
      0,
      -1,
      127,
      128,
      65_536,
      2 ** 32,
      2 ** 53 - 1,
      -(2 ** 53 - 1),
      0.1,
      1e300,
      1_700_000_000_123,
    ]) {
      expect(decode(encode(value), 'application/msgpack')).toBe(value);
    }
  });

  test('loses undefined fields and keeps places in arrays, as in JSON', () => {
    expect(decode(encode({ a: undefined, b: [undefined, 1] }))).toEqual({ b: [null, 1] });
    expect(Object.keys(decode(encode({ a: undefined, b: 1 })) as object)).toEqual(['b']);
  });

  test('is not overwritten by the next one that is encoded', () => {
    const first = encode({ text: 'first'.repeat(20) });
    const copy = Uint8Array.from(first);
    for (let n = 0; n < 100; n++) encode({ text: 'other'.repeat(n) });
    expect(first).toEqual(copy);
    expect(first.buffer.byteLength).toBe(first.length);
  });

  test('that only looks plain is refused where it is encoded, not where it is read', () => {
    for (const value of [new Date(0), 2n ** 60n, new Uint8Array([1]), { f: new Date(0) }, { f: () => 1 }]) {
      expect(() => encode(value)).toThrow(/only plain values/);
    }
  });
});

describe('a payload', () => {
  test('without a content type is JSON if it begins like JSON, else MessagePack', () => {
    expect(decode(encodeJson({ a: 1 }))).toEqual({ a: 1 });
    expect(decode(encodeJson([1]))).toEqual([1]);
    expect(decode(encode({ a: 1 }))).toEqual({ a: 1 });
    expect(decode(encodeJson({ a: 1 }), 'Application/JSON; charset=utf-8')).toEqual({ a: 1 });
    expect(isUnreadable(() => decode(encodeJson({}), 'text/plain'))).toBe(true);
  });

  test('without a content type may have blanks before it, as an editor or a here-document leaves them', () => {
    expect(decode(Buffer.from('\n  {"a": 1}\n'))).toEqual({ a: 1 });
    expect(decode(Buffer.from('\r\n\t[1]'))).toEqual([1]);
    expect(decode(encode(10))).toBe(10);
  });

  test('that is some text says as what it was read', () => {
    expect(() => decode(Buffer.from('recheck, please'))).toThrow(/it was read as MessagePack, because/);
    expect(() => decode(Buffer.from('recheck'), 'application/msgpack')).toThrow(/follows its end$/);
  });

  test('of any bytes is read or refused, and nothing else happens', () => {
    const bytes = fc.uint8Array({ maxLength: 200 });
    fc.assert(
      fc.property(
        bytes,
        fc.constantFrom(undefined, 'application/json', 'application/msgpack'),
        (data, type) => {
          let value: unknown;
          if (isUnreadable(() => (value = decode(data, type)))) return;
          expect(JSON.parse(JSON.stringify(value ?? null))).toBeDefined();
        },
      ),
      { numRuns: 2000 },
    );
  });

  test('with a byte changed or cut off is read or refused', () => {
    fc.assert(
      fc.property(plain, fc.nat(), fc.nat(255), (value, at, byte) => {
        const data = encode(value);
        isUnreadable(() => decode(data.subarray(0, at % (data.length + 1)), 'application/msgpack'));
        data[at % data.length] = byte;
        isUnreadable(() => decode(data, 'application/msgpack'));
      }),
      { numRuns: 1000 },
    );
  });

  test('that claims more than it holds is refused without memory being taken for it', () => {
    for (const claim of [
      'ddffffffff',
      'dfffffffff',
      'dbffffffff',
      'c6ffffffff',
      'dcffff',
      'd9ff',
      '92',
      '81a161',
      '',
    ]) {
      expect(
        isUnreadable(() => decode(hex(claim), 'application/msgpack')),
        claim,
      ).toBe(true);
    }
  });

  test('with extensions, binary, records, odd keys or trailing bytes is refused', () => {
    for (const bad of [
      'd6ff00000000',
      'c70173 01',
      'c40101',
      'd4721090',
      'd40000',
      '8101 01',
      '0101',
      'c1',
      'cf0020000000000000',
      'd3ffdfffffffffffff',
    ]) {
      expect(
        isUnreadable(() => decode(hex(bad), 'application/msgpack')),
        bad,
      ).toBe(true);
    }
    addExtension({
      Class: class {},
      type: 0x21,
      pack: () => Buffer.alloc(0),
      unpack: () => expect.fail('an extension ran'),
    });
    expect(isUnreadable(() => decode(hex('c70021'), 'application/msgpack'))).toBe(true);
  });

  test('nested without end is refused, and its depth does not reach the stack', () => {
    const deep = '['.repeat(250_000) + ']'.repeat(250_000);
    expect(isUnreadable(() => decode(Buffer.from(deep), 'application/json'))).toBe(true);
    expect(isUnreadable(() => decode(new Uint8Array(250_000).fill(0x91), 'application/msgpack'))).toBe(true);
    const levels = (n: number): unknown => (n === 0 ? 1 : [levels(n - 1)]);
    expect(decode(encode(levels(limits.messageDepth)), 'application/msgpack')).toEqual(
      levels(limits.messageDepth),
    );
    expect(isUnreadable(() => decode(encodeJson(levels(limits.messageDepth + 1))))).toBe(true);
  });

  test('cannot touch a prototype', () => {
    const json = '{"type":"x","__proto__":{"polluted":true}}';
    expect(isUnreadable(() => decode(Buffer.from(json)))).toBe(true);
    expect(isUnreadable(() => decode(Buffer.from('{"a":[{"\\u005f_proto__":1}]}')))).toBe(true);
    const packed = new Packr({ useRecords: false }).pack(JSON.parse(json));
    expect(isUnreadable(() => decode(packed, 'application/msgpack'))).toBe(true);
    const value = decode(Buffer.from('{"constructor":{"prototype":{"polluted":true}}}'));
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe('a message', () => {
  const text = (value: string) => ({ data: Buffer.from(value), headers: {} });

  test('as a person types it is understood', () => {
    expect(readMessage(text('{"type":"pod.recheck"}'))).toEqual({
      event: { type: 'pod.recheck' },
      id: undefined,
      cause: null,
    });
  });

  test('that is written is read back, with its cause', () => {
    const event = { type: 'route.proven', service: 'web', ip: '10.0.0.1' };
    expect(readMessage(writeMessage(event, { cause: 'pod/shop/web-0/3/0' }))).toEqual({
      event,
      id: undefined,
      cause: 'pod/shop/web-0/3/0',
    });
  });

  test('has the id of its header before the id of its body', () => {
    const body = '{"type":"x","id":"body","cause":"c"}';
    expect(readMessage(text(body))).toMatchObject({ id: 'body', cause: 'c', event: { type: 'x' } });
    expect(readMessage({ ...text(body), headers: { 'Nats-Msg-Id': 'head' } }).id).toBe('head');
    expect(readMessage({ ...text(body), headers: { 'nats-msg-id': 'head' } }).id).toBe('head');
    expect(readMessage(text(body)).event).not.toHaveProperty('id');
  });

  test('that is not one is refused with the reason', () => {
    for (const bad of [
      '[]',
      '{}',
      '{"type":5}',
      '{"type":""}',
      '{"type":"x","id":5}',
      '{"type":"x","cause":{}}',
      '',
      'x',
      '{',
    ]) {
      expect(
        isUnreadable(() => readMessage(text(bad))),
        bad,
      ).toBe(true);
    }
  });

  test('above the size limit is refused, one of just that size is taken', () => {
    const of = (size: number) =>
      text(JSON.stringify({ type: 'x', fill: '' }).replace('""', `"${'a'.repeat(size - 22)}"`));
    expect(readMessage(of(limits.messageBytes)).event.type).toBe('x');
    expect(of(limits.messageBytes).data.length).toBe(limits.messageBytes);
    expect(() => readMessage(of(limits.messageBytes + 1))).toThrow(/bytes/);
  });
});
