/**
 * Reads the world stream: continues after an interruption, and reads the stream again if continuing is not
 * enough.
 *
 * The stream keeps the mark of a removed object for an hour only (`limits.worldTombstoneSeconds`). A replica
 * that was cut off or suspended for longer would keep removed objects forever. So it reads the last message
 * of each object again, and drops the objects it does not find. If the stream was recreated, everything is
 * dropped until the mirrors have published it again.
 */

import type { Timer } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Following, StoredMessage, Subscription } from '../../bus/bus.ts';
import type { HostParts } from '../host/host-parts.ts';

/** Half the life of a tombstone: within this time, marks of removed objects are still there. */
const awayMaxMs = (limits.worldTombstoneSeconds * 1_000) / 2;
/** How often the time of the last contact with the stream is noted. */
const lookMs = 60_000;

type ReadingParts = Pick<HostParts, 'bus' | 'subjects' | 'clock' | 'log'>;

export interface ReadingEvents {
  fold(message: StoredMessage): void;
  /** The last message was the last in the stream when it was sent. */
  beWhole(): void;
  /** More messages follow. */
  notWhole(): void;
  /** The stream was read again, and contains only these subjects. */
  onRead(subjects: ReadonlySet<string>): void;
  /** It is another stream. */
  onAnother(): void;
}

export class WorldReading {
  readonly #parts: ReadingParts;
  readonly #events: ReadingEvents;
  readonly #status: Subscription;
  #following: Following | null = null;
  #reading = 0;
  /** The subjects found since reading started again; null: reading continued from its position. */
  #found: Set<string> | null = null;
  #nearAt: number;
  #timer: Timer | null = null;

  constructor(parts: ReadingParts, events: ReadingEvents) {
    this.#parts = parts;
    this.#events = events;
    this.#nearAt = parts.clock.now();
    this.#status = parts.bus.onStatus(() => this.#look());
  }

  /** Resolves once everything that was in the stream has been read. */
  async start(): Promise<void> {
    this.#lookAgain();
    await this.#begin();
  }

  /** Reads the last message of each object again. */
  anew(): void {
    this.#found = new Set();
    this.#events.notWhole();
    this.#begin().catch((error) =>
      this.#parts.log.error({ error: asError(error).message }, 'the world cannot be read again'),
    );
  }

  stop(): void {
    this.#reading++;
    this.#timer?.cancel();
    this.#status.stop();
    void this.#following?.stop();
  }

  async #begin(): Promise<void> {
    const mine = ++this.#reading;
    const isMine = () => mine === this.#reading;
    void this.#following?.stop();
    const begun = await this.#parts.bus.follow('world', {
      subjects: [this.#parts.subjects.worldAll],
      from: { kind: 'lastPerSubject' },
      onMessage: (message) => {
        if (isMine()) this.#take(message);
      },
      onAnother: () => {
        if (!isMine()) return;
        this.#found = null;
        this.#events.onAnother();
      },
    });
    if (!isMine()) return void begun.stop();
    this.#following = begun;
    await begun.caughtUp;
    if (isMine() && this.#found !== null) this.#endReading();
  }

  #take(message: StoredMessage): void {
    this.#found?.add(message.subject);
    this.#events.fold(message);
    if ((message.pending ?? 0) === 0) this.#endReading();
    else this.#events.notWhole();
  }

  #endReading(): void {
    if (this.#found !== null) this.#events.onRead(this.#found);
    this.#found = null;
    this.#events.beWhole();
  }

  #look(): void {
    const { bus, clock, log } = this.#parts;
    const isFar = clock.now() - this.#nearAt > awayMaxMs;
    if (bus.status !== 'connected') return;
    this.#nearAt = clock.now();
    if (!isFar) return;
    log.warn({}, 'away from the world for long; reading it again');
    this.anew();
  }

  #lookAgain(): void {
    this.#timer = this.#parts.clock.after(lookMs, () => {
      this.#look();
      this.#lookAgain();
    });
  }
}
