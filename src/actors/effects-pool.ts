/**
 * Runs the effects of saved steps.
 *
 * Promises: at most `limits.effectsInFlight` at a time, the others wait in order; each ends with exactly one outcome event (done,
 * failed or timed out, I4) unless its shard is given up first, and then with none: the next owner runs it again.
 */
import type { Clock } from '../clock.ts';
import { asError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { EffectRun, HostPorts, PlainEvent } from './host-parts.ts';
import type { EffectData } from './step.ts';

export interface EffectsPool {
  /** @param onOutcome called once, unless the run's signal is aborted before */
  start(
    effect: EffectData,
    run: Omit<EffectRun, 'signal'> & { signal: AbortSignal },
    onOutcome: (event: PlainEvent) => void,
  ): void;
  readonly waiting: number;
  readonly running: number;
}

interface Job {
  readonly effect: EffectData;
  readonly run: EffectRun;
  readonly onOutcome: (event: PlainEvent) => void;
}

type PoolPorts = Pick<HostPorts, 'clock' | 'log' | 'metrics' | 'runEffect' | 'failureOf' | 'effectTimeoutMs'>;

export function createEffectsPool(ports: PoolPorts): EffectsPool {
  const queue: Job[] = [];
  let running = 0;

  const next = () => {
    while (running < limits.effectsInFlight) {
      const job = queue.shift();
      if (!job) return;
      if (job.run.signal.aborted) continue;
      running++;
      void perform(ports, job).finally(() => {
        running--;
        next();
      });
    }
  };
  return {
    start(effect, run, onOutcome) {
      queue.push({ effect, run, onOutcome });
      next();
    },
    get waiting() {
      return queue.length;
    },
    get running() {
      return running;
    },
  };
}

async function perform(ports: PoolPorts, { effect, run, onOutcome }: Job): Promise<void> {
  const { log, metrics } = ports;
  const deadline = withDeadline(ports.clock, run.signal, ports.effectTimeoutMs(effect));
  try {
    const outcome = await Promise.race([
      ports.runEffect(effect, { ...run, signal: deadline.signal }),
      deadline.ended,
    ]);
    if (run.signal.aborted) return metrics.effect(effect.type, 'aborted');
    metrics.effect(effect.type, 'done');
    onOutcome(outcome);
  } catch (error) {
    if (run.signal.aborted) return metrics.effect(effect.type, 'aborted');
    const message = deadline.isOver() ? 'no outcome within the deadline' : asError(error).message;
    metrics.effect(effect.type, deadline.isOver() ? 'timed_out' : 'failed');
    log.warn({ actor: run.actor, effect: effect.type, key: run.key, error: message }, 'effect failed');
    onOutcome(ports.failureOf(effect, message));
  } finally {
    deadline.end();
  }
}

function withDeadline(clock: Clock, outer: AbortSignal, timeoutMs: number) {
  const controller = new AbortController();
  let over = false;
  // A runner that does not heed its signal must not hold its place for ever.
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
