/**
 * Publishes the latest value of many keys to a stored stream, guarded by a fence.
 *
 * Promises: for one key, messages are sent in order and one at a time; values offered meanwhile follow, the
 * latest only. A message with an unknown outcome is sent again unchanged, with the same id, before anything
 * newer. While NATS takes nothing, keys wait (at most one for each object), and nothing is lost; one message
 * at a time asks whether it takes something again. What NATS refuses for good is left out until it changes,
 * and told. A refused guard ends everything. Absent: the values
 * (`take` provides them at the moment of sending), and whether one has to be sent.
 */

import { leaseClock } from '../../actors/time/lease-clock.ts';
import { backOffMs } from '../../base/back-off.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { asError, hasCode, OrreryError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Ambient } from '../../base/log-port.ts';
import { jittered } from '../../base/random.ts';

/** The part of the bus (bus/bus.ts) that is needed here. */
export interface StoreBus {
  append(
    subject: string,
    data: Uint8Array,
    parts: {
      readonly guard: { readonly subject: string; readonly sequence: number };
      readonly msgId: string;
      readonly ttlSeconds?: number;
    },
  ): Promise<{ readonly sequence: number }>;
  onStatus(callback: (status: 'connected' | 'disconnected' | 'closed') => void): { stop(): void };
}

export interface Outgoing {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly ttlSeconds?: number;
  /** Called once the message is in the stream. */
  readonly onStored: () => void;
}

export interface PublisherParts extends Ambient {
  readonly bus: StoreBus;
  readonly guard: { readonly subject: string; readonly sequence: number };
  /** The message to send for the key now; null: none. */
  readonly take: (key: string) => Outgoing | null;
  /** The guard was refused: another publisher has taken over. Called once. */
  readonly onLost: (error: OrreryError) => void;
  /** NATS refuses the key's message for good. Called each time. */
  readonly onLeftOut: (key: string, why: string) => void;
  /** From the offer of a key until it is stored; while nothing can be stored, the wait of the oldest. */
  readonly onLag: (seconds: number) => void;
}

interface Sending {
  readonly message: Outgoing;
  readonly msgId: string;
  /** Messages are numbered when their values are taken. */
  readonly number: number;
  /** When its value was first offered, ms since the epoch. */
  readonly since: number;
}

interface Barrier {
  /** Messages with a higher number were taken after it. */
  readonly after: number;
  readonly keys: Set<string>;
  readonly resolve: () => void;
}

const retryMinMs = 100;

export class Publisher {
  readonly #parts: PublisherParts;
  /** Waits are measured in real time, whatever the wall clock is set to. */
  readonly #clock: Clock;
  /** Waiting keys and the start of their wait, in the order of their offers. */
  readonly #waiting = new Map<string, number>();
  readonly #sending = new Map<string, Sending>();
  /** With an unknown outcome: to be sent again unchanged. */
  readonly #unknown = new Map<string, Sending>();
  readonly #barriers = new Set<Barrier>();
  /** Keys whose last message was refused for good, and why. */
  readonly #leftOut = new Map<string, string>();
  /** Distinguishes these messages from all others, even of an earlier publisher with the same guard. */
  readonly #incarnation: string;
  readonly #subscription: { stop(): void };
  #taken = 0;
  #failures = 0;
  #pause: Timer | undefined;
  #stopped = false;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
    this.#clock = leaseClock(parts.clock);
    this.#incarnation = parts.random.id();
    this.#subscription = parts.bus.onStatus((status) => {
      if (status === 'connected' && this.#pause !== undefined) this.#wake();
    });
  }

  offer(key: string): void {
    if (this.#stopped) return;
    if (!this.#waiting.has(key)) this.#waiting.set(key, this.#clock.now());
    this.#pump();
  }

  /**
   * Resolves once everything offered so far is in the stream. Never rejects; never resolves after `stop`.
   */
  settled(): Promise<void> {
    const keys = new Set([...this.#waiting.keys(), ...this.#sending.keys()]);
    if (keys.size === 0 && !this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      if (!this.#stopped) this.#barriers.add({ after: this.#taken, keys, resolve });
    });
  }

  /** Since when the oldest key waits, ms since the epoch; null: none waits. */
  get oldestSince(): number | null {
    let oldest: number | null = null;
    const note = (since: number) => {
      if (oldest === null || since < oldest) oldest = since;
    };
    for (const since of this.#waiting.values()) note(since);
    for (const { since } of this.#sending.values()) note(since);
    return oldest;
  }

  /** Keys that wait or are being sent. */
  get pending(): number {
    return this.#waiting.size + this.#sending.size;
  }

  get leftOut(): ReadonlyMap<string, string> {
    return this.#leftOut;
  }

  /** Stops sending. */
  stop(): void {
    this.#stopped = true;
    this.#pause?.cancel();
    this.#subscription.stop();
    this.#waiting.clear();
    this.#unknown.clear();
    this.#barriers.clear();
    this.#leftOut.clear();
  }

  #pump(): void {
    for (const [key, since] of this.#waiting) {
      if (this.#stopped || this.#pause !== undefined) return;
      if (this.#sending.size >= (this.#failures > 0 ? 1 : limits.worldPublishesInFlight)) return;
      if (this.#sending.has(key)) continue;
      this.#waiting.delete(key);
      const next = this.#unknown.get(key) ?? this.#fresh(key, since);
      if (next === null) this.#settle(key, this.#taken);
      else void this.#send(key, next);
    }
  }

  #fresh(key: string, since: number): Sending | null {
    const message = this.#parts.take(key);
    this.#taken += 1;
    const number = this.#taken;
    return message === null ? null : { message, msgId: `${this.#incarnation}/${number}`, number, since };
  }

  async #send(key: string, next: Sending): Promise<void> {
    const { bus, guard } = this.#parts;
    const isRepeated = this.#unknown.delete(key);
    this.#sending.set(key, next);
    const { subject, data, ttlSeconds } = next.message;
    const options = { guard, msgId: next.msgId, ...(ttlSeconds === undefined ? {} : { ttlSeconds }) };
    try {
      await bus.append(subject, data, options);
      if (!this.#stopped) this.#onStored(key, next, isRepeated);
    } catch (thrown) {
      if (!this.#stopped) this.#onFailure(key, next, thrown, isRepeated);
    }
    this.#pump();
  }

  #onStored(key: string, stored: Sending, isRepeated: boolean): void {
    this.#sending.delete(key);
    this.#failures = 0;
    this.#parts.onLag(this.#age(stored.since));
    stored.message.onStored();
    // The repeated value may be old: check for a newer one.
    if (isRepeated && !this.#waiting.has(key)) this.#waiting.set(key, stored.since);
    this.#settle(key, stored.number);
  }

  #onFailure(key: string, failed: Sending, thrown: unknown, isRepeated: boolean): void {
    this.#sending.delete(key);
    if (hasCode(thrown, 'BUS_CONFLICT')) {
      this.stop();
      this.#parts.onLost(thrown);
    } else if (thrown instanceof OrreryError && thrown.kind === 'transient') {
      // An unknown outcome stays unknown until the message is stored, even if this attempt was certainly not
      // sent.
      if (isRepeated || thrown.code === 'BUS_UNKNOWN_OUTCOME') this.#unknown.set(key, failed);
      this.#waiting.set(key, failed.since);
      this.#rest();
    } else {
      // Retrying would not help: this key is left out until it changes, and others continue (I8).
      this.#failures = 0;
      this.#leaveOut(key, failed.message, asError(thrown));
      this.#release(key, failed.number);
    }
  }

  #leaveOut(key: string, { subject, data }: Outgoing, error: Error): void {
    const isTooLarge = error instanceof OrreryError && error.facts.tooLarge === true;
    const most = limits.recordBytes.toLocaleString('en');
    const size = `${data.byteLength.toLocaleString('en')} bytes would be kept of it, at most ${most} fit`;
    const why = isTooLarge ? size : error.message;
    this.#leftOut.set(key, why);
    this.#parts.log.warn({ subject, why, error: error.message }, 'an object is left out of the world');
    this.#parts.onLeftOut(key, why);
  }

  /** What the key needed is in the stream. */
  #settle(key: string, number: number): void {
    this.#leftOut.delete(key);
    this.#release(key, number);
  }

  /** Tells the barriers that the key needs nothing, or that its message with that number is stored. */
  #release(key: string, number: number): void {
    const isIdle = !this.#waiting.has(key) && !this.#sending.has(key);
    for (const barrier of this.#barriers) {
      if (!isIdle && number <= barrier.after) continue;
      barrier.keys.delete(key);
      if (barrier.keys.size > 0) continue;
      this.#barriers.delete(barrier);
      barrier.resolve();
    }
  }

  #rest(): void {
    if (this.#pause !== undefined) return;
    this.#failures += 1;
    const delayMs = backOffMs(this.#failures, retryMinMs, limits.worldRetryMaxMs);
    this.#pause = this.#clock.after(jittered(delayMs, 0.25, this.#parts.random), () => this.#wake());
    const oldest = this.#waiting.values().next().value;
    if (oldest !== undefined) this.#parts.onLag(this.#age(oldest));
  }

  #wake(): void {
    this.#pause?.cancel();
    this.#pause = undefined;
    this.#pump();
  }

  #age(since: number): number {
    return Math.max(0, this.#clock.now() - since) / 1000;
  }
}
