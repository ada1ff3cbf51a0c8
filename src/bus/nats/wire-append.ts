/**
 * Stores a message: a plain request to its subject, with the conditions in headers (B2–B4, B6).
 *
 * The client library's own publish creates a promise chain, a stack trace and a timer for each message. This
 * one shares the inbox and the timer of all requests, which makes pipelined saves fast.
 */
import type { OrreryError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Appended, AppendOptions, Guard, Headers } from '../bus.ts';
import {
  conflict,
  inProcess,
  refused,
  unknownOutcome,
  unreachable,
  writeNotPermitted,
} from '../bus-errors.ts';
import { msgIdHeader } from '../envelope.ts';
import { errorIn, errorText, type JetStreamError, jetStreamCode, jsonOf } from './jetstream-api.ts';
import { askOwn, type Takers } from './server/second-answers.ts';
import type { Wire, WireMessage } from './wire.ts';
import type { Failure, WireRequests } from './wire-requests.ts';

/** The library's interface cannot express a guard on another subject than the message's own. */
const guardSubject = 'Nats-Expected-Last-Subject-Sequence-Subject';
const guardSequence = 'Nats-Expected-Last-Subject-Sequence';
const timeToLive = 'Nats-TTL';

/** @param takers by whom it may be answered */
export function wireAppend(wire: Wire, requests: WireRequests, takers: Takers) {
  return (subject: string, data: Uint8Array, options: AppendOptions = {}): Promise<Appended> => {
    // Never into the client's buffer: it would be sent later, after its caller had given up.
    if (wire.status !== 'connected') return Promise.reject(unreachable(wire.status));
    const question = {
      subject,
      data,
      headers: headersOf(options),
      timeoutMs: options.timeoutMs ?? limits.appendTimeoutMs,
      read: (message: WireMessage) => acknowledgement(message, options.guard),
      failed: (failure: Failure) => unconfirmed(failure, subject),
    };
    return askOwn(requests, question, takers);
  };
}

/** @param what the write, in words */
export const unconfirmed = (failure: Failure, subject: string, what = subject): OrreryError =>
  failure === 'not permitted' ? writeNotPermitted(subject) : unknownOutcome(`${what}: ${failure}`);

export function headersOf(options: AppendOptions): Headers | undefined {
  const { headers, msgId, guard, ttlSeconds } = options;
  if (msgId === undefined && guard === undefined && ttlSeconds === undefined) return headers;
  const all: Record<string, string> = { ...headers };
  if (msgId !== undefined) all[msgIdHeader] = msgId;
  if (guard) {
    all[guardSubject] = guard.subject;
    all[guardSequence] = String(guard.sequence);
  }
  if (ttlSeconds !== undefined) all[timeToLive] = `${ttlSeconds}s`;
  return all;
}

/** @throws OrreryError BUS_CONFLICT | BUS_REFUSED | BUS_UNKNOWN_OUTCOME */
export function acknowledgement(message: WireMessage, guard: Guard | undefined): Appended {
  let answer: Record<string, unknown>;
  try {
    answer = jsonOf(message);
  } catch (error) {
    throw unknownOutcome('its acknowledgement cannot be read', error);
  }
  const error = errorIn(answer);
  if (error) throw appendError(error, guard);
  if (typeof answer.seq !== 'number') throw unknownOutcome('its acknowledgement has no sequence');
  return { sequence: answer.seq, duplicate: answer.duplicate === true };
}

function appendError(error: JetStreamError, guard: Guard | undefined): OrreryError {
  const text = errorText(error);
  switch (error.err_code) {
    case jetStreamCode.wrongLastSequence:
      return conflict(guard, text);
    case jetStreamCode.wrongLastSequenceInFlight:
      return inProcess(text);
    default:
      // A server that "cannot now" (no leader, store failed, no resources) does not say how far the message
      // got.
      return error.code >= 500 ? unknownOutcome(text) : refused(text);
  }
}
