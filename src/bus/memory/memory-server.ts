/**
 * The server's side of the memory bus: the streams, their readers, and the subscriptions to core messages.
 *
 * Knows nothing of connections: `memory-bus.ts` decides which messages reach a client.
 */
import type { Clock } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import type { BusMessage, Headers, StoredMessage, StreamName } from '../bus.ts';
import { refused } from '../bus-errors.ts';
import { writeHeaderBlock } from '../nats/stored-message.ts';
import type { StreamDefinitions } from '../streams.ts';
import { matcher, type SubjectMatcher } from '../subject-match.ts';
import { MemoryStream } from './stored-stream.ts';

/** A client's subscription to core messages. */
export interface Interest {
  readonly matches: SubjectMatcher;
  readonly queue: string | undefined;
  readonly deliver: (message: BusMessage) => void;
}

/** A client's position in a stream. */
export interface Reader {
  readonly matches: SubjectMatcher;
  readonly deliver: (message: StoredMessage) => void;
}

/** Those who read a stream. */
export interface Readers {
  has(reader: Reader): boolean;
  add(reader: Reader): void;
  delete(reader: Reader): void;
}

export interface MemoryServer {
  /** Called with each message when it is stored, before any reader. */
  readonly observers: Array<(stream: StreamName, message: StoredMessage) => void>;
  /** Answers go directly to the client's inbox, by its id. */
  readonly inboxes: Map<string, (message: BusMessage) => void>;
  addInterest(interest: Interest): void;
  removeInterest(interest: Interest): void;
  stream(name: StreamName): MemoryStream;
  /** The stream that takes messages on `subject`. */
  streamOf(subject: string): MemoryStream | undefined;
  readers(name: StreamName): Readers;
  /** Delivers a core message to all subscribers; returns their number. */
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
    const readers = createReaders();
    stream.onStored = (message) => {
      for (const observer of observers) observer(name, message);
      readers.deliver(message);
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

function createReaders() {
  const readers = new Set<Reader>();
  const concerned = remembered((subject) => [...readers].filter((reader) => reader.matches(subject)));
  return {
    has: (reader: Reader) => readers.has(reader),
    add(reader: Reader): void {
      readers.add(reader);
      concerned.forget();
    },
    delete(reader: Reader): void {
      if (readers.delete(reader)) concerned.forget();
    },
    deliver(message: StoredMessage): void {
      // One may leave while another is told.
      for (const reader of concerned.of(message.subject)) if (readers.has(reader)) reader.deliver(message);
    },
  };
}

function coreRouter(): Pick<MemoryServer, 'addInterest' | 'removeInterest' | 'inboxes' | 'route'> {
  const interests = new Set<Interest>();
  const inboxes: MemoryServer['inboxes'] = new Map();
  const concerned = bySubject(interests);
  /** Position of the round robin in the queue groups. */
  let turn = 0;
  return {
    inboxes,
    addInterest(interest) {
      interests.add(interest);
      concerned.forget();
    },
    removeInterest(interest) {
      if (interests.delete(interest)) concerned.forget();
    },
    route(message) {
      if (message.subject.startsWith(inboxPrefix)) return toInbox(inboxes, message);
      const { all, groups } = concerned.of(message.subject);
      for (const receiver of all) receiver.deliver(message);
      for (const members of groups) members[turn++ % members.length]?.deliver(message);
      return all.length + groups.length;
    },
  };
}

interface Concerned {
  /** Each of these receives the message. */
  readonly all: readonly Interest[];
  /** One member of each group receives it. */
  readonly groups: readonly (readonly Interest[])[];
}

function bySubject(interests: Iterable<Interest>) {
  return remembered((subject): Concerned => {
    const found = [...interests].filter((interest) => interest.matches(subject));
    const byQueue = Map.groupBy(found, ({ queue }) => queue);
    const all = byQueue.get(undefined) ?? [];
    byQueue.delete(undefined);
    return { all, groups: [...byQueue.values()] };
  });
}

/** Number of subjects whose receivers are remembered; most subjects recur. */
const subjectsRemembered = 4_000;

/** Whom a subject concerns, found once for each until somebody comes or goes. */
function remembered<T>(find: (subject: string) => T) {
  const known = new Map<string, T>();
  return {
    forget: () => known.clear(),
    of(subject: string): T {
      const before = known.get(subject);
      if (before !== undefined) return before;
      if (known.size >= subjectsRemembered) known.clear();
      const found = find(subject);
      known.set(subject, found);
      return found;
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
 * As on the wire: a payload has a limit, and a header cannot break out of its line.
 *
 * @throws OrreryError BUS_REFUSED
 */
export function checkSendable(data: Uint8Array, headers: Headers = {}): void {
  if (data.length > payloadBytesMax) throw refused('max_payload size exceeded');
  try {
    writeHeaderBlock(headers);
  } catch (error) {
    throw refused(asError(error).message);
  }
}
