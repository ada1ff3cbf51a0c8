/** The JSON body of a request: bounded, and nothing else is taken. */
import type { IncomingMessage } from 'node:http';
import { limits } from '../../base/limits.ts';

/** A request that cannot be answered as it is; `http-answer.ts` makes an answer of it. */
class RequestError extends Error {
  readonly statusCode: number;
  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

/** @returns undefined: there is none. @throws RequestError */
export async function readBody(request: IncomingMessage): Promise<unknown> {
  const {
    'content-length': length,
    'transfer-encoding': coding,
    'content-type': type = '',
  } = request.headers;
  if (coding === undefined && (length ?? '0') === '0') return undefined;
  if (!/^application\/json *(;|$)/i.test(type))
    throw new RequestError(415, 'the body must be application/json');
  if (Number(length ?? 0) > limits.httpBodyBytes) throw tooLarge();
  const pieces: Buffer[] = [];
  let bytes = 0;
  // What is not read any more must not end the connection before the answer is sent.
  const reading: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  for await (const piece of reading) {
    bytes += piece.length;
    if (bytes > limits.httpBodyBytes) throw tooLarge();
    pieces.push(piece);
  }
  return parse(Buffer.concat(pieces).toString());
}

const tooLarge = () => new RequestError(413, `the body is larger than ${limits.httpBodyBytes} bytes`);

function parse(text: string): unknown {
  try {
    return JSON.parse(text, (key, value) => {
      // Copied into another object it would change what that object is.
      if (key === '__proto__') throw new SyntaxError('a field must not be called __proto__');
      return value;
    });
  } catch (error) {
    throw new RequestError(400, `the body is not JSON: ${(error as Error).message}`);
  }
}
