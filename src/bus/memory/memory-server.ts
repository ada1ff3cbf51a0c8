/**
 * The "server" of the memory bus: the streams, who reads them, and who wants which core message.
 *
 * Knows nothing of connections: `memory-bus.ts` decides what of all this reaches a client.
 */
import type { Clock } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import type { BusMessage, Headers, StoredMessage, StreamName } from '../bus.ts';
import { refused } from '../bus-errors.ts';
import { writeHeaderBlock } from '../nats/stored-message.ts';
import type { StreamDefinitions } from '../streams.ts';
import { matcher, type SubjectMatcher } from '../subject-match.ts';
import { MemoryStream } from './stored-stream.ts';

/** A client's interest in core messages. */
export interface Interest {
  readonly matches: SubjectMatcher;
  readonly queue: string | undefined;
  readonly deliver: (message: BusMessage) => void;
}

/** A client's place in a stream. */
export interface Reader {
  readonly matches: SubjectMatcher;
  readonly deliver: (message: StoredMessage) => void;
}

export interface MemoryServer {
  /** See every message as it is stored, before any reader. */
  readonly observers: Array<(stream: StreamName, message: StoredMessage) => void>;
  /** Answers go straight to the client's inbox, by its id. */
  readonly inboxes: Map<string, (message: BusMessage) => void>;
  readonly interests: Set<Interest>;
  stream(name: StreamName): MemoryStream;
  /** The stream that takes what is sent to `subject`. */
  streamOf(subject: string): MemoryStream | undefined;
  readers(name: StreamName): Set<Reader>;
  /** Gives a core message to everybody concerned; how many they were. */
  route(message: BusMessage): number;
}

const streamNames: readonly StreamName[] = ['state', 'mail', 'event', 'world', 'dead'];
const inboxPrefix = '_INBOX.';

export function inboxSubject(client: string, token: number): string {
  return `${inboxPrefix}${client}.${token}`;
}

export function memoryServer(clock: Clock, definitions: StreamDefinitions): MemoryServer {
  const observers: MemoryServer['observers'] = [];
  const stored = streamNames.map((name) => {
    const stream = new MemoryStream(definitions[name], clock);
    const readers = new Set<Reader>();
    stream.onStored = (message) => {
      for (const observer of observers) observer(name, message);
      for (const reader of readers) if (reader.matches(message.subject)) reader.deliver(message);
    };
    return [name, { stream, readers }] as const;
  });
  const byName = new Map(stored);
  const named = (name: StreamName) => {
    const found = byName.get(name);
    if (!found) throw refused(`there is no stream "${name}"`);
    return found;
  };
  return {
    observers,
    ...coreRouter(),
    stream: (name) => named(name).stream,
    streamOf: (subject) => stored.find(([, { stream }]) => stream.takes(subject))?.[1].stream,
    readers: (name) => named(name).readers,
  };
}

function coreRouter(): Pick<MemoryServer, 'interests' | 'inboxes' | 'route'> {
  const interests: MemoryServer['interests'] = new Set();
  const inboxes: MemoryServer['inboxes'] = new Map();
  /** Whose turn it is in the queue groups. */
  let turn = 0;
  return {
    interests,
    inboxes,
    route(message) {
      if (message.subject.startsWith(inboxPrefix)) return toInbox(inboxes, message);
      const concerned = [...interests].filter((interest) => interest.matches(message.subject));
      const receivers = concerned.filter((interest) => interest.queue === undefined);
      for (const members of Map.groupBy(concerned, (interest) => interest.queue).values()) {
        const chosen = members[turn++ % members.length];
        if (chosen?.queue !== undefined) receivers.push(chosen);
      }
      for (const receiver of receivers) receiver.deliver(message);
      return receivers.length;
    },
  };
}

function toInbox(inboxes: MemoryServer['inboxes'], message: BusMessage): number {
  const deliver = inboxes.get(message.subject.split('.', 2)[1] ?? '');
  deliver?.(message);
  return deliver ? 1 : 0;
}

export function interestIn(
  subject: string,
  queue: string | undefined,
  deliver: (message: BusMessage) => void,
): Interest {
  return { matches: matcher(subject), queue, deliver };
}

/** NATS' default `max_payload`. */
const payloadBytesMax = 1024 * 1024;

/**
 * As on the wire: a payload has a limit, and a header cannot break out of its line. @throws OrreryError
 * BUS_REFUSED
 */
export function checkSendable(data: Uint8Array, headers: Headers = {}): void {
  if (data.length > payloadBytesMax) throw refused('max_payload size exceeded');
  try {
    writeHeaderBlock(headers);
  } catch (error) {
    throw refused(asError(error).message);
  }
}
