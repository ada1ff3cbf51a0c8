/**
 * One stored stream in memory, by the rules of its definition: sequences, guards, the duplicate window,
 * bounds, age, TTL.
 *
 * Owns what is stored. Absent: who receives it and over which connection (`memory-server.ts`, `link.ts`).
 * Everything happens at once and in the order of the calls, as at the leader of a stream.
 */
import type { Clock } from '../../base/clock.ts';
import type { Appended, AppendOptions, BatchMessage, Guard, StoredMessage, StreamState } from '../bus.ts';
import { conflict, refused, unknownOutcome } from '../bus-errors.ts';
import { msgIdHeader } from '../envelope.ts';
import { partition } from '../partition.ts';
import type { StreamDefinition } from '../streams.ts';
import { matcher, matcherOfAny, type SubjectMatcher } from '../subject-match.ts';

interface SubjectState {
  last: StoredMessage;
  count: number;
}

export class MemoryStream {
  readonly definition: StreamDefinition;
  readonly takes: SubjectMatcher;
  /** Called with each message when it is stored. */
  onStored: (message: StoredMessage) => void = () => undefined;
  readonly #clock: Clock;
  readonly #storedSubject: (subject: string) => string;
  readonly #bySubject = new Map<string, SubjectState>();
  #duplicates: ReturnType<typeof duplicateWindow>;
  #log = messageLog();
  #sequence = 0;
  #generation = 0;

  constructor(definition: StreamDefinition, clock: Clock) {
    this.definition = definition;
    this.takes = matcherOfAny(definition.subjects);
    this.#clock = clock;
    this.#storedSubject = subjectTransform(definition);
    this.#duplicates = duplicateWindow(definition.duplicateWindowMs);
  }

  /** Distinguishes this stream from earlier ones of the same name. */
  get generation(): number {
    return this.#generation;
  }

  /** @throws OrreryError BUS_CONFLICT | BUS_REFUSED */
  append(sentTo: string, data: Uint8Array, options: AppendOptions): Appended {
    const { definition } = this;
    this.#check(data, options);
    this.#dropAged();
    const now = this.#clock.now();
    const { guard, msgId } = options;
    if (guard) this.#checkGuard(guard);
    const known = msgId === undefined ? undefined : this.#duplicates.find(msgId, now);
    if (known !== undefined) return { sequence: known, duplicate: true };
    if (definition.messagesMax > 0 && this.#log.size() >= definition.messagesMax) this.#makeRoom();
    const sequence = ++this.#sequence;
    const subject = this.#storedSubject(sentTo);
    const message = { subject, data, headers: storedHeaders(options), sequence, storedAt: now };
    this.#store(message);
    if (msgId !== undefined) this.#duplicates.add(msgId, sequence, now);
    if (options.ttlSeconds !== undefined) this.#removeAfter(options.ttlSeconds, message);
    this.onStored(message);
    return { sequence, duplicate: false };
  }

  /**
   * Stores all or none; guards are checked against the state before the batch.
   *
   * @throws OrreryError BUS_CONFLICT | BUS_REFUSED
   */
  appendAll(messages: readonly BatchMessage[]): Appended {
    const { name, batches } = this.definition;
    if (!batches) throw refused(`atomic batches are disabled on ${name}`);
    for (const { data, guard, ...options } of messages) {
      this.#check(data, options);
      if (guard) this.#checkGuard(guard);
    }
    for (const { subject, data, guard: _, ...options } of messages) this.append(subject, data, options);
    return { sequence: this.#sequence, duplicate: false };
  }

  last(subject: string): StoredMessage | undefined {
    this.#dropAged();
    return this.#bySubject.get(subject)?.last;
  }

  lastSequence(): number {
    return this.#sequence;
  }

  /** What it holds, in numbers. */
  extent(): Omit<StreamState, 'created'> {
    this.#dropAged();
    const firstSequence = this.#log.first()?.sequence ?? this.#sequence + 1;
    return { lastSequence: this.#sequence, firstSequence, messages: this.#log.size(), copies: 1 };
  }

  /** The matching messages from a sequence on (inclusive), oldest first. */
  from(sequence: number, matches: SubjectMatcher): StoredMessage[] {
    this.#dropAged();
    return this.#log.from(sequence).filter((message) => matches(message.subject));
  }

  /** The first sequence that was stored at or after a wall time. */
  sequenceAt(time: number): number {
    return this.#log.from(0).find(({ storedAt }) => storedAt >= time)?.sequence ?? this.#sequence + 1;
  }

  lastPerSubject(matches: SubjectMatcher): StoredMessage[] {
    this.#dropAged();
    const found = [...this.#bySubject.values()]
      .map(({ last }) => last)
      .filter(({ subject }) => matches(subject));
    return found.sort((a, b) => a.sequence - b.sequence);
  }

  /** @param first 0: from the first message */
  purge(matches: SubjectMatcher, belowSequence: number, first = 0): void {
    for (const message of this.#log.from(first, belowSequence))
      if (matches(message.subject)) this.#remove(message);
  }

  /** Replaces the stream by an empty one of the same name: a server that came back with an empty disk. */
  makeAnew(): void {
    this.#bySubject.clear();
    this.#duplicates = duplicateWindow(this.definition.duplicateWindowMs);
    this.#log = messageLog();
    if (!this.definition.fences) this.#sequence = 0;
    this.#generation++;
  }

  /** Replaces the stream by one with these messages under their sequences: restored from a backup. */
  putBack(messages: readonly StoredMessage[]): void {
    this.makeAnew();
    this.#sequence = 0;
    for (const message of messages) {
      this.#store(message);
      this.#sequence = message.sequence;
    }
  }

  #store(message: StoredMessage): void {
    const state = this.#bySubject.get(message.subject);
    if (state && this.definition.messagesPerSubjectMax === 1) {
      this.#log.remove(state.last.sequence);
      state.last = message;
    } else if (state) {
      state.last = message;
      state.count++;
    } else this.#bySubject.set(message.subject, { last: message, count: 1 });
    this.#log.push(message);
  }

  #remove(message: StoredMessage): void {
    const log = this.#log;
    if (log.remove(message.sequence)) forgetLast(this.#bySubject, message, () => log.from(0));
  }

  #removeAfter(seconds: number, message: StoredMessage): void {
    const born = this.#generation;
    this.#clock.after(seconds * 1000, () => {
      if (born === this.#generation) this.#remove(message);
    });
  }

  #dropAged(): void {
    if (this.definition.maxAgeMs === 0) return;
    const log = this.#log;
    const oldest = this.#clock.now() - this.definition.maxAgeMs;
    for (let first = log.first(); first && first.storedAt <= oldest; first = log.first()) this.#remove(first);
  }

  #makeRoom(): void {
    const { whenFull, name } = this.definition;
    if (whenFull === 'refuse') throw unknownOutcome(`maximum messages exceeded on ${name}`);
    const first = this.#log.first();
    if (first) this.#remove(first);
  }

  #check(data: Uint8Array, { ttlSeconds }: AppendOptions): void {
    const { name, messageBytesMax, messageTtl } = this.definition;
    if (data.length > messageBytesMax) throw refused(`message size exceeds maximum allowed of ${name}`);
    if (ttlSeconds !== undefined && !messageTtl) throw refused(`per-message TTL is disabled on ${name}`);
  }

  #checkGuard(guard: Guard): void {
    const actual = this.#bySubject.get(guard.subject)?.last.sequence ?? 0;
    if (guard.sequence !== actual)
      throw conflict(guard, `the last sequence is ${actual}, not ${guard.sequence}`);
  }
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

/** Message ids and the sequences under which they were stored, forgotten after the window. */
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

/** Messages by ascending sequence, with holes; the array is compacted when more than half of it is holes. */
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
    /** @param below absent: to the last */
    from(sequence: number, below = Number.POSITIVE_INFINITY): StoredMessage[] {
      const found: StoredMessage[] = [];
      for (let at = indexOf(sequence); at < messages.length && (sequences[at] ?? 0) < below; at++) {
        const message = messages[at];
        if (message) found.push(message);
      }
      return found;
    },
  };
}

/**
 * Updates the last message of a subject after a removal. @param rest the remaining messages of all subjects
 */
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
