/**
 * Following a stream, for one client of the memory hub.
 *
 * The client keeps its position in the stream: after every interruption the reader resumes where delivery
 * stopped.
 */

import type { Bus, FollowFrom, Following, FollowOptions, StoredMessage } from '../bus.ts';
import { unreachable } from '../bus-errors.ts';
import { matcherOfAny, type SubjectMatcher } from '../subject-match.ts';
import type { LinkState } from './faults.ts';
import type { ClientParts } from './memory-bus-parts.ts';
import type { Reader } from './memory-server.ts';
import type { MemoryStream } from './stored-stream.ts';

export function memoryFollow(parts: ClientParts): Bus['follow'] {
  const { link, server, counters } = parts;
  return (streamName, options) =>
    new Promise<Following>((resolve, reject) => {
      if (link.state === 'closed') return reject(unreachable('closed'));
      const readers = server.readers(streamName);
      const starters = parts.followers.get(streamName) ?? new Set();
      parts.followers.set(streamName, starters);
      const caughtUp = Promise.withResolvers<void>();
      // Not every caller awaits it.
      caughtUp.promise.catch(() => undefined);
      let isCaughtUp = false;
      const place = streamPlace(parts, server.stream(streamName), options);
      const following: Following = {
        caughtUp: caughtUp.promise,
        stop() {
          end();
          return Promise.resolve();
        },
      };
      const end = (): void => {
        place.stop();
        readers.delete(place.reader);
        link.onChange.delete(onChange);
        starters.delete(startOver);
        if (isCaughtUp) return;
        reject(unreachable('closed'));
        caughtUp.reject(unreachable('following was stopped'));
      };
      const attach = (): void => {
        if (place.stopped() || readers.has(place.reader)) return;
        const fix = place.attach();
        readers.add(place.reader);
        link.toClient(() => {
          fix();
          isCaughtUp = true;
          resolve(following);
          caughtUp.resolve();
        });
      };
      const onChange = (state: LinkState | 'closed'): void => {
        readers.delete(place.reader);
        if (state === 'closed') end();
        if (state !== 'up') return;
        counters.followRestarts++;
        link.toServer(attach);
      };
      const startOver = (): void => {
        place.distrust();
        readers.delete(place.reader);
        link.toServer(attach);
      };
      link.onChange.add(onChange);
      starters.add(startOver);
      const { signal } = options;
      signal?.addEventListener('abort', end, { once: true });
      if (signal?.aborted) end();
      else link.toServer(attach);
    });
}

/** Existing messages that arrive together. */
const readMessages = 32;

/** One follower's position in the stream. */
function streamPlace(
  parts: ClientParts,
  stream: MemoryStream,
  { subjects, from, onMessage, onAnother }: FollowOptions,
) {
  const matches = matcherOfAny(subjects);
  /** The next sequence; undefined until the first position is fixed. */
  let next = from.kind === 'sequence' ? from.sequence : undefined;
  let stopped = false;
  /** The stream to which the position belongs. */
  let generation: string | null =
    from.kind === 'sequence' && from.of !== undefined ? from.of : String(stream.generation);
  const receive = (message: StoredMessage): void => {
    if (stopped || message.sequence < (next ?? 0)) return;
    next = message.sequence + 1;
    parts.guarded(onMessage, message.subject, message);
  };
  const reader: Reader = { matches, deliver: (message) => parts.link.toClient(() => receive(message)) };
  return {
    reader,
    stopped: () => stopped,
    stop(): void {
      stopped = true;
    },
    /** The stream lost messages that were delivered. */
    distrust(): void {
      generation = null;
    },
    /**
     * Sends the existing messages. The returned function fixes the position, once the client has received
     * them.
     */
    attach(): () => void {
      if (generation !== String(stream.generation)) {
        generation = String(stream.generation);
        next = 1;
        if (onAnother) parts.link.toClient(onAnother);
      }
      const end = stream.lastSequence() + 1;
      const first = next === undefined ? firstMessages(stream, from, matches) : stream.from(next, matches);
      // As from a server, many arrive with one read.
      for (let start = 0; start < first.length; start += readMessages) {
        const read = first.slice(start, start + readMessages);
        parts.link.toClient(() => {
          for (const [index, message] of read.entries())
            receive({ ...message, pending: first.length - 1 - start - index });
        });
      }
      return () => {
        next ??= end;
      };
    },
  };
}

function firstMessages(stream: MemoryStream, from: FollowFrom, matches: SubjectMatcher): StoredMessage[] {
  switch (from.kind) {
    case 'lastPerSubject':
      return stream.lastPerSubject(matches);
    case 'sequence':
      return stream.from(from.sequence, matches);
    case 'time':
      return stream.from(stream.sequenceAt(from.at), matches);
    case 'new':
      return [];
  }
}
