/** Reads requests as anybody may send them: each field is checked, and a wrong one is named. */
import { OrreryError } from '../../base/errors.ts';
import type { BusMessage } from '../../bus/bus.ts';
import { contentType, decode } from '../../bus/codec.ts';
import { headerOf } from '../../bus/envelope.ts';

export interface Field {
  /** For people: `text`. */
  readonly allowed: string;
  test(value: unknown): boolean;
}

export const text: Field = { allowed: 'text', test: (value) => typeof value === 'string' };

const isWhole = (value: unknown, least: number) => Number.isSafeInteger(value) && Number(value) >= least;
export const wholeNumber: Field = { allowed: 'a whole number', test: (value) => isWhole(value, 0) };
export const positiveNumber: Field = {
  allowed: 'a whole number from 1 on',
  test: (value) => isWhole(value, 1),
};

/**
 * @param fields all optional; others are left alone
 * @returns an empty object for an empty message
 * @throws OrreryError MESSAGE_UNREADABLE with the field and what is allowed
 */
export function readFields(
  message: BusMessage,
  fields: Readonly<Record<string, Field>>,
): Readonly<Record<string, unknown>> {
  if (message.data.byteLength === 0) return {};
  const body = decode(message.data, headerOf(message.headers, contentType.header));
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw unreadable('it is not an object');
  const request = body as Readonly<Record<string, unknown>>;
  for (const [name, { allowed, test }] of Object.entries(fields)) {
    const value = request[name];
    if (value !== undefined && !test(value)) throw unreadable(`its field "${name}" is not ${allowed}`);
  }
  return request;
}

export const unreadable = (reason: string) =>
  new OrreryError('MESSAGE_UNREADABLE', `the request cannot be read: ${reason}`);
