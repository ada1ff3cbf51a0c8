/** The feature `routes` in one replica: its join, its effects, and the status of RouteGates. */
import type { LookupFunction } from 'node:net';
import { runs } from '../../actors/effect-runner.ts';
import type { FeatureMetrics, FeatureRun, StartFeature } from '../../actors/feature.ts';
import type { Clock } from '../../base/clock.ts';
import type { KubePort } from '../../base/kube-port.ts';
import { limits } from '../../base/limits.ts';
import type { Transition } from '../../base/views.ts';
import { writeKubeEvent } from '../../kube/effects/kube-event.ts';
import type { PodContext } from '../../machines/pod/pod-context.ts';
import { podConditionPatch } from '../../machines/pod/pod-effects.ts';
import { routeSample } from '../../machines/service/route-effects.ts';
import { createClusterDomain } from './cluster-domain.ts';
import { patchPodCondition } from './effects/pod-condition.ts';
import { sampleRoutes } from './effects/route-sample.ts';
import { GateStatusKeeper, type GateWarning } from './gate-status.ts';
import { createLimiter } from './probe/limiter.ts';
import { createRoutesJoin } from './routes-join.ts';

export interface RoutesSettings {
  /** How probes resolve names; absent: the system's way. */
  readonly lookup?: LookupFunction;
}

export function startRoutes({ lookup }: RoutesSettings): StartFeature {
  return ({ engine: { world }, kube, clock, log, replica, metrics }): FeatureRun => {
    const domain = createClusterDomain({ clock, log });
    const join = createRoutesJoin({ world, clusterDomain: () => domain.current() });
    const limiter = createLimiter({ inFlight: limits.probeCallsInFlight, waiting: limits.probeCallsWaiting });
    const groupsOfGate = (namespace: string, name: string) => join.groups.groupsOfGate(namespace, name);
    const warn = warnAboutGate(kube, replica, clock);
    return {
      join,
      effects: [
        runs(podConditionPatch, patchPodCondition(kube)),
        runs(routeSample, sampleRoutes({ limiter, clock, ...(lookup === undefined ? {} : { lookup }) })),
      ],
      keepers: {
        routegates: new GateStatusKeeper({
          kube,
          log,
          clock,
          world,
          groupsOfGate,
          isComplete: join.isComplete,
          warn,
        }),
      },
      onStep: (transition, context) => observeGateWait(metrics, transition, context),
    };
  };
}

/** The Pod's wait ends when the condition was written; `heldSince` is forgotten in that very step, so the step before tells it. */
function observeGateWait(metrics: FeatureMetrics, { id, from, to, at }: Transition, context: unknown): void {
  if (!id.startsWith('pod/') || !from?.startsWith('marking') || !to.startsWith('ready')) return;
  const { heldBefore } = context as PodContext;
  if (heldBefore !== null) metrics.observe('orrery_pod_gate_wait_seconds', (at - heldBefore) / 1000);
}

/** Warning Events about RouteGates, for which no actor stands: by the code of those of actors, under keys of their own. */
function warnAboutGate(kube: KubePort, replica: string, clock: Clock) {
  const write = writeKubeEvent(kube, { replica });
  return ({ namespace, name, uid, reason, note, key }: GateWarning, signal: AbortSignal) => {
    const regarding = { apiVersion: 'orrery.dev/v1alpha1', kind: 'RouteGate', namespace, name, uid };
    const at = clock.now();
    const event = { type: 'kube-event.write', regarding, eventType: 'Warning', reason, note, at } as const;
    return write(event, { key, actor: 'pod/_/_', signal, emit: () => {} });
  };
}
