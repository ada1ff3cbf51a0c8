/**
 * The control port over the request subjects: the command line asks, and any replica answers.
 *
 * Promises: each call ends within `timeoutMs`, one of a person a while later; an error answer becomes an
 * OrreryError with the replica's code. Absent: the answering side (the replica registers it as the micro
 * service `orrery`), and the connection.
 */

import type { Clock } from '../../base/clock.ts';
import { hasCode, OrreryError } from '../../base/errors.ts';
import type { ActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { PlainEvent } from '../../base/plain-event.ts';
import type {
  ActorView,
  ControlPort,
  DeadPage,
  DropAnswer,
  ForgetAnswer,
  HistoryPage,
  ListAnswer,
  SendAnswer,
  ShardsView,
  StoredPort,
} from '../../base/views.ts';
import type { BusMessage, Headers } from '../../bus/bus.ts';
import { contentType, decode, encodeJson } from '../../bus/codec.ts';
import { errorInAnswer } from '../../bus/rpc.ts';
import { byHeader, readable, writtenByHand } from '../../bus/sender.ts';
import type { HostParts } from '../host/host-parts.ts';
import { askPersistently } from './persistent-request.ts';
import { reasonWithout } from './reason.ts';

export interface ControlParts extends Pick<HostParts, 'bus' | 'subjects'> {
  /** For one answer, ms; default limits.requestTimeoutMs. */
  readonly timeoutMs?: number;
  /** Of a person, who waits longer (persistent-request.ts). Absent: each request is sent once. */
  readonly persistence?: Clock;
  readonly signal?: AbortSignal;
}

const as = (by: string | undefined): Headers => (by === undefined ? {} : { [byHeader]: readable(by) });

export function createControl(parts: ControlParts): ControlPort & StoredPort {
  const { subjects } = parts;
  const read = <T>(subject: string, body: object) => request<T>(parts, subject, body, { isReading: true });
  const ask = <T>(subject: string, body: object, headers: Headers) =>
    request<T>(parts, subject, body, { headers });
  return {
    get: (id, wanted = {}) =>
      read<ActorView>(subjects.rpcGet(id), wanted).then(withReason, unlessMissing(null)),
    list: (wanted) => read<ListAnswer>(subjects.rpcList, wanted),
    history: (wanted) => read<HistoryPage>(subjects.rpcHistory, wanted),
    dead: (wanted) => read<DeadPage>(subjects.rpcDead, wanted),
    shards: () => read<ShardsView>(subjects.rpcShards, {}),
    send: (id, event, by) => send(parts, id, event, { ...as(by), ...writtenByHand }),
    resend: (sequence, by) => ask<SendAnswer>(subjects.rpcDeadResend, { sequence }, as(by)),
    drop: (sequence, by) => ask<DropAnswer>(subjects.rpcDeadDrop, { sequence }, as(by)),
  };
}

/** Sends what a program wrote, as it is; a person's message goes by `send`. */
export function createForwarding(parts: ControlParts): ControlPort['send'] {
  return (id, event, by) => send(parts, id, event, as(by));
}

function send(parts: ControlParts, id: ActorId, event: PlainEvent, headers: Headers): Promise<SendAnswer> {
  const asked = request<SendAnswer>(parts, parts.subjects.rpcSend(id), event, { headers });
  return asked.catch(unlessMissing<SendAnswer>(noSuchActor(id)));
}

/** Removes the remains of a kind that no replica has loaded. @param dryRun only counts them */
export function createForget(parts: ControlParts) {
  return (kind: string, dryRun: boolean): Promise<ForgetAnswer> =>
    request<ForgetAnswer>(parts, parts.subjects.rpcForget, { kind, dryRun });
}

async function request<T>(
  parts: ControlParts,
  subject: string,
  body: object,
  { headers = {}, isReading = false }: { readonly headers?: Headers; readonly isReading?: boolean } = {},
): Promise<T> {
  const { bus, persistence, signal } = parts;
  const ask = (timeoutMs = parts.timeoutMs ?? limits.requestTimeoutMs) =>
    bus.request(subject, encodeJson(body), {
      headers: { [contentType.header]: contentType.json, ...headers },
      timeoutMs,
      ...(signal ? { signal } : {}),
    });
  const answer = await (persistence ? askPersistently(persistence, ask, isReading) : ask());
  const refusal = errorInAnswer(answer);
  if (refusal) throw refusal;
  return read<T>(answer);
}

/**
 * The shape is defined in views.ts. Both ends are this program, and replicas of two releases agree on it.
 */
function read<T>(answer: BusMessage): T {
  const value = decode(answer.data, answer.headers[contentType.header]);
  if (typeof value === 'object' && value !== null) return value as T;
  throw new OrreryError('MESSAGE_UNREADABLE', 'the answer is not an object', {
    facts: { subject: answer.subject },
  });
}

/** An owner of an earlier release sends no reason. */
function withReason(view: Omit<ActorView, 'reason' | 'facts'> & Partial<ActorView>): ActorView {
  return { ...view, reason: view.reason ?? reasonWithout(view), facts: view.facts ?? [] };
}

function unlessMissing<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (hasCode(error, 'ACTOR_MISSING')) return instead;
    throw error;
  };
}

function noSuchActor(id: ActorId): SendAnswer {
  return { accepted: false, code: 'ACTOR_MISSING', reason: `there is no actor ${id}` };
}
