/**
 * A stored message as a line of the fixture: its content in plain JSON, for reading and comparing, and its
 * exact bytes.
 *
 * A message that is JSON text already needs no separate bytes: `text` has them.
 */
import { decode, type StoredMessage } from '../roll-over/product.ts';

export function lineOf({ subject, sequence, storedAt, headers, data }: StoredMessage): string {
  const place = { subject, sequence, storedAt, headers };
  if (data.byteLength === 0) return JSON.stringify({ ...place, bytes: '' });
  const buffer = Buffer.from(data);
  if (data[0] === 0x7b) return JSON.stringify({ ...place, text: buffer.toString('utf8') });
  return JSON.stringify({ ...place, says: decode(data), bytes: buffer.toString('base64') });
}
