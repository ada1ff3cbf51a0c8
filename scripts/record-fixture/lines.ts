/**
 * A stored message as a line of the fixture: what it says in plain JSON, to be read and compared, and its
 * exact bytes.
 *
 * Text that is JSON already stands as it is: its bytes are told by `text`.
 */
import { decode, type StoredMessage } from '../roll-over/product.ts';

export function lineOf({ subject, sequence, storedAt, headers, data }: StoredMessage): string {
  const place = { subject, sequence, storedAt, headers };
  if (data.byteLength === 0) return JSON.stringify({ ...place, bytes: '' });
  const buffer = Buffer.from(data);
  if (data[0] === 0x7b) return JSON.stringify({ ...place, text: buffer.toString('utf8') });
  return JSON.stringify({ ...place, says: decode(data), bytes: buffer.toString('base64') });
}
