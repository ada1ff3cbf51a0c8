/**
 * Reads the world stream: goes on where it was after an interruption, and reads it anew when that is not
 * enough.
 *
 * That something is gone stands in the stream for an hour only (`limits.worldTombstoneSeconds`). A replica
 * that was away for longer, cut off or stopped, would keep what was removed meanwhile for ever: it reads the
 * last message of each object once more, and what it does not find is gone. A stream that was made anew holds
 * nothing of what was known: all of it is forgotten, until the mirrors have said it again.
 */

import type { Clock, Timer } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Log } from '../../base/log-port.ts';
import type { Bus, Following, StoredMessage } from '../../bus/bus.ts';
import type { Subjects } from '../../bus/subjects.ts';

export interface WorldReading {
  /** Resolves once everything that was in the stream has been read. */
  start(): Promise<void>;
  /** Reads the last message of each object once more. */
  anew(): void;
  stop(): void;
}

/** What is told of the stream. */
export interface ReadWorld {
  fold(message: StoredMessage): void;
  /** Nothing more was in the stream when the last message was sent. */
  beWhole(): void;
  /** More is to come. */
  notWhole(): void;
  /** It was, and this is all that it holds. */
  onRead(subjects: ReadonlySet<string>): void;
  /** It is another stream. */
  onAnother(): void;
}

/** Half the life of a tombstone: what was removed since is still to be read. */
const awayMaxMs = (limits.worldTombstoneSeconds * 1_000) / 2;
/** How often it is noted that the stream is within reach. */
const lookMs = 60_000;

export function createWorldReading(
  parts: { readonly bus: Bus; readonly subjects: Subjects; readonly clock: Clock; readonly log: Log },
  world: ReadWorld,
): WorldReading {
  const { bus, subjects, clock, log } = parts;
  let following: Following | null = null;
  let reading = 0;
  /** What was read since the reading began anew; null: it goes on from where it was. */
  let found: Set<string> | null = null;
  let nearAt = clock.now();
  let timer: Timer | null = null;

  const endOfReading = () => {
    if (found !== null) world.onRead(found);
    found = null;
    world.beWhole();
  };
  const begin = async () => {
    const mine = ++reading;
    const isMine = () => mine === reading;
    void following?.stop();
    const begun = await bus.follow('world', {
      subjects: [subjects.worldAll],
      from: { kind: 'lastPerSubject' },
      onMessage(message) {
        if (!isMine()) return;
        found?.add(message.subject);
        world.fold(message);
        if ((message.pending ?? 0) === 0) endOfReading();
        else world.notWhole();
      },
      onAnother() {
        if (!isMine()) return;
        found = null;
        world.onAnother();
      },
    });
    if (!isMine()) return void begun.stop();
    following = begun;
    await begun.caughtUp;
    if (isMine() && found !== null) endOfReading();
  };
  const anew = () => {
    found = new Set();
    world.notWhole();
    begin().catch((error) => log.error({ error: asError(error).message }, 'the world cannot be read anew'));
  };
  const look = () => {
    const isFar = clock.now() - nearAt > awayMaxMs;
    if (bus.status !== 'connected') return;
    nearAt = clock.now();
    if (!isFar) return;
    log.warn({}, 'away from the world for long; it is read anew');
    anew();
  };
  const lookAgain = () => {
    timer = clock.after(lookMs, () => {
      look();
      lookAgain();
    });
  };
  const status = bus.onStatus(look);
  return {
    async start() {
      lookAgain();
      await begin();
    },
    anew,
    stop() {
      reading++;
      timer?.cancel();
      status.stop();
      void following?.stop();
    },
  };
}
