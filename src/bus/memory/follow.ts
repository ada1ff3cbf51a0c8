/**
 * Following a stream, for one client of the memory hub.
 *
 * Keeps the place in the stream at the client: after every interruption the reader is attached again where
 * delivery ended.
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
      const caughtUp = Promise.withResolvers<void>();
      // Not everybody waits for it.
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
      link.onChange.add(onChange);
      link.toServer(attach);
    });
}

/** Where one follower is in the stream. */
function streamPlace(
  parts: ClientParts,
  stream: MemoryStream,
  { subjects, from, onMessage, onAnother }: FollowOptions,
) {
  const matches = matcherOfAny(subjects);
  /** The sequence to go on from; undefined until the first place is fixed. */
  let next = from.kind === 'sequence' ? from.sequence : undefined;
  let stopped = false;
  /** Of the stream in which the place is. */
  let generation = from.kind === 'sequence' && from.of !== undefined ? from.of : String(stream.generation);
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
    /** Sends what is there; the function it returns fixes the place, once the client has heard of it. */
    attach(): () => void {
      if (generation !== String(stream.generation)) {
        generation = String(stream.generation);
        next = 1;
        if (onAnother) parts.link.toClient(onAnother);
      }
      const end = stream.lastSequence() + 1;
      const first = next === undefined ? firstMessages(stream, from, matches) : stream.from(next, matches);
      for (const [index, message] of first.entries()) {
        reader.deliver({ ...message, pending: first.length - 1 - index });
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
