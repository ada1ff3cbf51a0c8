/**
 * Whether the feed is alive: when the page last heard from its replica, and how old that information was. A
 * machine that slept has heard nothing meanwhile, although its monotonic clock stood still.
 */
import type { Clock } from '../../base/clock.ts';

export interface Silence {
  /** The silence so far. */
  readonly ms: number;
  /** The time of the shown data, by the replica's clock, ms since the epoch; 0: none has come yet. */
  readonly asOf: number;
  /** The page hears nothing from its replica; otherwise the replica does not hear the others. */
  readonly isReplica: boolean;
}

export type Hearing = ReturnType<typeof createHearing>;

/** Three beats. */
const silenceMs = 3_000;
/** Reading the cluster takes longer while a replica is away; after this time it has failed. */
const deafMs = 10_000;

export function createHearing(clock: Clock) {
  let began = markOf(clock);
  let heard = began;
  let told = 0;
  /** By the feed of now. The clock of the replica before it may have been ahead. */
  let isTold = false;
  return {
    /** A feed began: what its replica knows comes soon. */
    began(): void {
      began = markOf(clock);
      isTold = false;
    },
    /** A message arrived. @param asOf the time of its data, if it has one */
    heard(asOf = 0): void {
      heard = markOf(clock);
      if (asOf === 0) return;
      told = asOf;
      isTold = true;
    },
    /**
     * @param now the replica's time
     * @returns null: the feed is alive
     */
    silence(now: number, isLive: boolean): Silence | null {
      const ms = elapsedMs(clock, heard);
      const feedMs = elapsedMs(clock, began);
      const deaf = told === 0 ? feedMs : Math.max(now - told, isTold ? 0 : feedMs);
      if (ms > silenceMs || !isLive) return { ms, asOf: told, isReplica: true };
      return deaf > deafMs ? { ms: deaf, asOf: told, isReplica: feedMs <= deafMs } : null;
    },
  };
}

/** A moment on both clocks of the machine. */
export interface Mark {
  readonly wall: number;
  readonly monotonic: number;
}

export function markOf(clock: Clock): Mark {
  return { wall: clock.now(), monotonic: clock.monotonic() };
}

/** The time since then, sleep included; a wall clock that was set back takes nothing away. */
export function elapsedMs(clock: Clock, { wall, monotonic }: Mark): number {
  return Math.max(clock.monotonic() - monotonic, clock.now() - wall);
}
