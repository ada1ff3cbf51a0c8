/**
 * The clock by which a process counts how long it may lead.
 *
 * Wall time alone can be set back, and then a lease would seem to last longer; monotonic time alone stands still while the machine is
 * suspended, and then it would, too. This clock goes with monotonic time and adds what wall time has leapt ahead of it.
 * Promises: it never goes back; after a suspension it has gone on for at least as long.
 */
import type { Clock } from '../../base/clock.ts';

/** Both clocks are read one after the other, and wall time is slewed: less than this is no leap, ms. */
const leapMs = 250;

/** @param clock where both times come from; timers stay its own */
export function leaseClock(clock: Clock): Clock {
  const startWall = clock.now();
  const start = clock.monotonic();
  let wall = startWall;
  let steady = start;
  let leapt = 0;
  return {
    now() {
      const [wallNow, steadyNow] = [clock.now(), clock.monotonic()];
      const ahead = wallNow - wall - (steadyNow - steady);
      if (ahead > leapMs) leapt += ahead;
      wall = wallNow;
      steady = steadyNow;
      return Math.floor(startWall + (steadyNow - start) + leapt);
    },
    monotonic: () => clock.monotonic(),
    after: (delayMs, fn) => clock.after(delayMs, fn),
  };
}
