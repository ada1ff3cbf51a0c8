/**
 * The sender of a request, named for people who later read the step's cause or the log.
 *
 * Where roles have their own accounts, the NATS server names the sender in a header that it sets itself,
 * overwriting whatever the sender wrote. When a replica asks on behalf of an HTTP client, it names that
 * client in a header of its own. The second header counts only if the server names nobody, which is the case
 * in the account of the replicas. Applies to requests only: the server strips its header from stored
 * messages, so mail names nobody.
 *
 * Promises: printable ASCII of bounded length, or null. Absent: trust. Without accounts anybody can write
 * either header, so no permission depends on it.
 */
import { attempt } from '../base/errors.ts';
import type { Headers } from './bus.ts';
import { headerOf } from './envelope.ts';

/** Set by the NATS server at a service import; names the user if the import says `share: true`. */
const requestInfo = 'Nats-Request-Info';
/** Set by replicas. */
export const byHeader = 'Orrery-By';

/**
 * `hand`: a person wrote the message, who wants to hear of a field that does not exist. Programs do not set
 * it: one of a later release may send fields that this one does not know.
 */
const writtenHeader = 'Orrery-Written-By';
export const writtenByHand: Headers = { [writtenHeader]: 'hand' };
export const isByHand = (headers: Headers): boolean => headerOf(headers, writtenHeader) === 'hand';

const requestInfoMax = 8_192;
const senderMax = 200;

/** `nats:ORRERY_PEOPLE/person`, `http:alice@example.com`; null: unknown. */
export function senderIn(headers: Headers): string | null {
  const info = headerOf(headers, requestInfo);
  if (info !== undefined) return natsSender(info);
  const by = headerOf(headers, byHeader);
  return by === undefined ? null : readable(by);
}

/** The cause of an event, with the sender's name. */
export function causeBy(cause: string, by: string | null): string {
  return by === null ? cause : `${cause} by ${by}`;
}

/** The text in a form that fits into a header or a log line. */
export const readable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').slice(0, senderMax);

function natsSender(info: string): string | null {
  if (info.length > requestInfoMax) return null;
  return attempt(() => {
    const { acc, user } = (JSON.parse(info) ?? {}) as { readonly acc?: unknown; readonly user?: unknown };
    if (typeof acc !== 'string' || acc === '') return null;
    return readable(typeof user === 'string' && user !== '' ? `nats:${acc}/${user}` : `nats:${acc}`);
  }, null);
}
