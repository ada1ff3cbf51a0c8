/**
 * Requests over one shared inbox: an unguessable token for each, one subscription for all, one timer for all
 * deadlines.
 *
 * Promises: each request ends exactly once: with its answer, with "no responders", at its deadline (up to
 * `sweepMs` late), on abort, or at once when the connection is lost or we may not publish there. Absent: the
 * meaning of the answer.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Headers } from '../bus.ts';
import type { Wire, WireMessage } from './wire.ts';

export type Failure = 'nobody' | 'timeout' | 'disconnected' | 'aborted' | 'not permitted';

export interface RequestHandlers {
  /** Returns whether more answers are wanted. */
  onAnswer(message: WireMessage): boolean;
  onFailure(failure: Failure): void;
}

export interface Sending {
  readonly headers?: Headers | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Nobody waits for it: it does not count as waiting. */
  readonly isIdle?: boolean;
}

export interface WireRequests {
  /** Number of requests without an answer for which somebody waits. */
  readonly waiting: number;
  /** @throws what `Wire.publish` throws; the request does not exist then */
  send(subject: string, data: Uint8Array, sending: Sending, handlers: RequestHandlers): void;
}

interface Entry extends RequestHandlers {
  readonly isIdle: boolean;
  readonly subject: string;
  readonly deadline: number;
  forget: (() => void) | undefined;
}

/**
 * Requests whose deadlines are this close end together, ms: far below every timeout in limits.ts, and cheap
 * with thousands of requests.
 */
const sweepMs = 25;

export function wireRequests(wire: Wire, clock: Clock, random: Pick<Random, 'id'>): WireRequests {
  const entries = new Map<string, Entry>();
  const inbox = `${wire.inbox}.r.`;
  let next: { readonly deadline: number; readonly timer: Timer } | undefined;
  const end = (token: string, entry: Entry): void => {
    entries.delete(token);
    entry.forget?.();
  };
  const fail = (token: string, entry: Entry, failure: Failure): void => {
    end(token, entry);
    entry.onFailure(failure);
  };
  const sweep = (): void => {
    next = undefined;
    const now = clock.monotonic();
    for (const [token, entry] of entries)
      if (entry.deadline <= now) fail(token, entry, 'timeout');
      else sweepBy(entry.deadline);
  };
  /** The timer outlives the request, because the next one is as patient and comes soon. */
  const sweepBy = (deadline: number): void => {
    if (next !== undefined && next.deadline <= deadline) return;
    next?.timer.cancel();
    next = { deadline, timer: clock.after(deadline - clock.monotonic() + sweepMs, sweep) };
  };

  wire.subscribe(`${inbox}*`, (message) => {
    const token = message.subject.slice(inbox.length);
    const entry = entries.get(token);
    if (!entry) return;
    if (message.status === 503 && message.data.length === 0) fail(token, entry, 'nobody');
    else if (!entry.onAnswer(message)) end(token, entry);
  });
  const failAll = (failure: Failure, isMeant: (entry: Entry) => boolean = () => true): void => {
    for (const [token, entry] of entries) if (isMeant(entry)) fail(token, entry, failure);
  };
  wire.onForbidden((subject) => failAll('not permitted', (entry) => entry.subject === subject));
  wire.onStatus((status) => {
    if (status === 'connected') return;
    next?.timer.cancel();
    next = undefined;
    failAll('disconnected');
  });
  return {
    get waiting() {
      return [...entries.values()].filter(({ isIdle }) => !isIdle).length;
    },
    send(subject, data, { headers, timeoutMs, signal, isIdle = false }, { onAnswer, onFailure }) {
      if (wire.status !== 'connected') return onFailure('disconnected');
      if (signal?.aborted) return onFailure('aborted');
      const token = random.id();
      wire.publish(subject, data, headers, inbox + token);
      const deadline = clock.monotonic() + timeoutMs;
      const entry: Entry = { onAnswer, onFailure, subject, deadline, isIdle, forget: undefined };
      entries.set(token, entry);
      sweepBy(deadline);
      entry.forget = signal && whenAborted(signal, () => fail(token, entry, 'aborted'));
    },
  };
}

/** @returns what ends the listening */
function whenAborted(signal: AbortSignal, run: () => void): () => void {
  signal.addEventListener('abort', run, { once: true });
  return () => signal.removeEventListener('abort', run);
}

/** One request to one subject. */
export interface Question<T> extends Sending {
  readonly subject: string;
  readonly data: Uint8Array;
  /** Converts the answer. */
  readonly read: (message: WireMessage) => T;
  /** The error if no answer comes. */
  readonly failed: (failure: Failure) => Error;
}

/** Settles with the answer, or when it is certain that none comes. */
export function ask<T>(requests: WireRequests, question: Question<T>): Promise<T> {
  const { subject, data, read, failed } = question;
  return new Promise<T>((resolve, reject) => {
    const onAnswer = (message: WireMessage): boolean => {
      try {
        resolve(read(message));
      } catch (error) {
        reject(error);
      }
      return false;
    };
    requests.send(subject, data, question, { onAnswer, onFailure: (failure) => reject(failed(failure)) });
  });
}
