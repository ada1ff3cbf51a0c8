/**
 * What runs in a replica of the world of routes: the joins of all features. The sampler, the patch, the Event
 * and the message are the real ones; what they reach is simulated.
 */

import type { Life, LifeParts, SimReplica } from '../../packages/testing/replicas/sim-replica.ts';
import type { EffectContext } from '../../src/actors/effect-runner.ts';
import { sendMessage } from '../../src/actors/host/message-send.ts';
import type { EffectData } from '../../src/actors/host/step.ts';
import type { KubePort } from '../../src/base/kube-port.ts';
import type { PlainEvent } from '../../src/base/plain-event.ts';
import { patchPodCondition } from '../../src/features/routes/effects/pod-condition.ts';
import { type RouteSampling, sampleRoutes } from '../../src/features/routes/effects/route-sample.ts';
import { FairLimiter } from '../../src/features/routes/probe/limiter.ts';
import type { RoutesJoin } from '../../src/features/routes/routes-join.ts';
import { writeKubeEvent } from '../../src/kube/effects/kube-event.ts';
import type { SampleFinished } from '../../src/machines/service/route-events.ts';
import { features, joinsOf } from '../actors/test-features.ts';
import type { Effect } from '../machines/any-effect.ts';
import type { SimWorld } from './sim-world.ts';

const joins = new WeakMap<object, RoutesJoin>();

/** A replica's view of the world. */
export const routesOf = (replica: object): RoutesJoin | undefined => joins.get(replica);

export const routesLife =
  (world: SimWorld) =>
  ({ replica, bus }: LifeParts): Life => {
    const { subjects, shards } = world;
    const { name, process } = replica;
    const send = sendMessage(bus, subjects, () => replica.engine.hearsEarlier(), shards);
    const sampled = sampling(world, replica);
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
            return sampled.sample(effect, run);
          case 'route.widen':
            return sampled.widen(effect, run);
          default:
            return Promise.reject(new Error(`the simulated world has nothing that asks for ${effect.type}`));
        }
      },
    };
  };

/** Calls go to the simulated routing. */
function sampling(world: SimWorld, { process }: SimReplica): RouteSampling {
  const { clock } = process;
  const call = world.routing.callFor(process);
  const { sample, widen } = sampleRoutes({ limiter: new FairLimiter(clock), clock, call });
  return {
    widen,
    async sample(effect, run) {
      const outcome = await sample(effect, run);
      const { anonymous, healthy, unhealthy } = (outcome as SampleFinished).summary;
      const isAnonymous = anonymous > 0 && healthy.length + unhealthy.length === 0;
      world.see({ kind: 'round', actor: run.actor, isAnonymous });
      return outcome;
    },
  };
}
