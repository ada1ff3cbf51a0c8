/**
 * A queue of keys. Each is reconciled by one call at a time, and again after a failure.
 *
 * Promises: a key enqueued during its run runs once more afterwards; a failure is retried forever, with
 * jittered back-off; there are never two calls for one key. Absent: order between keys, priorities.
 */
import type { Timer } from '../../../src/base/clock.ts';
import { asError, hasCode } from '../../../src/base/errors.ts';
import { jittered } from '../../../src/base/random.ts';
import { clusterLimits } from '../limits.ts';
import type { DevPart, DevParts } from '../parts.ts';

export interface Reconciler extends DevPart {
  enqueue(key: string, delayMs?: number): void;
}

export interface ReconcilerParts extends Omit<DevParts, 'kube'> {
  /** For the log. */
  readonly name: string;
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<void>;
  /**
   * How long a key rests after each run, so that a burst of changes becomes few runs, ms; default: not at
   * all.
   */
  readonly restMs?: (key: string) => number;
}

export function createReconciler(parts: ReconcilerParts): Reconciler {
  const { clock, random, log, name } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  const waiting = new Set<string>();
  const running = new Map<string, Promise<void>>();
  const again = new Set<string>();
  const resting = new Map<string, Timer>();
  const failures = new Map<string, number>();
  const timers = new Map<string, { at: number; timer: Timer }>();

  const later = (key: string, delayMs: number) => {
    const at = clock.monotonic() + delayMs;
    const held = timers.get(key);
    if (held !== undefined && held.at <= at) return;
    held?.timer.cancel();
    const timer = clock.after(delayMs, () => {
      timers.delete(key);
      enqueue(key);
    });
    timers.set(key, { at, timer });
  };

  const run = async (key: string): Promise<string> => {
    try {
      await parts.reconcile(key, signal);
      failures.delete(key);
    } catch (thrown) {
      if (signal.aborted) return key;
      const count = (failures.get(key) ?? 0) + 1;
      failures.set(key, count);
      const facts = { object: key, error: asError(thrown).message };
      if (hasCode(thrown, 'KUBE_CONFLICT')) log.debug(facts, `${name}: conflict, again`);
      else log.warn(facts, `${name}: failed, again`);
      later(key, jittered(Math.min(10 * 2 ** (count - 1), clusterLimits.retryMaxMs), 0.3, random));
    }
    return key;
  };

  const rest = (key: string) => {
    const wake = () => {
      running.delete(key);
      resting.delete(key);
      if (again.delete(key)) waiting.add(key);
      pump();
    };
    if (parts.restMs === undefined || signal.aborted) return wake();
    running.delete(key);
    resting.set(key, clock.after(parts.restMs(key), wake));
    pump();
  };

  const pump = () => {
    for (const key of waiting) {
      if (running.size >= clusterLimits.reconcilesInFlight || signal.aborted) return;
      waiting.delete(key);
      running.set(key, Promise.resolve(key).then(run).then(rest));
    }
  };

  const enqueue = (key: string, delayMs = 0) => {
    if (signal.aborted) return;
    if (delayMs > 0) return later(key, delayMs);
    if (running.has(key) || resting.has(key)) again.add(key);
    else waiting.add(key);
    pump();
  };

  return {
    enqueue,
    async stop() {
      stopping.abort();
      for (const { timer } of timers.values()) timer.cancel();
      for (const timer of resting.values()) timer.cancel();
      timers.clear();
      resting.clear();
      waiting.clear();
      again.clear();
      await Promise.allSettled(running.values());
    },
  };
}
