/**
 * The clock by which a process counts time that really passed: how long it may lead, how long another one has
 * been silent.
 *
 * Wall time can be set back and ahead; monotonic time stands still while the machine is suspended, and then a
 * leadership would last longer. This clock goes with monotonic time and adds how long the machine was
 * suspended, which the time since its start tells. Where that is not known, whatever wall time leaps ahead
 * counts as a suspension: a leadership then ends too early, never too late. Promises: it never goes back;
 * after a suspension it has gone on for at least as long; where suspensions are known, a clock that is set
 * ahead changes nothing. `createLeapGauge` tells by how much wall time was set.
 */
import type { Clock } from '../../base/clock.ts';

/**
 * The clocks are read one after the other, and time since the start is told in hundredths of a second: less
 * than this is no leap, ms.
 */
const leapMs = 250;

/** One for each clock: whoever compares its times with another's has them from the same one. */
const made = new WeakMap<Clock, Clock>();

/** @param clock where all times come from; timers stay its own */
export function leaseClock(clock: Clock): Clock {
  const known = made.get(clock) ?? makeLeaseClock(clock);
  made.set(clock, known);
  return known;
}

function makeLeaseClock(clock: Clock): Clock {
  const startWall = clock.now();
  const start = clock.monotonic();
  const suspended = clock.sinceBoot === undefined ? leapsAhead(clock) : suspensions(clock, clock.sinceBoot);
  return {
    now: () => Math.floor(startWall + (clock.monotonic() - start) + suspended()),
    monotonic: () => clock.monotonic(),
    after: (delayMs, fn) => clock.after(delayMs, fn),
    ...(clock.sinceBoot === undefined ? {} : { sinceBoot: () => clock.sinceBoot?.() ?? 0 }),
  };
}

function suspensions(clock: Clock, sinceBoot: () => number): () => number {
  const awake = () => sinceBoot.call(clock) - clock.monotonic();
  const start = awake();
  let suspended = 0;
  return () => {
    const gap = awake() - start;
    if (gap > suspended + leapMs) suspended = gap;
    return suspended;
  };
}

function leapsAhead(clock: Clock): () => number {
  let [wall, steady, leapt] = [clock.now(), clock.monotonic(), 0];
  return () => {
    const [wallNow, steadyNow] = [clock.now(), clock.monotonic()];
    const ahead = wallNow - wall - (steadyNow - steady);
    if (ahead > leapMs) leapt += ahead;
    wall = wallNow;
    steady = steadyNow;
    return leapt;
  };
}

/**
 * By how many milliseconds wall time has been set since the gauge was made, ahead or (negative) back;
 * suspensions are not leaps.
 */
export function createLeapGauge(clock: Clock): () => number {
  const passed = leaseClock(clock);
  const apart = () => clock.now() - clock.monotonic();
  let [wall, real, leapt, known] = [clock.now(), passed.now(), 0, apart()];
  return () => {
    // Whether the machine slept costs the system a file; a clock that keeps step with the other was not set.
    const now = apart();
    if (Math.abs(now - known) <= leapMs) return leapt;
    known = now;
    const [wallNow, realNow] = [clock.now(), passed.now()];
    const ahead = wallNow - wall - (realNow - real);
    if (Math.abs(ahead) > leapMs) leapt += ahead;
    wall = wallNow;
    real = realNow;
    return leapt;
  };
}
