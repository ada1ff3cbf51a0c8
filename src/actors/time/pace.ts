/**
 * How much of a replica a loaded feature may use, so that what is wrong with it slows down its own actors and
 * nobody else's.
 *
 * Owns: one share for each feature and replica, counted in milliseconds for which the feature holds the
 * thread that everybody waits for. Steps, joins, effects and requests are charged with the time that they
 * took, and a saved step with its bytes beside: the server, the feed and the next owner have them to carry.
 * While a share is used up, its actors and effects wait in line, and one after the other is let in as time
 * comes back; so one dear call is paid for before the next. Messages have a bucket of their own, since others
 * work for them too.
 *
 * Promises: the program's own kinds never wait; whoever waits is let in once in so long as what went before
 * it costs. Absent: what code does after its first `await`, and code that never yields (care.ts).
 */
import { type Clock, sleep, type Timer } from '../../base/clock.ts';
import { featureLimits } from '../feature-limits.ts';
import type { Hot } from '../host/owned.ts';

/** What one feature has used, and whether it waits. */
export interface Used {
  readonly feature: string;
  readonly busyMs: number;
  /** How long somebody of it waited for its share. */
  readonly heldMs: number;
  /** Somebody of it waited for more than half of the last while. */
  readonly isHeld: boolean;
}

export interface Pace {
  readonly feature: string;
  /**
   * A turn to do something. @returns resolves when it may be done; undefined: at once. Whoever asked ends the
   * turn with `charge`, whatever came of it
   */
  turn(): Promise<void> | undefined;
  /** Does it, and charges the time that it took; what is charged inside of it is charged once. */
  charge<T>(work: () => T): T;
  /** Does it when it is its turn. */
  inTurn<T>(work: () => T | Promise<T>): Promise<T>;
  /** Charges what a saved record of so many bytes costs beside. */
  saved(bytes: number): void;
  /** It owes more than the share of a second: what cannot wait is better left out. */
  isOverdrawn(): boolean;
  /** @returns resolves when so many messages may be sent; undefined: at once */
  messages(count: number): Promise<void> | undefined;
  used(): Used;
}

/** By the feature of an actor's kind; kinds of the program itself have none. */
export interface Paces {
  ofKind(kind: string): Pace | undefined;
  ofFeature(feature: string): Pace;
  /** Of every feature that has done something. */
  used(): readonly Used[];
}

/** For people, of an actor or of a feature. */
export const heldBack = (feature: string) =>
  `held back: the feature ${feature} has used its share of this replica, ${featureLimits.shareMs} ms of each second`;

/** An actor waits for its turn, and tells why. */
export function untilItsTurn(hot: Hot, pace: Pace): Promise<void> | undefined {
  const turn = pace.turn();
  if (turn === undefined) return undefined;
  hot.held = heldBack(pace.feature);
  return turn.then(() => {
    hot.held = null;
  });
}

export function createPaces(clock: Clock, featureOf: (kind: string) => string | undefined): Paces {
  const paces = new Map<string, Pace>();
  const ofFeature = (feature: string) => {
    const pace = paces.get(feature) ?? createPace(clock, feature);
    paces.set(feature, pace);
    return pace;
  };
  return {
    ofFeature,
    ofKind(kind) {
      const feature = featureOf(kind);
      return feature === undefined ? undefined : ofFeature(feature);
    },
    used: () => [...paces.values()].map((pace) => pace.used()),
  };
}

/** What comes back is handed out in pieces, ms: timers tell milliseconds, and steps take less. */
const pieceMs = 1;
/** A feature that is held all the time is told of after 7 s; a start, or a burst of news, is over by then. */
const whileMs = 10_000;

export function createPace(clock: Clock, feature: string): Pace {
  const { shareMs, shareSavedUpMs, stepMs, recordBytesPerMs, messagesPerSecond, messagesSavedUp } =
    featureLimits;
  const share = createBucket(clock, shareMs, shareSavedUpMs);
  const messages = createBucket(clock, messagesPerSecond, messagesSavedUp);
  const line = createLine(clock, share);
  let depth = 0;
  let busyMs = 0;
  const spend = (ms: number) => {
    busyMs += ms;
    share.take(ms);
  };
  const charge = <T>(work: () => T): T => {
    if (depth > 0) return work();
    const began = clock.monotonic();
    depth++;
    try {
      return work();
    } finally {
      depth--;
      spend(clock.monotonic() - began);
      line.next();
    }
  };
  return {
    ...{ feature, charge, turn: line.turn },
    async inTurn(work) {
      const turn = line.turn();
      if (turn) await turn;
      return charge(work);
    },
    saved: (bytes) => spend(stepMs + bytes / recordBytesPerMs),
    isOverdrawn: () => share.take(0) < -shareMs,
    messages(count) {
      // Those that wait have taken theirs already: each waits for its own.
      const missing = -messages.take(count);
      return missing <= 0 ? undefined : sleep(clock, (missing * 1_000) / messagesPerSecond);
    },
    used: () => ({ feature, busyMs, ...line.held() }),
  };
}

function createBucket(clock: Clock, perSecond: number, burst: number) {
  let left = burst;
  let at = clock.monotonic();
  return {
    /** @returns what is left; below 0: it was more than there was */
    take(count: number): number {
      const now = clock.monotonic();
      left = Math.min(burst, left + ((now - at) * perSecond) / 1_000) - count;
      at = now;
      return left;
    },
    /** How long until there is so much, ms. */
    msUntil: (count: number) => ((count - left) * 1_000) / perSecond,
  };
}

/** Whoever waits for a share: the next is let in when it is known what the one before has cost. */
function createLine(clock: Clock, share: ReturnType<typeof createBucket>) {
  const waiting: Array<() => void> = [];
  let timer: Timer | null = null;
  let heldMs = 0;
  let at = clock.monotonic();
  let isHeld = false;
  /** Of the last while, the part in which somebody waited. */
  let part = 0;
  const note = () => {
    const now = clock.monotonic();
    const kept = Math.exp((at - now) / whileMs);
    part = part * kept + (isHeld ? 1 - kept : 0);
    if (isHeld) heldMs += now - at;
    at = now;
    isHeld = waiting.length > 0;
  };
  const next = () => {
    if (timer !== null || waiting.length === 0) return;
    if (share.take(0) > 0) waiting.shift()?.();
    else
      timer = clock.after(share.msUntil(pieceMs), () => {
        timer = null;
        next();
      });
    note();
  };
  return {
    next,
    turn(): Promise<void> | undefined {
      if (waiting.length === 0 && timer === null && share.take(0) > 0) return undefined;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      next();
      return promise;
    },
    held() {
      note();
      return { heldMs, isHeld: part > 0.5 };
    },
  };
}
