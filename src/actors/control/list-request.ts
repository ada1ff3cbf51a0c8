/**
 * The request of `rpc.list`, as anybody may send it. A field that could match nothing is refused: an empty
 * list would read as "there are none". A limit above `limits.listActors` counts as that many; `next` goes on.
 */
import { parseActorId } from '../../base/ids.ts';
import { healths, type ListRequest } from '../../base/views.ts';
import type { BusMessage } from '../../bus/bus.ts';
import { type Field, positiveNumber, readFields, text, unreadable } from './request-fields.ts';

const fields: Readonly<Record<string, Field>> = {
  kind: text,
  namespace: text,
  state: text,
  after: text,
  health: { allowed: 'ok, waiting or wrong', test: (value) => healths.some((one) => one === value) },
  facts: { allowed: 'true or false', test: (value) => typeof value === 'boolean' },
  limit: positiveNumber,
};

/** @throws OrreryError MESSAGE_UNREADABLE with the field and what is allowed */
export function readListRequest(message: BusMessage, isKind: (kind: string) => boolean): ListRequest {
  const request = readFields(message, fields) as ListRequest;
  const { kind } = request;
  if (kind !== undefined && !isKind(kind)) throw unreadable(`there is no kind "${kind}"`);
  if (request.after !== undefined) parseActorId(request.after);
  return request;
}
