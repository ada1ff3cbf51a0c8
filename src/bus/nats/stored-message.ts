/**
 * Stored messages in the forms that the server uses: delivered by a consumer, or read by an API request.
 */
import type { Headers, StoredMessage } from '../bus.ts';
import { isOneLine } from '../envelope.ts';
import type { WireMessage } from './wire.ts';

/** The position of a delivered message, from its reply subject. */
export interface Delivery {
  readonly streamSequence: number;
  /** The consumer's own count of its messages. */
  readonly consumerSequence: number;
  readonly storedAt: number;
  /** Messages still to be delivered when this one was sent. */
  readonly pending: number;
}

/**
 * `$JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<ns>.<pending>`, or NATS' longer form
 * (ADR-15) with `<domain>.<account>` after `ACK` and perhaps more tokens at the end.
 */
export function readDelivery(reply: string): Delivery | undefined {
  const tokens = reply.split('.');
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK') return undefined;
  const skip = tokens.length === 9 ? 5 : tokens.length >= 11 ? 7 : -1;
  if (skip < 0) return undefined;
  const [streamSequence, consumerSequence, nanoseconds, pending] = tokens.slice(skip, skip + 4);
  return {
    streamSequence: Number(streamSequence),
    consumerSequence: Number(consumerSequence),
    storedAt: Number(nanoseconds?.slice(0, -6)),
    pending: Number(pending),
  };
}

export function storedMessage(message: WireMessage, delivery: Delivery): StoredMessage {
  return {
    subject: message.subject,
    data: message.data,
    headers: message.headers(),
    sequence: delivery.streamSequence,
    storedAt: delivery.storedAt,
    pending: delivery.pending,
  };
}

/** The `message` in an answer to `STREAM.MSG.GET`. */
export interface ApiMessage {
  readonly subject: string;
  readonly seq: number;
  /** Base64 of the header block. */
  readonly hdrs?: string;
  /** Base64. */
  readonly data?: string;
  /** RFC 3339. */
  readonly time: string;
}

export function storedMessageOfApi(message: ApiMessage): StoredMessage {
  return {
    subject: message.subject,
    data: new Uint8Array(Buffer.from(message.data ?? '', 'base64')),
    headers: readHeaderBlock(Buffer.from(message.hdrs ?? '', 'base64').toString()),
    sequence: message.seq,
    storedAt: Date.parse(message.time),
  };
}

/** `NATS/1.0\r\nName: value\r\n…\r\n\r\n`; the first value of a name counts. */
export function readHeaderBlock(block: string): Headers {
  const headers: Record<string, string> = {};
  for (const line of block.split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0));
    if (name !== '' && name !== '__proto__' && !Object.hasOwn(headers, name))
      headers[name] = line.slice(colon + 1).trim();
  }
  return headers;
}

/** @throws Error for a name or value that would break out of its line */
export function writeHeaderBlock(headers: Headers): string {
  let block = 'NATS/1.0\r\n';
  for (const name in headers) {
    const value = headers[name] ?? '';
    if (!isOneLine(name, value)) throw new Error(`illegal header ${JSON.stringify(name)}`);
    block += `${name}: ${value}\r\n`;
  }
  return `${block}\r\n`;
}
