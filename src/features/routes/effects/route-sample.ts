/**
 * Effect `route.sample`: one round of calls through a Service (probe/probe.ts), told to its actor.
 */
import type { LookupFunction } from 'node:net';
import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { parseAddress } from '../../../base/address.ts';
import type { Clock } from '../../../base/clock.ts';
import type { RouteSample } from '../../../machines/service/route-effects.ts';
import type { ProbeLimiter } from '../probe/limiter.ts';
import { createSampler } from '../probe/probe.ts';
import { createGathering } from './answer-gathering.ts';

/**
 * Reports sample.answered for each address; outcome sample.finished.
 *
 * @param parts.limiter one for the process
 */
export function sampleRoutes(parts: {
  readonly limiter: ProbeLimiter;
  readonly clock: Clock;
  /** How the names of Services are resolved; the system's way if absent. */
  readonly lookup?: LookupFunction;
}): EffectRunner<RouteSample> {
  const sampler = createSampler({ ...parts, parseAddress });
  return async ({ group, round, probe, calls, wanted }, { signal, emit }) => {
    const { url, family, podIPHeaders, timeoutMs, attemptsPerReplica } = probe;
    const target = { url, podIPHeaders, timeoutMs, ...(family === undefined ? {} : { family }) };
    const replicas = Math.max(1, Math.round(calls / Math.max(1, attemptsPerReplica)));
    const gathering = createGathering(parts.clock, (ip, also) =>
      emit({ type: 'sample.answered', round, ip, ...(also.length === 0 ? {} : { also }) }),
    );
    try {
      const result = await sampler.sample(
        { ...target, group, calls, replicas, wanted },
        { signal, onHealthy: gathering.add },
      );
      return { type: 'sample.finished', round, ...result };
    } finally {
      gathering.end();
    }
  };
}
