/**
 * Splits bytes into lines: newline-delimited text that arrives in pieces, which may split characters.
 *
 * Promise: a line of more than `bytesMax` is an error as soon as it is seen, so memory is bounded (I6).
 */
import { OrreryError } from '../../base/errors.ts';

const newline = 0x0a;

export function createLineReader(bytesMax: number) {
  let pieces: Uint8Array[] = [];
  let pendingBytes = 0;

  const keep = (piece: Uint8Array) => {
    if (piece.length === 0) return;
    pendingBytes += piece.length;
    if (pendingBytes > bytesMax) {
      throw new OrreryError('MESSAGE_TOO_LARGE', `a line of a watch is longer than ${bytesMax} bytes`);
    }
    pieces.push(piece);
  };
  // Only whole lines are decoded, so no character is ever cut.
  const take = () => {
    const line = Buffer.concat(pieces, pendingBytes).toString('utf8').trim();
    pieces = [];
    pendingBytes = 0;
    return line;
  };

  return {
    /**
     * The lines that this piece completes, without line ends; empty lines are left out.
     *
     * @throws OrreryError MESSAGE_TOO_LARGE
     */
    read(piece: Uint8Array): string[] {
      const lines: string[] = [];
      let start = 0;
      for (let end = piece.indexOf(newline); end >= 0; end = piece.indexOf(newline, start)) {
        keep(piece.subarray(start, end));
        start = end + 1;
        const line = take();
        if (line !== '') lines.push(line);
      }
      keep(piece.subarray(start));
      return lines;
    },
    /** Bytes of an incomplete line. */
    get pendingBytes(): number {
      return pendingBytes;
    },
  };
}
