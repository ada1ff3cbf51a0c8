/**
 * Whether the feed is alive: when the page last heard from its replica, and how old that information was.
 */
import type { Clock } from '../../base/clock.ts';

export interface Silence {
  /** The silence so far. */
  readonly ms: number;
  /** The time of the shown data, by the replica's clock, ms since the epoch; 0: none has come yet. */
  readonly asOf: number;
  /** The replica itself is silent; otherwise it does not hear the others. */
  readonly isReplica: boolean;
}

export type Hearing = ReturnType<typeof createHearing>;

/** Three beats. */
const silenceMs = 3_000;
/** Reading the cluster takes longer while a replica is away; after this time it has failed. */
const deafMs = 10_000;

export function createHearing(clock: Clock) {
  const beganAt = clock.monotonic();
  let heardAt = beganAt;
  let told = 0;
  return {
    /** A message arrived. @param asOf the time of its data, if it has one */
    heard(asOf = 0): void {
      heardAt = clock.monotonic();
      told = Math.max(told, asOf);
    },
    /**
     * @param now the replica's time
     * @returns null: the feed is alive
     */
    silence(now: number, isLive: boolean): Silence | null {
      const ms = clock.monotonic() - heardAt;
      if (ms > silenceMs || !isLive) return { ms, asOf: told, isReplica: true };
      const deaf = told === 0 ? clock.monotonic() - beganAt : now - told;
      return deaf > deafMs ? { ms: deaf, asOf: told, isReplica: false } : null;
    },
  };
}
