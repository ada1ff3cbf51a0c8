/**
 * Messages of DNS to bytes and back: the examples of RFC 1035, the form of RFC 2136, signatures of RFC 8945,
 * and bytes of anybody.
 */
import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  nameBytes,
  readMessage,
  recordTypes,
  textData,
  writeMessage,
} from '../../../src/features/certificates/dns/message.ts';
import { signatureFault, signed } from '../../../src/features/certificates/dns/tsig.ts';
import { updateMessage } from '../../../src/features/certificates/dns/update.ts';

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');
const head = (id: number, counts: readonly number[]) => {
  const bytes = Buffer.alloc(12);
  for (const [n, word] of [id, 0x8180, ...counts].entries()) bytes.writeUInt16BE(word, n * 2);
  return bytes;
};

describe('names', () => {
  test('RFC 1035 4.1.4: F.ISI.ARPA, FOO.F.ISI.ARPA, ARPA and the root share their ends by pointers', () => {
    // Padding up to offset 20, as in the example; each name as the data of a CNAME of the root.
    const name = (bytes: string) => Buffer.concat([hex('00 0005 0001 00000000'), hex(bytes)]);
    const first = name('000c 01 46 03 495349 04 41525041 00');
    const at = 12 + 11;
    const pointer = (0xc000 + at).toString(16);
    const arpa = (0xc000 + at + 6).toString(16);
    const message = readMessage(
      Buffer.concat([
        head(1, [0, 4, 0, 0]),
        first,
        name(`0006 03 464f4f ${pointer}`),
        name(`0002 ${arpa}`),
        name('0001 00'),
      ]),
    );
    expect(message?.answers.map(({ target }) => target)).toEqual([
      'f.isi.arpa',
      'foo.f.isi.arpa',
      'arpa',
      '',
    ]);
  });

  test('are written in lower case, without pointers, and the root is a zero', () => {
    expect(Buffer.from(nameBytes('F.ISI.ARPA.')).toString('hex')).toBe('016603697369046172706100');
    expect([...nameBytes('')]).toEqual([0]);
  });

  test('that lead in a circle end in no message', () => {
    expect(readMessage(Buffer.concat([head(1, [1, 0, 0, 0]), hex('c00c 0001 0001')]))).toBeNull();
  });
});

describe('an update (RFC 2136)', () => {
  const base = { server: 's:53', zone: 'example.com', fqdn: '_acme-challenge.example.com', value: 'abc' };

  test('adds to a set of records: class IN, a time to live, one record in the third section', () => {
    const bytes = Buffer.from(writeMessage(updateMessage({ ...base, action: 'add' }, 0x1234)));
    expect(bytes.toString('hex', 0, 12)).toBe('123428000001000000010000');
    expect(readMessage(bytes)).toMatchObject({
      opcode: 5,
      questions: [{ name: 'example.com', type: recordTypes.soa, class: 1 }],
      answers: [],
      authorities: [{ name: '_acme-challenge.example.com', type: 16, class: 1, ttl: 60 }],
    });
  });

  test('deletes one record of a set: class NONE, no time to live, the data (2.5.4)', () => {
    const bytes = writeMessage(updateMessage({ ...base, action: 'delete' }, 1));
    const [record] = readMessage(bytes)?.authorities ?? [];
    expect(record).toMatchObject({ class: 254, ttl: 0 });
    expect(Buffer.from(record?.data ?? []).toString('hex')).toBe('03616263');
  });

  test('text of more than 255 bytes is in several strings', () => {
    const data = textData('x'.repeat(300));
    expect([data.byteLength, data[0], data[256]]).toEqual([302, 255, 45]);
  });
});

describe('a signature (RFC 8945)', () => {
  const key = { name: 'key.example', algorithm: 'hmac-sha256', secret: Buffer.alloc(32, 1) } as const;
  const now = Date.parse('2026-01-01T00:00:00Z');
  const update = { server: 's:53', zone: 'z', fqdn: 'a.z', value: 'v', action: 'add' } as const;
  const message = updateMessage(update, 7);

  test('is over the message without it, and the variables of 4.3.3', () => {
    const { bytes, mac } = signed(message, key, now);
    const time = Buffer.alloc(6);
    time.writeUIntBE(now / 1000, 0, 6);
    const variables = Buffer.concat([
      nameBytes('key.example'),
      hex('00ff 00000000'),
      nameBytes('hmac-sha256'),
      time,
      hex('012c 0000 0000'),
    ]);
    const own = createHmac('sha256', key.secret).update(writeMessage(message)).update(variables).digest();
    expect(Buffer.from(mac).equals(own)).toBe(true);
    expect(readMessage(bytes)?.additionals).toMatchObject([
      { name: 'key.example', type: 250, class: 255, ttl: 0 },
    ]);
  });

  /** What a server would answer: signed over the question's signature and the answer. */
  function answer(
    change: { readonly secret?: Buffer; readonly at?: number; readonly over?: Uint8Array } = {},
  ) {
    const question = signed(message, key, now);
    const { secret = key.secret, at = now, over = question.mac } = change;
    const plain = { ...message, isAnswer: true, authorities: [] };
    const time = Buffer.alloc(8);
    time.writeUIntBE(at / 1000, 0, 6);
    time.writeUInt16BE(300, 6);
    const variables = Buffer.concat([
      nameBytes(key.name),
      hex('00ff 00000000'),
      nameBytes(key.algorithm),
      time,
      hex('0000 0000'),
    ]);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(over.byteLength);
    const hmac = createHmac('sha256', secret).update(length).update(over).update(writeMessage(plain));
    const mac = hmac.update(variables).digest();
    const data = Buffer.concat([nameBytes(key.algorithm), time, hex('0020'), mac, hex('0007 0000 0000')]);
    const record = { name: key.name, type: recordTypes.tsig, class: 255, ttl: 0, data };
    const bytes = writeMessage({ ...plain, additionals: [record] });
    const read = readMessage(bytes);
    if (read === null) throw new Error('the answer cannot be read');
    return signatureFault(bytes, read, key, { mac: question.mac, now });
  }

  test('of an answer is checked: by the key, over the question, and now', () => {
    expect(answer()).toBeNull();
    expect(answer({ secret: Buffer.alloc(32, 2) })).toContain('is wrong');
    expect(answer({ over: Buffer.alloc(32) })).toContain('is wrong');
    expect(answer({ at: now - 600_000 })).toContain('another time');
  });

  test('that is missing is no signature', () => {
    const plain = { ...message, isAnswer: true };
    const bytes = writeMessage(plain);
    expect(signatureFault(bytes, plain, key, { mac: Buffer.alloc(32), now })).toBe(
      'the answer is not signed',
    );
  });
});

test('whatever bytes come in, reading ends', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const message = readMessage(Buffer.concat([head(1, [1, 2, 1, 1]), bytes]));
      expect(message === null || message.questions.length === 1).toBe(true);
    }),
  );
});

test('what is written is read back', () => {
  const label = fc.stringMatching(/^[a-z0-9_-]{1,20}$/);
  const name = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join('.'));
  fc.assert(
    fc.property(name, name, fc.string({ maxLength: 300 }), (zone, fqdn, value) => {
      const message = updateMessage({ server: '', zone, fqdn, value, action: 'add' }, 9);
      const read = readMessage(writeMessage(message));
      expect(read).toMatchObject({
        id: 9,
        opcode: 5,
        questions: [{ name: zone }],
        authorities: [{ name: fqdn }],
      });
    }),
  );
});
