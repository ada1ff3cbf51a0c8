/** Real time that ends: whatever was due later no longer happens. */
import { type Clock, systemClock, type Timer } from '../../src/base/clock.ts';

export interface EndingClock extends Clock {
  stop(): void;
}

export function endingClock(): EndingClock {
  const timers = new Set<Timer>();
  let isOver = false;
  return {
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic(),
    after(delayMs, fn) {
      if (isOver) return { cancel() {} };
      const timer = systemClock.after(delayMs, () => {
        timers.delete(timer);
        fn();
      });
      timers.add(timer);
      return {
        cancel() {
          timers.delete(timer);
          timer.cancel();
        },
      };
    },
    stop() {
      isOver = true;
      for (const timer of timers) timer.cancel();
      timers.clear();
    },
  };
}
