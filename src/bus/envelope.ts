/**
 * The form of a message that drives an actor: `{type, id?, cause?, …fields of the event}`.
 *
 * Owns the rules for every sender: the size, the names and lengths of the common fields, the place of the
 * message's id. Absent: whether the machine knows the event (`machines/`), and who receives it (`actors/`).
 */

import { invariant, OrreryError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { PlainEvent } from '../base/plain-event.ts';
import type { Headers } from './bus.ts';
import { contentType, decode, encode } from './codec.ts';

/** An event from outside: only its type has been checked to be text. */
export type ForeignEvent = PlainEvent;

export interface Envelope {
  readonly event: ForeignEvent;
  /** Identifies repeated deliveries (I5): the header `Nats-Msg-Id`, otherwise the field `id`. */
  readonly id: string | undefined;
  /** What caused the message: a message id or the key of an effect. */
  readonly cause: string | null;
}

export const msgIdHeader = 'Nats-Msg-Id';

/**
 * The most characters of `type`, `id` and `cause`: an effect's key is an actor id (at most 3 × 253) and two
 * numbers.
 */
const wordMax = 1024;

/** @throws OrreryError MESSAGE_TOO_LARGE | MESSAGE_UNREADABLE */
export function readMessage(message: { readonly data: Uint8Array; readonly headers: Headers }): Envelope {
  const { data, headers } = message;
  if (data.length > limits.messageBytes) {
    throw new OrreryError(
      'MESSAGE_TOO_LARGE',
      `the message has ${data.length} bytes; ${limits.messageBytes} are allowed`,
    );
  }
  const body = decode(data, headerOf(headers, contentType.header));
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw unreadable('it is not an object');
  const { id, cause, ...event } = body as Record<string, unknown>;
  if (!hasType(event)) throw unreadable('it has no field "type" of text');
  const msgId = headerOf(headers, msgIdHeader) ?? word('id', id);
  return { event, id: msgId, cause: word('cause', cause) ?? null };
}

/** The payload and headers of a message. The caller passes its id as `AppendOptions.msgId`. */
export function writeMessage(
  event: { readonly type: string },
  options: { readonly cause?: string | null } = {},
): { readonly data: Uint8Array; readonly headers: Headers } {
  invariant(!('id' in event) && !('cause' in event), 'an event has no fields "id" or "cause"', {
    type: event.type,
  });
  const body =
    options.cause === undefined || options.cause === null ? event : { ...event, cause: options.cause };
  return { data: encode(body), headers: { [contentType.header]: contentType.msgpack } };
}

/** Whether a header keeps to its line. Programs may send, and NATS stores, what does not. */
export const isOneLine = (name: string, value: string): boolean =>
  !illegalName.test(name) && !illegalValue.test(value);

const illegalName = /[^!-9;-~]|^$/;
const illegalValue = /[\r\n]/;

/** Finds a header regardless of the case of its name, which differs between senders' libraries. */
export function headerOf(headers: Headers, name: string): string | undefined {
  const exact = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (exact !== undefined) return exact === '' ? undefined : exact;
  const wanted = name.toLowerCase();
  for (const [key, value] of Object.entries(headers)) {
    if (key.toLowerCase() === wanted && value !== '') return value;
  }
  return undefined;
}

function hasType(event: Record<string, unknown>): event is ForeignEvent {
  const type = event.type;
  return typeof type === 'string' && type.length > 0 && type.length <= wordMax;
}

function word(field: string, value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string' || value.length > wordMax)
    throw unreadable(`its field "${field}" is not a short text`);
  return value;
}

function unreadable(reason: string): OrreryError {
  return new OrreryError('MESSAGE_UNREADABLE', `the message cannot be read: ${reason}`);
}
