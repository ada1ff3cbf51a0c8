/**
 * The clock for real elapsed time: how long a process may lead, how long another has been silent.
 *
 * Wall time can be set; monotonic time stands still while the machine is suspended, which would prolong a
 * leadership. This clock uses monotonic time and adds suspensions, which it derives from the time since the
 * machine started. If that is unknown, any forward jump of wall time counts as a suspension: a leadership
 * then ends too early, never too late. Promises: it never goes back; after a suspension it has advanced at
 * least that far; if suspensions are known, setting the clock forward has no effect. `createLeapGauge` tells
 * by how much wall time was set.
 */
import type { Clock } from '../../base/clock.ts';

/**
 * The clocks are read one after another, and the time since the start has a resolution of 10 ms, so a smaller
 * difference is no leap, ms.
 */
const leapMs = 250;

/** One for each clock, so that times from the same clock are comparable. */
const made = new WeakMap<Clock, Clock>();

/** @param clock source of all times; its timers are used unchanged */
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
 * By how many milliseconds wall time was set since the gauge was created, forward or (negative) back;
 * suspensions do not count.
 */
export function createLeapGauge(clock: Clock): () => number {
  const passed = leaseClock(clock);
  const apart = () => clock.now() - clock.monotonic();
  let [wall, real, leapt, known] = [clock.now(), passed.now(), 0, apart()];
  return () => {
    // Asking for suspensions costs a file read; if the clocks agree, nothing was set.
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
