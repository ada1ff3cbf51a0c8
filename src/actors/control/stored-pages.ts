/**
 * The contents of the streams, page by page, for clients without permissions on them: `rpc.history` here, and
 * dead letters (dead-letter-desk.ts).
 *
 * Promises: oldest first; a page has at most `limits.pageMessages` messages and `limits.pageBytes` bytes;
 * `next` is the start of the next page, or null after the last stored message. Unreadable messages are left
 * out. Any replica answers, or says BUSY if it reads `limits.pagesAtOnce` pages already. Absent: later
 * messages (the feed).
 */
import { type Clock, sleep } from '../../base/clock.ts';
import { attempt, OrreryError } from '../../base/errors.ts';
import { parseActorId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { HistoryPage, HistoryRequest, PageRequest, Transition } from '../../base/views.ts';
import type { Bus, BusMessage, FollowFrom, StoredMessage, StreamName } from '../../bus/bus.ts';
import { contentType, decode, encodeJson } from '../../bus/codec.ts';
import { headerOf } from '../../bus/envelope.ts';
import type { Endpoint } from '../../bus/rpc.ts';
import type { Subjects } from '../../bus/subjects.ts';
import { positiveNumber, readFields, text, wholeNumber } from './request-fields.ts';

export interface StoredPageParts {
  readonly bus: Pick<Bus, 'follow'>;
  readonly subjects: Subjects;
  readonly clock: Clock;
}

export const dayMs = 24 * 3_600_000;

export function pageEndpoints(parts: StoredPageParts): readonly Endpoint[] {
  const { subjects } = parts;
  return [
    {
      name: 'history',
      subject: subjects.rpcHistory,
      queue: 'orrery',
      atOnce: limits.pagesAtOnce,
      handler: (message) => history(parts, message),
    },
  ];
}

async function history(parts: StoredPageParts, message: BusMessage): Promise<Uint8Array> {
  const request: HistoryRequest = readRequest(message);
  const page = await readPage(
    parts,
    'event',
    subjectOf(parts.subjects, request),
    placeOf(parts, request, dayMs),
    request,
  );
  const steps = page.messages.flatMap((one) => readStep(one));
  return encodeJson({ steps, next: page.next } satisfies HistoryPage);
}

const fields = { since: wholeNumber, after: wholeNumber, limit: positiveNumber, id: text, kind: text };

/** @throws OrreryError MESSAGE_UNREADABLE */
export const readRequest = (message: BusMessage): HistoryRequest => readFields(message, fields);

/** @throws OrreryError MESSAGE_UNKNOWN_KIND */
function subjectOf(subjects: Subjects, { id, kind }: HistoryRequest): string {
  if (id !== undefined) {
    parseActorId(id);
    return subjects.eventsOf(id);
  }
  return kind === undefined || kind === '' ? subjects.eventAll : subjects.eventsOfKind(kind);
}

export function placeOf(
  { clock }: StoredPageParts,
  { after, since }: PageRequest,
  keptMs: number,
): FollowFrom {
  if (after !== undefined) return { kind: 'sequence', sequence: after + 1 };
  // A stream has nothing of later, and refuses times that its server cannot write.
  const now = clock.now();
  return { kind: 'time', at: Math.min(Math.max(since ?? 0, now - keptMs), now) };
}

export interface Page {
  readonly messages: readonly StoredMessage[];
  readonly next: number | null;
}

export async function readPage(
  { bus, clock }: StoredPageParts,
  stream: StreamName,
  subject: string,
  from: FollowFrom,
  { limit = limits.pageMessages }: PageRequest,
): Promise<Page> {
  const most = Math.min(Math.max(1, limit), limits.pageMessages);
  const messages: StoredMessage[] = [];
  const full = Promise.withResolvers<'full'>();
  let room: number = limits.pageBytes;
  let isFull = false;
  const onMessage = (message: StoredMessage): void => {
    if (isFull) return;
    isFull = messages.length >= most || (messages.length > 0 && message.data.byteLength > room);
    if (isFull) {
      full.resolve('full');
      return;
    }
    room -= message.data.byteLength;
    messages.push(message);
  };
  const ending = new AbortController();
  const { signal } = ending;
  const beginning = bus.follow(stream, { subjects: [subject], from, onMessage, signal });
  const whole = beginning.then(({ caughtUp }) => caughtUp).then(() => 'whole' as const);
  const late = sleep(clock, (limits.requestTimeoutMs * 3) / 4, signal).then(() => 'late' as const);
  late.catch(() => {});
  const end = await Promise.race([whole, full.promise, late]).finally(() => {
    ending.abort();
    beginning.then((following) => following.stop()).catch(() => {});
  });
  if (end === 'late' && messages.length === 0)
    throw new OrreryError('BUS_UNREACHABLE', `the ${stream} stream did not answer in time`);
  return { messages, next: end === 'whole' ? null : (messages.at(-1)?.sequence ?? null) };
}

/** The step in a message of the feed; undefined if its bytes are no step. */
export function readStep({ data, headers }: Pick<StoredMessage, 'data' | 'headers'>): Transition[] {
  // Unreadable bytes on the stream are no step.
  return attempt(() => {
    const step = decode(data, headerOf(headers, contentType.header)) as Partial<Transition> | null;
    return typeof step?.id === 'string' && typeof step.event?.type === 'string' ? [step as Transition] : [];
  }, []);
}
