/**
 * Watches whether the server stores messages: its disk or its store may be full, or a stream may have no
 * leader.
 *
 * Wraps a bus and notes the outcome of each append. Promises: a stream is in trouble from the first append
 * that is refused, or has an unknown outcome, until the next one that succeeds; a stream to which nothing was
 * appended for a while is no longer reported. Absent: the consequences (replica/health), and retries.
 */
import type { Clock } from '../base/clock.ts';
import { hasCode, OrreryError } from '../base/errors.ts';
import type { Log } from '../base/log-port.ts';
import type { Bus } from './bus.ts';
import { isNotPermitted } from './bus-errors.ts';
import type { StreamDefinitions } from './streams.ts';

export interface StoreTrouble {
  /** The stream's name on the server. */
  readonly stream: string;
  readonly error: string;
  /** Monotonic ms. */
  readonly since: number;
}

export interface Storing {
  /** The watched bus. */
  readonly bus: Bus;
  /** Streams that currently store nothing. */
  troubles(): readonly StoreTrouble[];
}

/** Longer than the pauses between a sender's retries. */
const forgottenAfterMs = 60_000;
/** A leader is elected within this time, so a shorter trouble is not reported. */
const saidAfterMs = 5_000;

interface Known extends StoreTrouble {
  readonly lastAt: number;
  readonly isSaid: boolean;
}

export function watchStoring(
  bus: Bus,
  { streams, clock, log }: { readonly streams: StreamDefinitions; readonly clock: Clock; readonly log: Log },
): Storing {
  const known = new Map<string, Known>();
  const streamOf = streamFinder(streams);
  const noteStored = (stream: string) => {
    const trouble = known.get(stream);
    known.delete(stream);
    if (trouble?.isSaid) log.info({ stream }, 'NATS stores again');
  };
  const noteFailed = (stream: string, error: OrreryError) => {
    const now = clock.monotonic();
    const before = known.get(stream);
    const since = before === undefined || isForgotten(before, now) ? now : before.since;
    // What the user may not publish is told where it is refused (publish-refusals.ts).
    const isDue = now - since >= saidAfterMs && !before?.isSaid && !isNotPermitted(error);
    if (isDue)
      log.error(
        { stream, error: error.message },
        'NATS stores nothing; restarting replicas does not help. Does a NATS server lack room, or did it? One whose disk was full stores again only after a restart',
      );
    known.set(stream, {
      stream,
      error: error.message,
      since,
      lastAt: now,
      isSaid: isDue || before?.isSaid === true,
    });
  };
  const watched = <T>(subject: string, appended: Promise<T>): Promise<T> =>
    appended.then(
      (answer) => {
        if (known.size > 0) noteStored(streamOf(subject));
        return answer;
      },
      (error: unknown) => {
        if (isTrouble(error)) noteFailed(streamOf(subject), error);
        else if (hasCode(error, 'BUS_CONFLICT')) noteStored(streamOf(subject));
        throw error;
      },
    );
  const append: Bus['append'] = (subject, data, options) =>
    watched(subject, bus.append(subject, data, options));
  const appendAll: Bus['appendAll'] = (messages, options) =>
    watched(messages[0]?.subject ?? '', bus.appendAll(messages, options));
  return {
    bus: Object.create(bus, { append: { value: append }, appendAll: { value: appendAll } }) as Bus,
    troubles() {
      const now = clock.monotonic();
      return [...known.values()].filter((one) => !isForgotten(one, now));
    },
  };
}

const isForgotten = ({ lastAt }: Known, now: number) => now - lastAt > forgottenAfterMs;

/** A message that is too large, or a lost connection, says nothing about the store. */
function isTrouble(error: unknown): error is OrreryError {
  if (!(error instanceof OrreryError)) return false;
  return hasCode(error, 'BUS_REFUSED')
    ? error.facts.tooLarge !== true
    : hasCode(error, 'BUS_UNKNOWN_OUTCOME');
}

/**
 * Finds the stream of a subject by the word after the prefix; a subject outside all streams stands for
 * itself.
 */
function streamFinder(streams: StreamDefinitions): (subject: string) => string {
  const wordOf = (subject: string) => subject.split('.', 3)[2] ?? '';
  const byWord = new Map(
    Object.values(streams).flatMap(({ name, subjects }) =>
      subjects.map((subject) => [wordOf(subject), name] as const),
    ),
  );
  return (subject) => byWord.get(wordOf(subject)) ?? subject;
}
