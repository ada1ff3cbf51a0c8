/** The feature `routes` in one replica: its joins and its effects. */
import type { LookupFunction } from 'node:net';
import { runs } from '../../actors/effect-runner.ts';
import type { FeatureMetrics, FeatureRun, StartFeature } from '../../actors/feature.ts';
import type { Join } from '../../actors/world/join.ts';
import { limits } from '../../base/limits.ts';
import type { Transition } from '../../base/views.ts';
import type { PodContext } from '../../machines/pod/pod-context.ts';
import { podConditionPatch } from '../../machines/pod/pod-effects.ts';
import { routeGateLook, routeGateStatusPatch } from '../../machines/routegate/routegate-effects.ts';
import { routeSample } from '../../machines/service/route-effects.ts';
import { createClusterDomain } from './cluster-domain.ts';
import { lookAtGate } from './effects/gate-look.ts';
import { patchGateStatus } from './effects/gate-status.ts';
import { patchPodCondition } from './effects/pod-condition.ts';
import { sampleRoutes } from './effects/route-sample.ts';
import { createGateJoin } from './gate-join.ts';
import { createLimiter } from './probe/limiter.ts';
import { createRoutesJoin } from './routes-join.ts';

export interface RoutesSettings {
  /** How probes resolve names; absent: the system's way. */
  readonly lookup?: LookupFunction;
}

export function startRoutes({ lookup }: RoutesSettings): StartFeature {
  return ({ engine: { world }, kube, clock, log, incarnation, metrics }): FeatureRun => {
    const domain = createClusterDomain({ clock, log });
    const join = createRoutesJoin({ world, clusterDomain: () => domain.current() });
    const limiter = createLimiter({ inFlight: limits.probeCallsInFlight, waiting: limits.probeCallsWaiting });
    const gates = createGateJoin({ world, incarnation, isComplete: join.isComplete });
    return {
      join: together(join, gates),
      effects: [
        runs(podConditionPatch, patchPodCondition(kube)),
        runs(routeSample, sampleRoutes({ limiter, clock, ...(lookup === undefined ? {} : { lookup }) })),
        runs(routeGateLook, lookAtGate({ world, join, gates })),
        runs(routeGateStatusPatch, patchGateStatus(kube)),
      ],
      onStep: (transition, context) => observeGateWait(metrics, transition, context),
    };
  };
}

/** Two joins as one: each is told of every change, and speaks to kinds of its own. */
export function together(one: Join, other: Join): Join {
  return {
    kinds: [...one.kinds, ...other.kinds],
    fold: (entry, before) => [...one.fold(entry, before), ...other.fold(entry, before)],
    *members() {
      yield* one.members();
      yield* other.members();
    },
    observe: (kind, namespace, name) =>
      (one.kinds.includes(kind) ? one : other).observe(kind, namespace, name),
  };
}

/** The Pod's wait ends when the condition was written; `heldSince` is forgotten in that very step, so the step before tells it. */
function observeGateWait(metrics: FeatureMetrics, { id, from, to, at }: Transition, context: unknown): void {
  if (!id.startsWith('pod/') || !from?.startsWith('marking') || !to.startsWith('ready')) return;
  const { heldBefore } = context as PodContext;
  if (heldBefore !== null) metrics.observe('orrery_pod_gate_wait_seconds', (at - heldBefore) / 1000);
}
