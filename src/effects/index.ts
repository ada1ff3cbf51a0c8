/**
 * The table of effects: which runner does what, and how long it may take.
 */
import type { LookupFunction } from 'node:net';
import type { Bus } from '../bus/bus.ts';
import type { Subjects } from '../bus/subjects.ts';
import type { Clock } from '../clock.ts';
import type { EffectContext, EffectRunner, EffectRunners } from '../effect-runner.ts';
import { invariant } from '../errors.ts';
import type { LeaseStore } from '../kube/lease.ts';
import type { LeaseFollower } from '../kube/lease-follow.ts';
import type { KubePort } from '../kube/port.ts';
import { limits } from '../limits.ts';
import type { Effect, RouteSample } from '../machines/effects.ts';
import type { LeaseFollow } from '../machines/election-effects.ts';
import type { ActorEvent } from '../machines/events.ts';
import type { ProbeLimiter } from '../probe/limiter.ts';
import { electionStatusPatch } from './election-status.ts';
import { endpointSlicesReconcile, type SlicesParts } from './endpoint-slices.ts';
import { kubeEventWrite } from './kube-event.ts';
import { leaseFollow } from './lease-follow.ts';
import { leaseLook } from './lease-look.ts';
import { leaseRelease } from './lease-release.ts';
import { leaseWrite } from './lease-write.ts';
import { messageSend } from './message-send.ts';
import { podConditionPatch } from './pod-condition.ts';
import { type ReleaseEffectParts, releaseEffects } from './release.ts';
import { routeSample } from './route-sample.ts';
import { workloadConditionPatch } from './workload-condition.ts';
import { workloadProbe } from './workload-probe.ts';

/** What an election does with its Lease; for those who campaign in memory, too. */
export interface LeaseParts {
  readonly store: LeaseStore;
  readonly follower: LeaseFollower;
  /** The one by which the election counts its deadlines. */
  readonly clock: Clock;
}

export function leaseRunners(parts: LeaseParts) {
  return {
    'lease.look': leaseLook(parts),
    'lease.write': leaseWrite(parts),
    'lease.release': leaseRelease(parts),
    'lease.follow': leaseFollow(parts),
  } satisfies Partial<EffectRunners>;
}

export function effectRunners(
  parts: {
    readonly bus: Bus;
    readonly subjects: Subjects;
    readonly kube: KubePort;
    readonly clock: Clock;
    readonly limiter: ProbeLimiter;
    readonly replica: string;
    /** How probes resolve names; the system's way if absent. */
    readonly lookup?: LookupFunction;
    readonly leases: LeaseParts;
    readonly slices: Pick<SlicesParts, 'scene' | 'endpointsPerSlice' | 'onWrite'>;
  } & ReleaseEffectParts,
): EffectRunners {
  const { bus, subjects, kube, clock, limiter, replica, lookup, leases, slices } = parts;
  const writeEvent = kubeEventWrite(kube, { replica });
  return {
    'message.send': messageSend(bus, subjects),
    'pod-condition.patch': podConditionPatch(kube),
    'kube-event.write': writeEvent,
    'route.sample': routeSample({ limiter, clock, ...(lookup === undefined ? {} : { lookup }) }),
    'endpoint-slices.reconcile': endpointSlicesReconcile({ kube, clock, ...slices }),
    'workload.probe': workloadProbe(clock),
    'workload-condition.patch': workloadConditionPatch(kube),
    ...releaseEffects(parts, writeEvent),
    'election-status.patch': electionStatusPatch(kube),
    ...leaseRunners(leases),
  };
}

/** The runner of whatever effect it is. */
export function runEffectWith(runners: Partial<EffectRunners>) {
  return (effect: { readonly type: string }, context: EffectContext): Promise<ActorEvent> => {
    const known = effect as Effect;
    const run = runners[known.type] as EffectRunner<Effect> | undefined;
    invariant(run !== undefined, 'a chart asks only for effects that can be run here', {
      effect: known.type,
    });
    return run(known, context);
  };
}

/** Longest time that an effect may take, ms. A round of calls is bounded by its calls, three of them at a time. */
export function effectTimeoutMs(effect: { readonly type: string }): number {
  if (effect.type === 'release.round') return limits.releaseRoundMs;
  if (effect.type === 'lease.follow') return (effect as LeaseFollow).seconds * 1_000 + limits.effectTimeoutMs;
  if (effect.type !== 'route.sample') return limits.effectTimeoutMs;
  const { calls, probe } = effect as RouteSample;
  return 4_000 + Math.ceil(calls / 3) * probe.timeoutMs;
}
