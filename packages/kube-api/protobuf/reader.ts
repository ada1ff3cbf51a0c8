/**
 * The protobuf wire format: the fields of a message, one after another (protobuf.dev, "Encoding"). Reads
 * only.
 */

export interface WireField {
  readonly number: number;
  /** A number, or the bytes of a text, of bytes or of a message. */
  readonly value: bigint | Buffer;
}

/** @throws RangeError if the bytes are not a message */
export function* wireFields(bytes: Buffer): Generator<WireField> {
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new RangeError('unexpected end of a protobuf message');
    at += length;
    return bytes.subarray(at - length, at);
  };
  const varint = (): bigint => {
    for (let result = 0n, shift = 0n; shift < 70n; shift += 7n) {
      const byte = take(1)[0] ?? 0;
      result |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, result);
    }
    throw new RangeError('a number in a protobuf message is too long');
  };
  while (at < bytes.length) {
    const key = Number(varint());
    const number = key >> 3;
    switch (key & 7) {
      case 0:
        yield { number, value: varint() };
        break;
      case 1:
        yield { number, value: take(8) };
        break;
      case 2:
        yield { number, value: take(Number(varint())) };
        break;
      case 5:
        yield { number, value: take(4) };
        break;
      default:
        throw new RangeError('unknown wire type in a protobuf message');
    }
  }
}
