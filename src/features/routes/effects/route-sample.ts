/**
 * Effects `route.sample` and `route.widen`: run one round of calls through a Service (probe/probe.ts) and
 * report the answers to its actor.
 */
import type { LookupFunction } from 'node:net';
import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { parseAddress } from '../../../base/address.ts';
import type { Clock } from '../../../base/clock.ts';
import type { RouteSample, RouteWiden } from '../../../machines/service/route-effects.ts';
import type { Answers } from '../../../machines/service/route-events.ts';
import type { probeCall } from '../probe/call.ts';
import type { ProbeLimiter } from '../probe/limiter.ts';
import type { Listing } from '../probe/pace.ts';
import { createSampler, type Widen } from '../probe/probe.ts';
import type { RoundResult } from '../probe/tally.ts';
import { createGathering } from './answer-gathering.ts';

export interface RouteSampling {
  /** Reports sample.answered for each address; outcome sample.finished. */
  readonly sample: EffectRunner<RouteSample>;
  readonly widen: EffectRunner<RouteWiden>;
}

/** @param parts.limiter shared by the whole process */
export function sampleRoutes(parts: {
  readonly limiter: ProbeLimiter;
  readonly clock: Clock;
  /** What EndpointSlices say of Services; absent: nothing is known of them. */
  readonly listing?: Listing;
  /** Resolves the names of Services; by default the system's resolver. */
  readonly lookup?: LookupFunction;
  /** Makes one call; by default over HTTP. */
  readonly call?: typeof probeCall;
}): RouteSampling {
  const sampler = createSampler({ ...parts, parseAddress });
  const begun = new Map<string, (effect: RouteWiden) => void>();
  const keyOf = ({ group, round }: RouteSample | RouteWiden) => `${group}/${round}`;
  return {
    async sample(effect, { signal, emit }) {
      const { group, round, probe, calls, wanted } = effect;
      const { url, family, podIPHeaders, timeoutMs, attemptsPerReplica } = probe;
      const target = { url, podIPHeaders, timeoutMs, ...(family === undefined ? {} : { family }) };
      const replicas = Math.max(1, Math.round(calls / Math.max(1, attemptsPerReplica)));
      const tell = (answers: Answers) => emit({ type: 'sample.answered', round, ...answers });
      const gathering = createGathering(parts.clock, tell, sampler.isBusy);
      const met = new Map<string, string>();
      const onHealthy = (ip: string, uid?: string) => {
        if (uid !== undefined) met.set(ip, uid);
        gathering.add(ip, uid);
      };
      // A Pod whose answer is on its way to the actor need not be met again.
      const onBegun = (widen: Widen) => {
        begun.set(keyOf(effect), ({ wanted: more, unmet = {}, ...bounds }) => {
          const isOnItsWay = (ip: string) => unmet[ip] !== undefined && unmet[ip] === met.get(ip);
          widen({ ...bounds, wanted: more.filter((ip) => !isOnItsWay(ip)) });
        });
      };
      try {
        const result: RoundResult = await sampler.sample(
          { ...target, group, calls, replicas, wanted },
          { signal, onHealthy, onBegun },
        );
        // In a busy replica questions wait for this Service: answers take them along before the round ends.
        const last = sampler.isBusy() ? null : gathering.end();
        return { type: 'sample.finished', round, ...result, ...(last && { last }) };
      } finally {
        begun.delete(keyOf(effect));
        const untold = gathering.end();
        if (untold !== null) tell(untold);
      }
    },
    async widen(effect) {
      begun.get(keyOf(effect))?.(effect);
      return { type: 'effect.settled', effect: effect.type, error: null };
    },
  };
}
