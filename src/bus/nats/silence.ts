/**
 * Detects silent consumers, with one timer for all consumers of a connection, set to the earliest moment at
 * which one of them can have been silent for too long. A timer for each consumer would wake the process some
 * thirty times a second without need.
 */
import type { Clock, Timer } from '../../base/clock.ts';

export interface Listening {
  heard(): void;
  stop(): void;
}

export interface SilenceWatch {
  /** @param onSilent called once, after `maxMs` without a message */
  listen(onSilent: (silentMs: number) => void): Listening;
}

export function createSilenceWatch(clock: Clock, maxMs: number): SilenceWatch {
  const all = new Set<{ heardAt: number; readonly onSilent: (silentMs: number) => void }>();
  let timer: Timer | undefined;
  const look = (): void => {
    timer = undefined;
    const now = clock.monotonic();
    for (const one of all) {
      if (now - one.heardAt < maxMs) continue;
      all.delete(one);
      one.onSilent(now - one.heardAt);
    }
    lookLater();
  };
  const lookLater = (): void => {
    if (timer !== undefined || all.size === 0) return;
    const oldest = Math.min(...Array.from(all, ({ heardAt }) => heardAt));
    timer = clock.after(oldest + maxMs - clock.monotonic(), look);
  };
  return {
    listen(onSilent) {
      const one = { heardAt: clock.monotonic(), onSilent };
      all.add(one);
      lookLater();
      return {
        heard() {
          one.heardAt = clock.monotonic();
        },
        stop() {
          all.delete(one);
          if (all.size > 0) return;
          timer?.cancel();
          timer = undefined;
        },
      };
    },
  };
}
