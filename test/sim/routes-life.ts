/**
 * What lives in a replica of the world of routes: the joins of all features; the sampler, the patch, the
 * Event and the message are the real ones, and what they reach is simulated.
 */

import type { Life, LifeParts, SimReplica } from '../../packages/testing/replicas/sim-replica.ts';
import type { EffectContext } from '../../src/actors/effect-runner.ts';
import { sendMessage } from '../../src/actors/host/message-send.ts';
import type { EffectData } from '../../src/actors/host/step.ts';
import { parseAddress } from '../../src/base/address.ts';
import type { KubePort } from '../../src/base/kube-port.ts';
import { limits } from '../../src/base/limits.ts';
import type { PlainEvent } from '../../src/base/plain-event.ts';
import { patchPodCondition } from '../../src/features/routes/effects/pod-condition.ts';
import { createLimiter } from '../../src/features/routes/probe/limiter.ts';
import { createSampler } from '../../src/features/routes/probe/probe.ts';
import type { RoutesJoin } from '../../src/features/routes/routes-join.ts';
import { writeKubeEvent } from '../../src/kube/effects/kube-event.ts';
import type { RouteSample } from '../../src/machines/service/route-effects.ts';
import { features, joinsOf } from '../actors/test-features.ts';
import type { Effect } from '../machines/any-effect.ts';
import type { SimWorld } from './sim-world.ts';

const joins = new WeakMap<object, RoutesJoin>();

/** What a replica makes of the world. */
export const routesOf = (replica: object): RoutesJoin | undefined => joins.get(replica);

export const routesLife =
  (world: SimWorld) =>
  ({ replica, bus }: LifeParts): Life => {
    const { subjects, shards } = world;
    const { name, process } = replica;
    const send = sendMessage(bus, subjects, () => replica.engine.hearsEarlier(), shards);
    const sample = sampling(world, replica);
    return {
      release: '1.0.0',
      features,
      start(view) {
        const { routes, runs } = joinsOf(view, { clock: process.clock, subjects, bus });
        joins.set(replica, routes);
        return runs;
      },
      runEffect(data: EffectData, run: EffectContext): Promise<PlainEvent> {
        const effect = data as unknown as Effect;
        const { key, actor } = run;
        const { mutedAt } = replica;
        world.see({ kind: 'effect', replica: name, key, actor, effect: data, mutedAt });
        const context = run as never;
        const kube = world.kube.portFor(process, world.weather, (patched) =>
          world.see({ kind: 'patched', replica: name, key, ...patched }),
        ) as KubePort;
        switch (effect.type) {
          case 'message.send':
            return send(effect, context) as Promise<PlainEvent>;
          case 'pod-condition.patch':
            return patchPodCondition(kube)(effect, context) as Promise<PlainEvent>;
          case 'kube-event.write':
            return writeKubeEvent(kube, { replica: name })(effect, context) as Promise<PlainEvent>;
          case 'route.sample':
            return sample(effect, run);
          default:
            return Promise.reject(new Error(`the simulated world has nothing that asks for ${effect.type}`));
        }
      },
    };
  };

/** As effects/route-sample.ts, with calls to the simulated routing. */
function sampling(world: SimWorld, { process }: SimReplica) {
  const limiter = createLimiter({ inFlight: limits.probeCallsInFlight, waiting: limits.probeCallsWaiting });
  const { clock } = process;
  const call = world.routing.callFor(process);
  const sampler = createSampler({ limiter, clock, parseAddress, call });
  return async (effect: RouteSample, { signal, emit, actor }: EffectContext): Promise<PlainEvent> => {
    const { group, round, probe, calls, wanted } = effect;
    const { url, podIPHeaders, timeoutMs, attemptsPerReplica } = probe;
    const replicas = Math.max(1, Math.round(calls / Math.max(1, attemptsPerReplica)));
    const result = await sampler.sample(
      { group, url, podIPHeaders, timeoutMs, calls, replicas, wanted },
      { signal, onHealthy: (ip) => emit({ type: 'sample.answered', round, ip }) },
    );
    const { anonymous, healthy, unhealthy } = result.summary;
    const isAnonymous = anonymous > 0 && healthy.length + unhealthy.length === 0;
    world.see({ kind: 'round', actor, isAnonymous });
    return { type: 'sample.finished', round, ...result };
  };
}
