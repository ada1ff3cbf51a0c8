/** Whether the feed is alive: when the page heard from its replica last, and as of when that was. */
import type { Clock } from '../../base/clock.ts';

export interface Silence {
  /** For how long. */
  readonly ms: number;
  /** The replica's time of what is shown, ms since the epoch; 0: nothing is. */
  readonly asOf: number;
  /** The replica itself is silent; else it does not hear from the others. */
  readonly isReplica: boolean;
}

export type Hearing = ReturnType<typeof createHearing>;

/** Three beats. */
const silenceMs = 3_000;
/** Reading the cluster takes longer while a replica is away; beyond this it is not read any more. */
const deafMs = 10_000;

export function createHearing(clock: Clock) {
  let heardAt = clock.monotonic();
  let told = 0;
  return {
    /** Something came. @param asOf when what it tells was so, if it tells that */
    heard(asOf = 0): void {
      heardAt = clock.monotonic();
      told = Math.max(told, asOf);
    },
    /** @param now the replica's time. @returns null: the feed is alive */
    silence(now: number, isLive: boolean): Silence | null {
      const ms = clock.monotonic() - heardAt;
      if (ms > silenceMs || !isLive) return { ms, asOf: told, isReplica: true };
      const deaf = told === 0 ? 0 : now - told;
      return deaf > deafMs ? { ms: deaf, asOf: told, isReplica: false } : null;
    },
  };
}
