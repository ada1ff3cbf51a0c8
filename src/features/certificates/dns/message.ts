/**
 * DNS messages (RFC 1035, RFC 2136) to bytes and back. Pure.
 *
 * Promises: reading ends for any bytes, with a message or null. Names are in lower case and without a
 * trailing dot; written names are not compressed. Absent: the contents of record types that are not used
 * here; they stay bytes.
 */

export const recordTypes = { ns: 2, cname: 5, soa: 6, txt: 16, tsig: 250, any: 255 } as const;
export const classes = { internet: 1, none: 254, any: 255 } as const;
export const opcodes = { query: 0, update: 5 } as const;

export interface DnsQuestion {
  readonly name: string;
  readonly type: number;
  readonly class: number;
}

export interface DnsRecord extends DnsQuestion {
  readonly ttl: number;
  readonly data: Uint8Array;
  /** The name at the start of the data of NS, CNAME and SOA. */
  readonly target?: string;
}

export interface DnsMessage {
  readonly id: number;
  readonly opcode: number;
  /** Of an answer. */
  readonly isAnswer?: boolean;
  readonly isTruncated?: boolean;
  readonly isRecursionDesired?: boolean;
  readonly code: number;
  /** In an update: the zone, prerequisites, updates, and additional records. */
  readonly questions: readonly DnsQuestion[];
  readonly answers: readonly DnsRecord[];
  readonly authorities: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
  /** Offset of the last record, needed to check signatures; 0: none. Only in messages that were read. */
  readonly lastAt?: number;
}

const headerBytes = 12;
const labelBytesMax = 63;
/** Names may contain pointers; more of them than possible labels form a loop. */
const pointersMax = 128;

export function writeMessage(message: DnsMessage): Uint8Array {
  const { id, opcode, code, questions, answers, authorities, additionals } = message;
  const header = Buffer.alloc(headerBytes);
  const flag = (is: boolean | undefined, bit: number) => (is === true ? bit : 0);
  const flags =
    flag(message.isAnswer, 0x8000) |
    flag(message.isTruncated, 0x0200) |
    flag(message.isRecursionDesired, 0x0100);
  const words = [id, flags | (opcode << 11) | code];
  for (const part of [questions, answers, authorities, additionals]) words.push(part.length);
  for (const [n, word] of words.entries()) header.writeUInt16BE(word, n * 2);
  return Buffer.concat([
    header,
    ...questions.map(questionBytes),
    ...[...answers, ...authorities, ...additionals].map(recordBytes),
  ]);
}

const word16 = (value: number) => Buffer.from([value >> 8, value & 0xff]);

function questionBytes({ name, type, class: kind }: DnsQuestion): Uint8Array {
  return Buffer.concat([nameBytes(name), word16(type), word16(kind)]);
}

function recordBytes(record: DnsRecord): Uint8Array {
  const ttl = Buffer.alloc(4);
  ttl.writeUInt32BE(record.ttl);
  return Buffer.concat([questionBytes(record), ttl, word16(record.data.byteLength), record.data]);
}

/** A name in the form in which it is written and signed (RFC 4034 6.2). */
export function nameBytes(name: string): Uint8Array {
  const labels = name
    .toLowerCase()
    .split('.')
    .filter((label) => label !== '');
  return Buffer.concat([
    ...labels.map((label) => {
      const bytes = Buffer.from(label, 'latin1').subarray(0, labelBytesMax);
      return Buffer.concat([Buffer.from([bytes.byteLength]), bytes]);
    }),
    Buffer.alloc(1),
  ]);
}

/** The data of a TXT record: strings of at most 255 bytes. */
export function textData(value: string): Uint8Array {
  const bytes = Buffer.from(value, 'latin1');
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.byteLength || at === 0; at += 255) {
    const part = bytes.subarray(at, at + 255);
    parts.push(Buffer.from([part.byteLength]), part);
  }
  return Buffer.concat(parts);
}

/** null: these bytes are no message. */
export function readMessage(bytes: Uint8Array): DnsMessage | null {
  try {
    return new Reader(bytes).message();
  } catch (thrown) {
    if (thrown instanceof RangeError) return null;
    throw thrown;
  }
}

/** Reads with bounds: beyond the end it throws a RangeError, as Buffer does. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  message(): DnsMessage {
    const id = this.#word();
    const flags = this.#word();
    const counts = [this.#word(), this.#word(), this.#word(), this.#word()] as const;
    const questions = this.#times(counts[0], () => this.#question());
    let lastAt = 0;
    const records = (count: number) =>
      this.#times(count, () => {
        lastAt = this.#at;
        return this.#record();
      });
    return {
      id,
      opcode: (flags >> 11) & 15,
      isAnswer: (flags & 0x8000) !== 0,
      isTruncated: (flags & 0x0200) !== 0,
      code: flags & 15,
      questions,
      answers: records(counts[1]),
      authorities: records(counts[2]),
      additionals: records(counts[3]),
      lastAt,
    };
  }

  #times<T>(count: number, read: () => T): T[] {
    const all: T[] = [];
    for (let n = 0; n < count; n++) all.push(read());
    return all;
  }

  #word(): number {
    const value = this.#bytes.readUInt16BE(this.#at);
    this.#at += 2;
    return value;
  }

  #question(): DnsQuestion {
    return { name: this.#name(), type: this.#word(), class: this.#word() };
  }

  #record(): DnsRecord {
    const question = this.#question();
    const ttl = this.#bytes.readUInt32BE(this.#at);
    this.#at += 4;
    const length = this.#word();
    const from = this.#at;
    if (from + length > this.#bytes.byteLength) throw new RangeError('the record ends beyond the message');
    const { ns, cname, soa } = recordTypes;
    const isNamed = [ns, cname, soa].some((type) => type === question.type) && length > 0;
    const target = isNamed ? { target: this.#name() } : {};
    this.#at = from + length;
    return { ...question, ttl, data: this.#bytes.subarray(from, from + length), ...target };
  }

  #name(): string {
    const labels: string[] = [];
    let at = this.#at;
    let after = -1;
    for (let pointers = 0; ; ) {
      const length = this.#bytes.readUInt8(at);
      if (length === 0) break;
      if (length >= 0xc0) {
        if (after < 0) after = at + 2;
        at = this.#bytes.readUInt16BE(at) & 0x3fff;
        if (++pointers > pointersMax) throw new RangeError('the name leads nowhere');
        continue;
      }
      if (length > labelBytesMax || at + 1 + length > this.#bytes.byteLength)
        throw new RangeError('the label ends beyond the message');
      labels.push(this.#bytes.toString('latin1', at + 1, at + 1 + length).toLowerCase());
      at += 1 + length;
    }
    this.#at = after < 0 ? at + 1 : after;
    return labels.join('.');
  }
}
