/**
 * Who sent a request, for people who later read the step's cause or the log.
 *
 * Where roles have accounts of their own, the NATS server names the sender in a header that it sets itself,
 * whatever the sender wrote there. When a replica asks on behalf of somebody who came by HTTP, it names them
 * in a header of its own, which counts only where the server says nothing: replicas are in the account of
 * the streams. This is for requests only: the server strips its header from what it stores, so mail names
 * nobody. Promises: printable ASCII of bounded length, or null. Absent: trust. Without accounts anybody can
 * write either header, so nothing is ever allowed because of it.
 */
import { attempt } from '../base/errors.ts';
import type { Headers } from './bus.ts';
import { headerOf } from './envelope.ts';

/** Set by the NATS server at a service import; names the user where the import says `share: true`. */
const requestInfo = 'Nats-Request-Info';
/** Set by replicas. */
export const byHeader = 'Orrery-By';

const requestInfoMax = 8_192;
const senderMax = 200;

/** `nats:ORRERY_PEOPLE/person`, `http:alice@example.com`; null: nobody says. */
export function senderIn(headers: Headers): string | null {
  const info = headerOf(headers, requestInfo);
  if (info !== undefined) return natsSender(info);
  const by = headerOf(headers, byHeader);
  return by === undefined ? null : readable(by);
}

/** The cause of an event with the name of who sent it. */
export function causeBy(cause: string, by: string | null): string {
  return by === null ? cause : `${cause} by ${by}`;
}

/** Of a text for a header or a line of the log. */
export const readable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').slice(0, senderMax);

function natsSender(info: string): string | null {
  if (info.length > requestInfoMax) return null;
  return attempt(() => {
    const { acc, user } = (JSON.parse(info) ?? {}) as { readonly acc?: unknown; readonly user?: unknown };
    if (typeof acc !== 'string' || acc === '') return null;
    return readable(typeof user === 'string' && user !== '' ? `nats:${acc}/${user}` : `nats:${acc}`);
  }, null);
}
