/** Events of the pod chart: of the world, of the group's Services, of its own effects, and of people. */
import type {
  RouteLost,
  RouteMissed,
  RouteProven,
  RouteUnverifiable,
  RouteWatching,
} from '../service/route-events.ts';
import type { EffectSettled } from '../stamp.ts';
import type { PodFacts } from './pod-facts.ts';

/**
 * News of the Pod: its facts as they are now; null when nothing in the world calls for the actor any more.
 */
export type PodObserved = { readonly type: 'pod.observed'; readonly facts: PodFacts | null };

/** `uid`: the Pod that the patch was for; absent from an earlier release. */
type PatchOutcome = {
  readonly uid?: string;
};
export type ConditionPatched = PatchOutcome & {
  readonly type: 'condition.patched';
  readonly status: 'True' | 'False';
};
export type ConditionRefused = PatchOutcome & {
  readonly type: 'condition.refused';
  /** gone: the Pod does not exist or was replaced; conflict: it changed meanwhile; error: anything else. */
  readonly reason: 'gone' | 'conflict' | 'error';
  readonly message: string;
};

/** A person asks the actor to look again, as if it were new. */
export type PodRecheck = { readonly type: 'pod.recheck' };

export type PodEvent =
  | PodObserved
  | RouteProven
  | RouteUnverifiable
  | RouteLost
  | RouteWatching
  | RouteMissed
  | ConditionPatched
  | ConditionRefused
  | PodRecheck
  | EffectSettled;
