/**
 * Runs the effects of saved steps.
 *
 * Promises: at most `limits.effectsInFlight` of one type run at a time; others of the type wait in order, and
 * no type waits for another (a thousand Services that never answer a probe keep no Pod from being marked).
 * Each effect ends with exactly one outcome event (done, failed or timed out, I4), unless its shard is given
 * up first: then there is none, and the next owner runs the effect again. An effect declared `untilDone` does
 * not fail: it is retried after growing pauses, during which it occupies no slot. While the bus is
 * disconnected, no effect starts (I3), because its outcome could not be saved. An effect that waited for the
 * bus, waited long, or failed before, starts only after a proof that this replica still owns the shard.
 */

import { backOffMs } from '../../base/back-off.ts';
import type { Clock } from '../../base/clock.ts';
import { asError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { PlainEvent } from '../../base/plain-event.ts';
import { jittered } from '../../base/random.ts';
import { traceIdOf } from '../../base/tracing.ts';
import type { Bus } from '../../bus/bus.ts';
import { effect as declareEffect } from '../../machines/effect.ts';
import type { EffectContext } from '../effect-runner.ts';
import { featureLimits } from '../feature-limits.ts';
import { leaseClock } from '../time/lease-clock.ts';
import type { HostParts } from './host-parts.ts';
import type { EffectData } from './step.ts';

interface Job {
  readonly effect: EffectData;
  readonly run: EffectContext;
  readonly onOutcome: (event: PlainEvent) => void;
  readonly prove: () => Promise<void>;
  /** When it started to wait, by the clock that counts suspensions. */
  readonly since: number;
  readonly isHeld: boolean;
  /** Failed tries of an `untilDone` effect. */
  readonly failures: number;
}

interface PoolParts
  extends Pick<HostParts, 'clock' | 'random' | 'log' | 'metrics' | 'runEffect' | 'effects'> {
  readonly bus: Pick<Bus, 'status' | 'onStatus'>;
  /** Absent: there are no loaded features. */
  readonly homes?: Pick<HostParts['homes'], 'featureOf'>;
}

export function createEffectsPool(parts: PoolParts) {
  const lanes = new Map<string, Lane>();
  const sum = (count: (lane: Lane) => number) =>
    [...lanes.values()].reduce((all, one) => all + count(one), 0);

  const next = (lane: Lane) => {
    while (lane.running < lane.bound && parts.bus.status === 'connected') {
      const job = lane.queue.shift();
      if (!job) return;
      if (job.run.signal.aborted) continue;
      lane.running++;
      const again = () => tryLater(lane, job);
      void begin(parts, job, again).finally(() => {
        lane.running--;
        next(lane);
      });
    }
  };
  const enqueue = (lane: Lane, job: Omit<Job, 'isHeld'>) => {
    lane.queue.push({ ...job, isHeld: parts.bus.status !== 'connected' });
    next(lane);
  };
  const tryLater = (lane: Lane, job: Job) => {
    const failures = job.failures + 1;
    const pauseMs = jittered(backOffMs(failures, retryMinMs, retryMaxMs), 0.3, parts.random);
    const again = { ...job, failures, since: nowBy(parts) };
    parts.clock.after(pauseMs, () => {
      if (!job.run.signal.aborted) enqueue(lane, again);
    });
  };
  parts.bus.onStatus((status) => {
    if (status === 'connected') for (const lane of lanes.values()) next(lane);
  });
  return {
    /** @param onOutcome called once, unless the run's signal is aborted first */
    start(
      effect: EffectData,
      run: Omit<EffectContext, 'signal'> & { signal: AbortSignal },
      onOutcome: (event: PlainEvent) => void,
      prove: () => Promise<void>,
    ): void {
      const feature = parts.homes?.featureOf(run.actor.slice(0, run.actor.indexOf('/')));
      const name = feature === undefined ? effect.type : `${feature} ${effect.type}`;
      const lane = lanes.get(name) ?? { queue: [], running: 0, bound: boundOf(parts, effect, feature) };
      lanes.set(name, lane);
      enqueue(lane, { effect, run, onOutcome, prove, since: nowBy(parts), failures: 0 });
    },
    get waiting(): number {
      return sum(({ queue }) => queue.length);
    },
    get running(): number {
      return sum(({ running }) => running);
    },
  };
}

/**
 * First pause between tries of an `untilDone` effect: short, because a stream elects its leader within
 * seconds.
 */
const retryMinMs = 250;
const retryMaxMs = 30_000;

const nowBy = ({ clock }: PoolParts) => leaseClock(clock).now();

/** Features do not wait for each other, just as types do not. */
function boundOf(parts: PoolParts, effect: EffectData, feature: string | undefined): number {
  const { inFlight } = declarationOf(parts, effect);
  return feature === undefined ? inFlight : Math.min(inFlight, featureLimits.effectsInFlightMax);
}

/** The effects of one type; those of a loaded feature have a lane of their own. */
interface Lane {
  readonly queue: Job[];
  readonly bound: number;
  running: number;
}

/**
 * step.ts ensures that records name declared effects only. An effect of a chart that has changed since ends
 * as failed.
 */
const declarationOf = ({ effects }: PoolParts, { type }: EffectData) =>
  effects.get(type) ?? declareEffect(type);

async function begin(parts: PoolParts, job: Job, again: () => void): Promise<void> {
  const waitedMs = nowBy(parts) - job.since;
  if (job.isHeld || job.failures > 0 || waitedMs > limits.appendTimeoutMs) {
    const isOurs = await job.prove().then(
      () => true,
      () => false,
    );
    if (!isOurs || job.run.signal.aborted) return;
  }
  await perform(parts, job, again);
}

const effectFailed =
  'effect failed; the actor was told, and its chart decides what follows: `orrery explain` with its id says what, and whether somebody must act';

async function perform(parts: PoolParts, job: Job, again: () => void): Promise<void> {
  const { effect, run, onOutcome } = job;
  const { log, metrics } = parts;
  let deadline: ReturnType<typeof withDeadline> | undefined;
  try {
    // The chart's own code may work it out.
    deadline = withDeadline(parts.clock, run.signal, declarationOf(parts, effect).timeoutMs(effect));
    const outcome = await Promise.race([
      parts.runEffect(effect, { ...run, signal: deadline.signal }),
      deadline.ended,
    ]);
    if (run.signal.aborted) return metrics.effect(effect.type, 'aborted');
    metrics.effect(effect.type, 'done');
    onOutcome(outcome);
  } catch (error) {
    if (run.signal.aborted) return metrics.effect(effect.type, 'aborted');
    if (declarationOf(parts, effect).untilDone) {
      noteRetry(parts, job, asError(error).message);
      return again();
    }
    const isOver = deadline?.isOver() === true;
    const message = isOver ? 'timed out' : asError(error).message;
    metrics.effect(effect.type, isOver ? 'timed_out' : 'failed');
    const trace = traceIdOf(run.trace);
    const facts = { actor: run.actor, effect: effect.type, key: run.key, error: message };
    log.warn(trace ? { ...facts, trace } : facts, effectFailed);
    const cause = isOver ? undefined : error;
    onOutcome(declarationOf(parts, effect).failure(effect, message, cause));
  } finally {
    deadline?.end();
  }
}

/** How many tries lie between two log lines, so that an operator sees what is not done yet. */
const retriesInALine = 10;

function noteRetry({ log, metrics }: PoolParts, { effect, run, failures }: Job, error: string): void {
  metrics.effect(effect.type, 'retried');
  if (failures % retriesInALine !== 0) return;
  const facts = { actor: run.actor, effect: effect.type, key: run.key, tries: failures + 1, error };
  log.warn(facts, 'effect not done yet; retrying until it is');
}

function withDeadline(clock: Clock, outer: AbortSignal, timeoutMs: number) {
  const controller = new AbortController();
  let over = false;
  // A runner that ignores its signal must not occupy its slot forever.
  const ended = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true });
  });
  ended.catch(() => {});
  const follow = () => controller.abort(outer.reason);
  if (outer.aborted) follow();
  outer.addEventListener('abort', follow, { once: true });
  const timer = clock.after(timeoutMs, () => {
    over = true;
    controller.abort(new Error('deadline'));
  });
  return {
    signal: controller.signal,
    ended,
    isOver: () => over,
    end() {
      timer.cancel();
      outer.removeEventListener('abort', follow);
    },
  };
}
