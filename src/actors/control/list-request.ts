/**
 * The request of `rpc.list`, as anybody may send it. A field that could match nothing is refused: an empty
 * list would read as "there are none". A limit above `limits.listActors` counts as that many; `next` goes on.
 */
import { OrreryError } from '../../base/errors.ts';
import { parseActorId } from '../../base/ids.ts';
import type { ListRequest } from '../../base/views.ts';
import type { BusMessage } from '../../bus/bus.ts';
import { contentType, decode } from '../../bus/codec.ts';
import { headerOf } from '../../bus/envelope.ts';

/** @throws OrreryError MESSAGE_UNREADABLE with the field and what is allowed */
export function readListRequest(message: BusMessage, isKind: (kind: string) => boolean): ListRequest {
  if (message.data.byteLength === 0) return {};
  const body = decode(message.data, headerOf(message.headers, contentType.header));
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw wrong('it is not an object');
  for (const [name, { allowed, test }] of Object.entries(fields)) {
    const value = (body as Readonly<Record<string, unknown>>)[name];
    if (value !== undefined && !test(value)) throw wrong(`its field "${name}" is not ${allowed}`);
  }
  const request = body as ListRequest;
  const { kind } = request;
  if (kind !== undefined && !isKind(kind)) throw wrong(`there is no kind "${kind}"`);
  if (request.after !== undefined) parseActorId(request.after);
  return request;
}

const isText = (value: unknown) => typeof value === 'string';
const text = { allowed: 'text', test: isText };

const fields: Readonly<Record<string, { readonly allowed: string; test(value: unknown): boolean }>> = {
  kind: text,
  namespace: text,
  state: text,
  after: text,
  health: {
    allowed: 'ok, waiting or wrong',
    test: (value) => value === 'ok' || value === 'waiting' || value === 'wrong',
  },
  facts: { allowed: 'true or false', test: (value) => typeof value === 'boolean' },
  limit: {
    allowed: 'a whole number from 1 on',
    test: (value) => Number.isSafeInteger(value) && Number(value) >= 1,
  },
};

const wrong = (reason: string) =>
  new OrreryError('MESSAGE_UNREADABLE', `the request cannot be read: ${reason}`);
