/**
 * Questions and answers of the domain name system (RFC 1035), as far as a question for the address of one
 * name needs them. Pure.
 *
 * Absent: every record but A, several questions in one message, compression in questions (nobody sends it),
 * EDNS: whatever follows the question is not read.
 */

export interface DnsQuestion {
  /** In lower case, without the final dot. */
  readonly name: string;
  readonly type: number;
  /** The message from the question's name to its class, for the answer. */
  readonly bytes: Uint8Array;
  readonly id: number;
  readonly isRecursionDesired: boolean;
}

export const recordTypeA = 1;
const classInternet = 1;
const headerBytes = 12;

/**
 * `refused`: not one of our names. `absent`: no such name. An empty list: the name exists but has no such
 * record.
 */
export type DnsAnswer = 'refused' | 'absent' | readonly string[];

/** How long an answer may be kept, s: as long as CoreDNS allows for Services. */
const ttlSeconds = 5;

/** The only question of a message; null if there is none that can be answered. */
export function readQuestion(message: Uint8Array): DnsQuestion | null {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  if (message.byteLength < headerBytes || (view.getUint8(2) & 0xf8) !== 0 || view.getUint16(4) !== 1)
    return null;
  const labels: string[] = [];
  let at = headerBytes;
  for (;;) {
    const length = message[at];
    if (length === undefined || length > 63 || at + length + 5 > message.byteLength) return null;
    at += 1;
    if (length === 0) break;
    labels.push(
      Buffer.from(message.subarray(at, at + length))
        .toString('latin1')
        .toLowerCase(),
    );
    at += length;
  }
  if (at + 4 > message.byteLength || view.getUint16(at + 2) !== classInternet) return null;
  return {
    name: labels.join('.'),
    type: view.getUint16(at),
    bytes: message.slice(headerBytes, at + 4),
    id: view.getUint16(0),
    isRecursionDesired: (view.getUint8(2) & 1) === 1,
  };
}

export function writeAnswer(question: DnsQuestion, answer: DnsAnswer): Uint8Array {
  const addresses = typeof answer === 'string' ? [] : answer;
  const code = answer === 'refused' ? 5 : answer === 'absent' ? 3 : 0;
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16BE(question.id, 0);
  // Authoritative, with recursion available: there is nobody else to ask.
  header.writeUInt16BE(0x8480 | (question.isRecursionDesired ? 0x0100 : 0) | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  return Buffer.concat([header, question.bytes, ...addresses.map(addressRecord)]);
}

/** Its name is that of the question. */
function addressRecord(ip: string): Buffer {
  const record = Buffer.alloc(16);
  record.writeUInt16BE(0xc000 | headerBytes, 0);
  record.writeUInt16BE(recordTypeA, 2);
  record.writeUInt16BE(classInternet, 4);
  record.writeUInt32BE(ttlSeconds, 6);
  record.writeUInt16BE(4, 10);
  for (const [index, byte] of ip.split('.').entries()) record[12 + index] = Number(byte);
  return record;
}
