/**
 * A simulated process: the only door through which anything reaches what runs in it (timers, messages,
 * answers).
 *
 * While the process is paused, arrivals wait at the door and are let in, in order, when it resumes (SIGSTOP:
 * the sockets fill, the timers are late). Once it is dead nothing enters any more. What it sent before that
 * still arrives.
 */
import type { Clock } from '../../../src/base/clock.ts';

export interface SimProcess {
  /** The process's own view of time: its wall clock may be wrong. */
  readonly clock: Clock;
  /** The same for what only repeats itself. */
  readonly rhythm: Clock;
  readonly state: 'running' | 'paused' | 'dead';
  enter(fn: () => void): void;
  /** The promise as the process sees it. */
  gate<T>(promise: Promise<T>): Promise<T>;
  pause(): void;
  resume(): void;
  die(): void;
  /** Somebody sets its wall clock; no time passes. */
  setClock(byMs: number): void;
}

/**
 * @param options.skewMs error of its wall clock
 * @param options.sleepsWhilePaused whether the whole machine is suspended: monotonic time stands still as
 * well
 */
export function createProcess(
  world: Clock & { readonly rhythms?: Clock },
  options: { readonly skewMs: number; readonly sleepsWhilePaused: boolean },
): SimProcess {
  let state: SimProcess['state'] = 'running';
  let atTheDoor: Array<() => void> = [];
  let pausedAt = 0;
  let asleepMs = 0;
  let { skewMs } = options;

  const enter = (fn: () => void) => {
    if (state === 'running') fn();
    else if (state === 'paused') atTheDoor.push(fn);
  };
  const clockOf = (time: Clock) =>
    doorClock(
      time,
      () => ({ skewMs, asleepMs }),
      (fn) => enter(fn),
    );
  return {
    clock: clockOf(world),
    rhythm: clockOf(world.rhythms ?? world),
    get state() {
      return state;
    },
    enter,
    gate: (promise) => gated(promise, enter),
    pause() {
      if (state !== 'running') return;
      state = 'paused';
      pausedAt = world.now();
    },
    resume() {
      if (state !== 'paused') return;
      state = 'running';
      if (options.sleepsWhilePaused) asleepMs += world.now() - pausedAt;
      // Each in a turn of its own, as in an event loop.
      for (const fn of atTheDoor) world.after(0, () => enter(fn));
      atTheDoor = [];
    },
    setClock(byMs) {
      skewMs += byMs;
    },
    die() {
      state = 'dead';
      atTheDoor = [];
    },
  };
}

/** Time as the process sees it: what is due comes in through the door. */
function doorClock(
  world: Clock,
  wrong: () => { readonly skewMs: number; readonly asleepMs: number },
  enter: (fn: () => void) => void,
): Clock {
  return {
    now: () => world.now() + wrong().skewMs,
    monotonic: () => world.monotonic() - wrong().asleepMs,
    sinceBoot: () => world.monotonic(),
    after: (delayMs, fn) => {
      let isCancelled = false;
      const timer = world.after(delayMs, () =>
        enter(() => {
          // It may have been cancelled while it waited at the door.
          if (!isCancelled) fn();
        }),
      );
      return {
        cancel() {
          isCancelled = true;
          timer.cancel();
        },
      };
    },
  };
}

function gated<T>(promise: Promise<T>, enter: (fn: () => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    promise.then(
      (value) => enter(() => resolve(value)),
      (reason) => enter(() => reject(reason)),
    );
  });
}
