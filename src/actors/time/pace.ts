/**
 * Limits how much of a replica a loaded feature may use, so that a faulty feature slows down only its own
 * actors.
 *
 * Owns a share for each feature and replica, counted in milliseconds of the thread that all actors share.
 * Steps, joins, effects and requests are charged with their time; a saved step also with its bytes, because
 * the server, the feed and the next owner carry them. Once a share is used up, the feature's actors and
 * effects queue, and are let in one by one as time accrues, so an expensive call is paid for before the next
 * one. Messages have their own budget, because others do work for them.
 *
 * Promises: built-in kinds never wait; a waiting actor is let in once the cost of its predecessor is paid.
 * Absent: code after its first `await`, and code that never yields (care.ts).
 */
import { type Clock, sleep, type Timer } from '../../base/clock.ts';
import type { PlainEvent } from '../../base/plain-event.ts';
import { type MessageSend, messageSend } from '../../machines/effects.ts';
import type { EffectContext, RunnableEffect } from '../effect-runner.ts';
import { featureLimits } from '../feature-limits.ts';
import type { Hot } from '../host/owned.ts';
import type { EffectData } from '../host/step.ts';

/** What one feature has used, and whether it waits. */
export interface Used {
  readonly feature: string;
  readonly busyMs: number;
  /** How long work of the feature waited for its share. */
  readonly heldMs: number;
  /** Whether work of the feature waited for more than half of the recent period. */
  readonly isHeld: boolean;
}

export interface Pace {
  readonly feature: string;
  /**
   * Requests a turn.
   *
   * @returns a promise that resolves at the turn; undefined: at once. The caller ends the turn with `charge`,
   *   whatever the result
   */
  turn(): Promise<void> | undefined;
  /** Runs the work and charges its time; nested charges count once. */
  charge<T>(work: () => T): T;
  /** Runs the work at its turn. */
  inTurn<T>(work: () => T | Promise<T>): Promise<T>;
  /** Charges the additional cost of a saved record of this size. */
  saved(bytes: number): void;
  /** The feature owes more than its share of a second: work that cannot wait is better skipped. */
  isOverdrawn(): boolean;
  /** @returns a promise that resolves when this many messages may be sent; undefined: at once */
  messages(count: number): Promise<void> | undefined;
  used(): Used;
}

/** For people, about an actor or a feature. */
export const heldBack = (feature: string) =>
  `held back: the feature ${feature} has used its share of this replica, ${featureLimits.shareMs} ms of each second`;

/** An actor waits for its turn, and shows why. */
export function untilItsTurn(hot: Hot, pace: Pace): Promise<void> | undefined {
  const turn = pace.turn();
  if (turn === undefined) return undefined;
  hot.held = heldBack(pace.feature);
  return turn.then(() => {
    hot.held = null;
  });
}

/** By the feature of an actor's kind; built-in kinds have none. */
export type Paces = ReturnType<typeof createPaces>;

export function createPaces(clock: Clock, featureOf: (kind: string) => string | undefined) {
  const paces = new Map<string, Pace>();
  const ofFeature = (feature: string) => {
    const pace = paces.get(feature) ?? createPace(clock, feature);
    paces.set(feature, pace);
    return pace;
  };
  return {
    ofFeature,
    ofKind(kind: string): Pace | undefined {
      const feature = featureOf(kind);
      return feature === undefined ? undefined : ofFeature(feature);
    },
    /** Every feature that has done something. */
    used: (): readonly Used[] => [...paces.values()].map((pace) => pace.used()),
  };
}

/** Returning time is handed out in pieces, ms: timers have millisecond resolution, and steps take less. */
const pieceMs = 1;
/** A feature that always waits is reported after 7 s; a start, or a burst of changes, is over by then. */
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
      // Those that wait have already taken theirs, so each waits only for its own.
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
    /** @returns the rest; below 0: there was not enough */
    take(count: number): number {
      const now = clock.monotonic();
      left = Math.min(burst, left + ((now - at) * perSecond) / 1_000) - count;
      at = now;
      return left;
    },
    /** Time until this many are available, ms. */
    msUntil: (count: number) => ((count - left) * 1_000) / perSecond,
  };
}

/** The queue for a share: the next is let in once the cost of its predecessor is known. */
function createLine(clock: Clock, share: ReturnType<typeof createBucket>) {
  const waiting: Array<() => void> = [];
  let timer: Timer | null = null;
  let heldMs = 0;
  let at = clock.monotonic();
  let isHeld = false;
  /** The fraction of the recent period in which something waited. */
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

/** Messages that already waited; a retry sends them at once. */
const paid = new WeakSet<object>();

/**
 * Starts the effect while its feature's share lasts, and charges it to that.
 * @param pace of the actor's feature; undefined: a built-in feature
 */
export async function pacedEffect(
  pace: Pace | undefined,
  effect: EffectData,
  context: EffectContext,
  run: RunnableEffect['run'],
): Promise<PlainEvent> {
  if (pace === undefined) return run(effect, context);
  if (isMessage(effect) && !paid.has(effect)) {
    paid.add(effect);
    const sending = pace.messages(effect.to.length);
    if (sending) await sending;
  }
  return pace.inTurn(() => {
    context.signal.throwIfAborted();
    return run(effect, context);
  });
}

const isMessage = (effect: EffectData): effect is EffectData & MessageSend =>
  effect.type === messageSend.type && Array.isArray(effect.to);
