/**
 * One client of the memory hub: the port `Bus` over its link to the server.
 */

import type { Timer } from '../../base/clock.ts';
import { asError, type OrreryError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type {
  Appended,
  AppendOptions,
  BatchMessage,
  Bus,
  BusMessage,
  StoredMessage,
  Subscription,
} from '../bus.ts';
import { refused, unknownOutcome, unreachable } from '../bus-errors.ts';
import { matcher } from '../subject-match.ts';
import type { AppendFate, CoreFate, MemoryFaults } from './faults.ts';
import { memoryFollow } from './follow.ts';
import { type MemoryLink, memoryLink, type Schedule } from './link.ts';
import type { ClientEnvironment, ClientParts } from './memory-bus-parts.ts';
import { memoryRequests } from './memory-requests.ts';
import { checkSendable, interestIn } from './memory-server.ts';
import type { MemoryStream } from './stored-stream.ts';

export interface MemoryBus extends Bus {
  readonly faults: MemoryFaults;
}

export function memoryClient(environment: ClientEnvironment): MemoryBus {
  const parts = clientParts(environment);
  const { link, server, schedule, counters, faults } = parts;
  const calls = memoryCalls(parts);
  const requests = memoryRequests(parts);
  const closing = memoryClose(link, schedule);
  const read = <T>(run: () => T): Promise<T> =>
    calls.call(run, { timeoutMs: limits.requestTimeoutMs, lost: unreachable });

  return {
    faults,
    counters,
    get status() {
      return link.status;
    },
    troubles: () => [],
    onStatus(callback) {
      const onChange = () => {
        const { status } = link;
        schedule(() => callback(status));
      };
      link.onChange.add(onChange);
      return { stop: () => void link.onChange.delete(onChange) };
    },
    publish(subject, data, options = {}) {
      checkSendable(data, options.headers);
      const message = { subject, data, headers: options.headers ?? {}, reply: options.reply ?? '' };
      link.toServer(() => server.route(message));
    },
    subscribe: (subject, onMessage, options = {}) => subscribe(parts, subject, onMessage, options.queue),
    request: requests.one,
    requestMany: requests.many,
    append: (subject, data, options = {}) => calls.append(subject, data, options),
    appendAll: (messages, options = {}) => calls.appendAll(messages, options),
    follow: memoryFollow(parts),
    last: (stream, subject) => read(() => server.stream(stream).last(subject)),
    lastOfMany: (stream, subjects) => read(() => lastOfMany(server.stream(stream), subjects)),
    streamState: (stream) =>
      read(() => {
        const stored = server.stream(stream);
        return { created: String(stored.generation), ...stored.extent() };
      }),
    startOver(stream) {
      for (const begin of [...(parts.followers.get(stream) ?? [])]) begin();
    },
    purge: (stream, { subject, belowSequence = Number.POSITIVE_INFINITY }) =>
      read(() => server.stream(stream).purge(matcher(subject), belowSequence)),
    remove: (stream, sequence) => read(() => server.stream(stream).purge(() => true, sequence + 1, sequence)),
    close: closing,
  };
}

function clientParts(environment: ClientEnvironment): ClientParts {
  const { clock, log } = environment;
  const link = memoryLink(environment.schedule);
  const counters = { handlerErrors: 0, disconnects: 0, followRestarts: 0 };
  const faults: MemoryFaults = {
    get link() {
      return link.state === 'closed' ? 'down' : link.state;
    },
    setLink: (state) => link.set(state),
    onAppend: undefined,
    onReceive: undefined,
  };
  link.onChange.add((state) => {
    if (state === 'down') counters.disconnects++;
  });
  const guarded: ClientParts['guarded'] = (handler, subject, message) => {
    try {
      handler(message);
    } catch (error) {
      counters.handlerErrors++;
      log.error({ error: asError(error), subject }, 'a message handler threw');
    }
  };
  const receive: ClientParts['receive'] = (message, handler) => {
    const fate: CoreFate = faults.onReceive?.(message.subject) ?? 'deliver';
    const deliver = () => link.toClient(() => guarded(handler, message.subject, message));
    if (typeof fate === 'object') clock.after(fate.delayMs, deliver);
    else if (fate !== 'lose') deliver();
    if (fate === 'duplicate') deliver();
  };
  return { ...environment, link, counters, followers: new Map(), faults, guarded, receive };
}

function subscribe(
  parts: ClientParts,
  subject: string,
  onMessage: (message: BusMessage) => void,
  queue: string | undefined,
): Subscription {
  const { server, link, receive } = parts;
  let stopped = false;
  const handler = (message: BusMessage) => {
    if (!stopped) onMessage(message);
  };
  const interest = interestIn(subject, queue, (message) => receive(message, handler));
  const onChange = () => {
    // When a client is disconnected, the server gives its share of a queue group to the others.
    if (link.state === 'up' && !stopped) server.addInterest(interest);
    else server.removeInterest(interest);
  };
  link.onChange.add(onChange);
  link.toServer(onChange);
  return {
    stop() {
      stopped = true;
      link.onChange.delete(onChange);
      server.removeInterest(interest);
    },
  };
}

function lastOfMany(stream: MemoryStream, subjects: readonly string[]): ReadonlyMap<string, StoredMessage> {
  const found = new Map<string, StoredMessage>();
  for (const subject of subjects) {
    const message = stream.last(subject);
    if (message) found.set(subject, message);
  }
  return found;
}

interface CallOptions {
  readonly timeoutMs: number;
  /** The error if no answer comes. */
  readonly lost: (reason: string) => OrreryError;
  readonly fate?: AppendFate;
}

interface Waiting {
  readonly fail: (reason: string) => void;
  timer: Timer | undefined;
}

/** What a fault makes the server answer instead of storing. */
const refusals = {
  refuse: () => refused('a fault of the simulation'),
  full: () => unknownOutcome('insufficient storage resources available'),
} as const;

/**
 * A call that the server answers. It ends with the answer, with its timeout, or as soon as the link is known
 * to be down.
 */
function memoryCall({ link, clock }: ClientParts) {
  const waiting = new Set<Waiting>();
  link.onChange.add((state) => {
    if (state === 'up' || state === 'silent') return;
    for (const entry of [...waiting]) entry.fail('disconnected');
  });

  return <T>(run: () => T, { timeoutMs, lost, fate = 'store' }: CallOptions): Promise<T> =>
    new Promise((resolve, reject) => {
      if (link.status !== 'connected') return reject(unreachable(link.status));
      const entry: Waiting = { timer: undefined, fail: (reason) => settle(() => reject(lost(reason))) };
      const settle = (how: () => void): void => {
        if (!waiting.delete(entry)) return;
        entry.timer?.cancel();
        how();
      };
      const onLost = (): void => {
        if (waiting.has(entry)) entry.timer ??= clock.after(timeoutMs, () => entry.fail('timeout'));
      };
      const atServer = (): void => {
        const answer = answerOf(run);
        if (fate === 'answerLost') onLost();
        else
          link.toClient(
            () => settle(() => (answer.ok ? resolve(answer.value) : reject(answer.error))),
            onLost,
          );
      };
      waiting.add(entry);
      if (fate === 'requestLost') return onLost();
      if (typeof fate === 'object') {
        onLost();
        clock.after(fate.lateMs, atServer);
      } else link.toServer(atServer, onLost);
    });
}

function memoryCalls(parts: ClientParts) {
  const { server, faults } = parts;
  const call = memoryCall(parts);
  /** @param subject selects the stream, and is passed to the faults */
  const store = (
    subject: string,
    timeoutMs: number,
    run: (stream: MemoryStream) => Appended,
  ): Promise<Appended> => {
    const fate = faults.onAppend?.(subject);
    const atServer = (): Appended => {
      if (fate === 'refuse' || fate === 'full') throw refusals[fate]();
      const stream = server.streamOf(subject);
      if (!stream) throw unknownOutcome(`no stream takes ${subject}`);
      return run(stream);
    };
    return call(atServer, { timeoutMs, lost: unknownOutcome, ...(fate === undefined ? {} : { fate }) });
  };
  /** As on the wire: subscribers receive an appended message, whether or not the stream stores it. */
  const tell = ({ subject, data, headers = {} }: Pick<BatchMessage, 'subject' | 'data' | 'headers'>) =>
    void server.route({ subject, data, headers, reply: '' });
  const append = (subject: string, data: Uint8Array, options: AppendOptions): Promise<Appended> =>
    store(subject, options.timeoutMs ?? limits.appendTimeoutMs, (stream) => {
      checkSendable(data, options.headers);
      tell({ subject, data, ...options });
      return stream.append(subject, data, options);
    });
  const appendAll = (
    messages: readonly BatchMessage[],
    { timeoutMs = limits.appendTimeoutMs }: { readonly timeoutMs?: number },
  ): Promise<Appended> =>
    store(messages.at(-1)?.subject ?? '', timeoutMs, (stream) => {
      for (const { data, headers } of messages) checkSendable(data, headers);
      messages.forEach(tell);
      return stream.appendAll(messages);
    });
  return { call, append, appendAll };
}

type Answer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: Error };

function answerOf<T>(run: () => T): Answer<T> {
  try {
    return { ok: true, value: run() };
  } catch (error) {
    return { ok: false, error: asError(error) };
  }
}

/** Closes once everything sent so far has been answered, or at once if the link is down. */
function memoryClose(link: MemoryLink, schedule: Schedule): () => Promise<void> {
  let closed: Promise<void> | undefined;
  return () => {
    closed ??= new Promise<void>((resolve) => {
      const end = () => {
        link.set('closed');
        schedule(resolve);
      };
      link.toServer(() => link.toClient(end, end), end);
    });
    return closed;
  };
}
