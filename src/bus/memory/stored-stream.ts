/**
 * One stored stream in memory, by the rules of its definition: sequences, guards, the duplicate window,
 * bounds, age, TTL.
 *
 * Owns what is stored. Absent: who is told of it and over which connection (`memory.ts`).
 * Everything happens at once and in the order of the calls, as at the leader of a stream.
 */
import type { Clock } from '../../base/clock.ts';
import type { Appended, AppendOptions, BatchMessage, Guard, StoredMessage } from '../bus.ts';
import { conflict, refused, unknownOutcome } from '../bus-errors.ts';
import { msgIdHeader } from '../envelope.ts';
import { partition } from '../partition.ts';
import type { StreamDefinition } from '../streams.ts';
import { matcher, matcherOfAny, type SubjectMatcher } from '../subject-match.ts';

export interface MemoryStream {
  readonly definition: StreamDefinition;
  /** Whether the stream takes what is sent to `subject`. */
  takes(subject: string): boolean;
  /** @throws OrreryError BUS_CONFLICT | BUS_REFUSED */
  append(subject: string, data: Uint8Array, options: AppendOptions): Appended;
  /**
   * All or none; guards are checked against what was stored before. @throws OrreryError BUS_CONFLICT |
   * BUS_REFUSED
   */
  appendAll(messages: readonly BatchMessage[]): Appended;
  last(subject: string): StoredMessage | undefined;
  lastSequence(): number;
  /** What matches from a sequence on (inclusive), oldest first. */
  from(sequence: number, matches: SubjectMatcher): StoredMessage[];
  /** The first sequence that was stored at or after a wall time. */
  sequenceAt(time: number): number;
  lastPerSubject(matches: SubjectMatcher): StoredMessage[];
  /** @param first 0: from the first message on */
  purge(matches: SubjectMatcher, belowSequence: number, first?: number): void;
  /**
   * The stream is another one of the same name, without a message: a server that came back with an empty
   * disk.
   */
  makeAnew(): void;
  /**
   * The stream is another one of the same name that holds these, under their sequences: restored from a
   * backup.
   */
  putBack(messages: readonly StoredMessage[]): void;
  /** Tells the stream from those before it. */
  readonly generation: number;
  /** Called with each message as it is stored. */
  onStored: (message: StoredMessage) => void;
}

interface SubjectState {
  last: StoredMessage;
  count: number;
}

export function memoryStream(definition: StreamDefinition, clock: Clock): MemoryStream {
  const takes = matcherOfAny(definition.subjects);
  const storedSubject = subjectTransform(definition);
  const bySubject = new Map<string, SubjectState>();
  let duplicates = duplicateWindow(definition.duplicateWindowMs);
  let log = messageLog();
  let sequence = 0;
  let generation = 0;

  const remove = (message: StoredMessage): void => {
    if (log.remove(message.sequence)) forgetLast(bySubject, message, () => log.from(0));
  };

  const dropAged = (): void => {
    if (definition.maxAgeMs === 0) return;
    const oldest = clock.now() - definition.maxAgeMs;
    for (let first = log.first(); first && first.storedAt <= oldest; first = log.first()) remove(first);
  };

  const store = (message: StoredMessage): void => {
    const state = bySubject.get(message.subject);
    if (state && definition.messagesPerSubjectMax === 1) {
      log.remove(state.last.sequence);
      state.last = message;
    } else if (state) {
      state.last = message;
      state.count++;
    } else bySubject.set(message.subject, { last: message, count: 1 });
    log.push(message);
  };

  const stream: MemoryStream = {
    definition,
    takes,
    onStored: () => undefined,
    append(sentTo, data, options) {
      refuseUnlessAllowed(definition, data, options);
      dropAged();
      const now = clock.now();
      const { guard } = options;
      if (guard) checkGuard(guard, bySubject.get(guard.subject)?.last.sequence ?? 0);
      const known = options.msgId === undefined ? undefined : duplicates.find(options.msgId, now);
      if (known !== undefined) return { sequence: known, duplicate: true };
      if (definition.messagesMax > 0 && log.size() >= definition.messagesMax)
        makeRoom(definition, log, remove);
      const message: StoredMessage = {
        subject: storedSubject(sentTo),
        data,
        headers: storedHeaders(options),
        sequence: ++sequence,
        storedAt: now,
      };
      store(message);
      if (options.msgId !== undefined) duplicates.add(options.msgId, sequence, now);
      if (options.ttlSeconds !== undefined) {
        const born = generation;
        clock.after(options.ttlSeconds * 1000, () => {
          if (born === generation) remove(message);
        });
      }
      stream.onStored(message);
      return { sequence: message.sequence, duplicate: false };
    },
    appendAll(messages) {
      if (!definition.batches) throw refused(`atomic batches are disabled on ${definition.name}`);
      for (const { data, guard, ...options } of messages) {
        refuseUnlessAllowed(definition, data, options);
        if (guard) checkGuard(guard, bySubject.get(guard.subject)?.last.sequence ?? 0);
      }
      for (const { subject, data, guard: _, ...options } of messages) stream.append(subject, data, options);
      return { sequence, duplicate: false };
    },
    last(subject) {
      dropAged();
      return bySubject.get(subject)?.last;
    },
    lastSequence: () => sequence,
    from(first, matches) {
      dropAged();
      return log.from(first).filter((message) => matches(message.subject));
    },
    sequenceAt: (time) => log.from(0).find((message) => message.storedAt >= time)?.sequence ?? sequence + 1,
    lastPerSubject(matches) {
      dropAged();
      const found = [...bySubject.values()]
        .map((state) => state.last)
        .filter((last) => matches(last.subject));
      return found.sort((a, b) => a.sequence - b.sequence);
    },
    purge(matches, belowSequence, first = 0) {
      for (const message of log.from(first)) {
        if (message.sequence < belowSequence && matches(message.subject)) remove(message);
      }
    },
    makeAnew() {
      bySubject.clear();
      duplicates = duplicateWindow(definition.duplicateWindowMs);
      log = messageLog();
      sequence = 0;
      generation++;
    },
    putBack(messages) {
      stream.makeAnew();
      for (const message of messages) {
        store(message);
        sequence = message.sequence;
      }
    },
    get generation() {
      return generation;
    },
  };
  return stream;
}

function refuseUnlessAllowed(definition: StreamDefinition, data: Uint8Array, options: AppendOptions): void {
  if (data.length > definition.messageBytesMax) {
    throw refused(`message size exceeds maximum allowed of ${definition.name}`);
  }
  if (options.ttlSeconds !== undefined && !definition.messageTtl) {
    throw refused(`per-message TTL is disabled on ${definition.name}`);
  }
}

function checkGuard(guard: Guard, actual: number): void {
  if (guard.sequence !== actual)
    throw conflict(guard, `the last sequence is ${actual}, not ${guard.sequence}`);
}

function makeRoom(
  definition: StreamDefinition,
  log: MessageLog,
  remove: (message: StoredMessage) => void,
): void {
  if (definition.whenFull === 'refuse') {
    throw unknownOutcome(`maximum messages exceeded on ${definition.name}`);
  }
  const first = log.first();
  if (first) remove(first);
}

function storedHeaders(options: AppendOptions): StoredMessage['headers'] {
  const headers = options.headers ?? {};
  return options.msgId === undefined ? headers : { ...headers, [msgIdHeader]: options.msgId };
}

/** The server's subject transform of the mail: puts the shard before the three tokens. */
function subjectTransform(definition: StreamDefinition): (subject: string) => string {
  const { transform, shards } = definition;
  if (!transform) return (subject) => subject;
  const matches = matcher(transform.source);
  const head = transform.destination.slice(0, transform.destination.indexOf('{{'));
  return (subject) => {
    if (!matches(subject)) return subject;
    const tokens = subject.split('.').slice(-3);
    return `${head}${partition(tokens, shards)}.${tokens.join('.')}`;
  };
}

/** Ids and the sequences that they were stored under, forgotten after the window. */
function duplicateWindow(windowMs: number) {
  const known = new Map<string, { readonly sequence: number; readonly at: number }>();
  const prune = (now: number): void => {
    for (const [id, entry] of known) {
      if (entry.at > now - windowMs) return;
      known.delete(id);
    }
  };
  return {
    find(id: string, now: number): number | undefined {
      prune(now);
      return known.get(id)?.sequence;
    },
    add: (id: string, sequence: number, at: number) => void known.set(id, { sequence, at }),
  };
}

type MessageLog = ReturnType<typeof messageLog>;

/** Messages by growing sequence, with holes; holes are swept out when they are the greater part. */
function messageLog() {
  let messages: Array<StoredMessage | undefined> = [];
  let sequences: number[] = [];
  let live = 0;
  let head = 0;

  const indexOf = (sequence: number): number => {
    let low = head;
    let high = sequences.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sequences[middle] ?? 0) < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const sweep = (): void => {
    messages = messages.filter((message) => message !== undefined);
    sequences = messages.map((message) => message?.sequence ?? 0);
    head = 0;
  };

  return {
    size: () => live,
    push(message: StoredMessage): void {
      messages.push(message);
      sequences.push(message.sequence);
      live++;
      if (messages.length > 1024 && messages.length > 4 * live) sweep();
    },
    /** Whether the message was there. */
    remove(sequence: number): boolean {
      const at = indexOf(sequence);
      if (sequences[at] !== sequence || messages[at] === undefined) return false;
      messages[at] = undefined;
      live--;
      while (head < messages.length && messages[head] === undefined) head++;
      return true;
    },
    first: (): StoredMessage | undefined => messages[head],
    from(sequence: number): StoredMessage[] {
      const found: StoredMessage[] = [];
      for (let at = indexOf(sequence); at < messages.length; at++) {
        const message = messages[at];
        if (message) found.push(message);
      }
      return found;
    },
  };
}

/** The subject without a message that was removed. @param rest what is still stored, of all subjects */
function forgetLast(
  bySubject: Map<string, SubjectState>,
  { subject, sequence }: StoredMessage,
  rest: () => readonly StoredMessage[],
): void {
  const state = bySubject.get(subject);
  if (state && --state.count === 0) bySubject.delete(subject);
  else if (state?.last.sequence === sequence)
    state.last = rest().findLast((one) => one.subject === subject) ?? state.last;
}
