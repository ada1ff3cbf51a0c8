/**
 * Brings the latest value of many keys into a stored stream, guarded by a fence.
 *
 * Promises: for one key, messages are sent in order and never two at a time; what was offered while one is on
 * its way is sent after it, the latest value only. A message whose outcome is unknown is sent again as it
 * was, with the same id, before anything newer. While NATS is away keys wait (as many as there are objects),
 * and nothing is lost. A refused guard ends all. Absent: what the values are (`take` tells it at the moment
 * of sending), and whether one must be sent.
 */

import { leaseClock } from '../../actors/time/lease-clock.ts';
import { backOffMs } from '../../base/back-off.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { asError, hasCode, OrreryError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Log } from '../../base/log-port.ts';
import { jittered, type Random } from '../../base/random.ts';

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
  /** Called once the message stands in the stream. */
  readonly onStored: () => void;
}

export interface PublisherParts {
  readonly bus: StoreBus;
  readonly guard: { readonly subject: string; readonly sequence: number };
  /** The message that the key needs now; null: none. */
  readonly take: (key: string) => Outgoing | null;
  /** The guard was refused: somebody else publishes now. Called once. */
  readonly onLost: (error: OrreryError) => void;
  /** From the offer of a key to its being stored; while nothing can be stored, the wait of the oldest. */
  readonly onLag: (seconds: number) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Publisher {
  offer(key: string): void;
  /** Resolves once all that was offered is in the stream. Never rejects; never resolves after `stop`. */
  settled(): Promise<void>;
  /** Keys that wait or are on their way. */
  readonly pending: number;
  /** Since when the oldest of them waits, ms since the epoch; null: none does. */
  readonly oldestSince: number | null;
  /** Sends nothing more. */
  stop(): void;
}

interface Sending {
  readonly message: Outgoing;
  readonly msgId: string;
  /** Messages are numbered as their values are taken. */
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

/** What waits does so in real time, whatever the clock is set to. */
const byLeaseClock = (parts: PublisherParts) => ({ ...parts, clock: leaseClock(parts.clock) });

export function createPublisher(parts: PublisherParts): Publisher {
  const { bus, guard, take, onLost, onLag, random, log, clock } = byLeaseClock(parts);
  /** Keys that wait and since when, in the order of their offers. */
  const waiting = new Map<string, number>();
  const sending = new Map<string, Sending>();
  /** Of unknown outcome: to be sent again as they were. */
  const unknown = new Map<string, Sending>();
  const barriers = new Set<Barrier>();
  /** Tells these messages from those of everybody else, an earlier publisher with the same guard included. */
  const incarnation = random.id();
  let taken = 0;
  let failures = 0;
  let pause: Timer | undefined;
  let stopped = false;

  const pump = () => {
    for (const [key, since] of waiting) {
      if (stopped || pause !== undefined || sending.size >= limits.worldPublishesInFlight) return;
      if (sending.has(key)) continue;
      waiting.delete(key);
      const next = unknown.get(key) ?? fresh(key, since);
      if (next === null) release(key, taken);
      else void send(key, next);
    }
  };
  const fresh = (key: string, since: number): Sending | null => {
    const message = take(key);
    taken += 1;
    return message === null ? null : { message, msgId: `${incarnation}/${taken}`, number: taken, since };
  };
  const send = async (key: string, next: Sending) => {
    const isRepeated = unknown.delete(key);
    sending.set(key, next);
    const { subject, data, ttlSeconds } = next.message;
    try {
      await bus.append(subject, data, {
        guard,
        msgId: next.msgId,
        ...(ttlSeconds === undefined ? {} : { ttlSeconds }),
      });
      if (!stopped) onStored(key, next, isRepeated);
    } catch (thrown) {
      if (!stopped) onFailure(key, next, thrown, isRepeated);
    }
    pump();
  };
  const onStored = (key: string, stored: Sending, isRepeated: boolean) => {
    sending.delete(key);
    failures = 0;
    onLag(age(stored.since));
    stored.message.onStored();
    // What was repeated may be old: look whether there is something newer.
    if (isRepeated && !waiting.has(key)) waiting.set(key, stored.since);
    release(key, stored.number);
  };
  const onFailure = (key: string, failed: Sending, thrown: unknown, isRepeated: boolean) => {
    sending.delete(key);
    if (hasCode(thrown, 'BUS_CONFLICT')) {
      stop();
      onLost(thrown);
    } else if (thrown instanceof OrreryError && thrown.kind === 'transient') {
      // An unknown outcome stays unknown until it is stored, even if this attempt was surely not sent.
      if (isRepeated || thrown.code === 'BUS_UNKNOWN_OUTCOME') unknown.set(key, failed);
      waiting.set(key, failed.since);
      rest();
    } else {
      // Trying again does not change it: this one is left out until it changes, its neighbours go on (I8).
      log.warn(
        { subject: failed.message.subject, error: asError(thrown).message },
        'a digest cannot be published',
      );
      release(key, failed.number);
    }
  };
  /** Tells the barriers that the key needs nothing, or that its message of that number is stored. */
  const release = (key: string, number: number) => {
    const isIdle = !waiting.has(key) && !sending.has(key);
    for (const barrier of barriers) {
      if (!isIdle && number <= barrier.after) continue;
      barrier.keys.delete(key);
      if (barrier.keys.size > 0) continue;
      barriers.delete(barrier);
      barrier.resolve();
    }
  };
  const rest = () => {
    if (pause !== undefined) return;
    failures += 1;
    const delayMs = backOffMs(failures, retryMinMs, limits.worldRetryMaxMs);
    pause = clock.after(jittered(delayMs, 0.25, random), wake);
    const oldest = waiting.values().next().value;
    if (oldest !== undefined) onLag(age(oldest));
  };
  const wake = () => {
    pause?.cancel();
    pause = undefined;
    pump();
  };
  const age = (since: number) => Math.max(0, clock.now() - since) / 1000;
  const stop = () => {
    stopped = true;
    pause?.cancel();
    subscription.stop();
    waiting.clear();
    unknown.clear();
    barriers.clear();
  };
  const subscription = bus.onStatus((status) => {
    if (status === 'connected' && pause !== undefined) wake();
  });

  return {
    offer(key) {
      if (stopped) return;
      if (!waiting.has(key)) waiting.set(key, clock.now());
      pump();
    },
    settled() {
      const keys = new Set([...waiting.keys(), ...sending.keys()]);
      if (keys.size === 0 && !stopped) return Promise.resolve();
      return new Promise((resolve) => {
        if (!stopped) barriers.add({ after: taken, keys, resolve });
      });
    },
    get oldestSince() {
      let oldest: number | null = null;
      const note = (since: number) => {
        if (oldest === null || since < oldest) oldest = since;
      };
      for (const since of waiting.values()) note(since);
      for (const { since } of sending.values()) note(since);
      return oldest;
    },
    get pending() {
      return waiting.size + sending.size;
    },
    stop,
  };
}
