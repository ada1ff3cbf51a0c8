/**
 * Every effect that an actor can ask for: plain data, saved with the step before it runs (I1).
 *
 * The effect's outcome comes back as an event (I4); an effect may run again after a crash and must then change nothing (I5).
 */
import type { ActorId } from '../base/ids.ts';
import { type DomainEffect, domainEffectTypes, stepFailure } from './domain/domain-effects.ts';
import { type ElectionEffect, electionEffectTypes, electionFailureOf } from './election/election-effects.ts';
import type { ActorEvent } from './events.ts';
import type { RouteProbe } from './facts.ts';
import { type IssuerEffect, issuerEffectTypes } from './issuer/issuer-effects.ts';
import { type ReleaseEffect, releaseEffectTypes, releaseFailureOf } from './release/release-effects.ts';
import type { SlicesReconcile } from './service/slices-effects.ts';
import type { WorkloadConditionPatch, WorkloadProbeRun } from './workload/workload-effects.ts';

/** Sends one event to other actors, by the mail stream. Outcome: effect.settled. */
export interface MessageSend {
  readonly type: 'message.send';
  readonly to: readonly ActorId[];
  readonly event: ActorEvent;
}

/** Sets a condition in a Pod's status. Outcome: condition.patched | condition.refused. */
export interface PodConditionPatch {
  readonly type: 'pod-condition.patch';
  readonly namespace: string;
  readonly name: string;
  /** Precondition: the Pod must be this one. */
  readonly uid: string;
  readonly conditionType: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  /** lastTransitionTime, milliseconds since the epoch. */
  readonly at: number;
}

/**
 * One round of calls through a Service. Reports `sample.answered` for each distinct address as it is seen;
 * outcome: sample.finished | sample.failed.
 */
export interface RouteSample {
  readonly type: 'route.sample';
  /** Fairness key of the process-wide limiter. */
  readonly group: string;
  readonly round: number;
  readonly probe: RouteProbe;
  /** At most so many calls. */
  readonly calls: number;
  /** The round ends early once each of these addresses has answered with status 200. */
  readonly wanted: readonly string[];
}

/** Writes a Kubernetes Event about an object. Outcome: effect.settled. */
export interface KubeEventWrite {
  readonly type: 'kube-event.write';
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  };
  readonly eventType: 'Normal' | 'Warning';
  /** CamelCase, for machines. */
  readonly reason: string;
  readonly note: string;
  /** milliseconds since the epoch */
  readonly at: number;
}

export type Effect =
  | MessageSend
  | PodConditionPatch
  | RouteSample
  | KubeEventWrite
  | DomainEffect
  | IssuerEffect
  | SlicesReconcile
  | WorkloadProbeRun
  | WorkloadConditionPatch
  | ReleaseEffect
  | ElectionEffect;
export type EffectType = Effect['type'];

/** The names of all effects, by which `actors/step.ts` tells an effect from any other action of a chart. */
export const effectTypes = [
  'message.send',
  'pod-condition.patch',
  'route.sample',
  'kube-event.write',
  ...domainEffectTypes,
  ...issuerEffectTypes,
  ...electionEffectTypes,
  'endpoint-slices.reconcile',
  'workload.probe',
  'workload-condition.patch',
  ...releaseEffectTypes,
] as const satisfies readonly EffectType[];

/** The outcome of an effect that threw or ran out of time: every effect has a failure edge (I4). */
export function failureOf(effect: Effect, message: string): ActorEvent {
  switch (effect.type) {
    case 'pod-condition.patch':
      return { type: 'condition.refused', reason: 'error', message };
    case 'route.sample':
      return { type: 'sample.failed', round: effect.round, message };
    case 'certificate.inspect':
      return { type: 'inspection.failed', attempt: effect.attempt, message };
    case 'acme.order':
    case 'acme.authorize':
    case 'acme.finalize':
    case 'certificate.store':
      return stepFailure(effect, message);
    case 'ari.fetch':
      return { type: 'ari.unavailable', fingerprint: effect.fingerprint, retryAfterMs: null };
    case 'issuer.verify':
      return { type: 'issuer.failed', check: effect.check, outcome: 'down', message, retryAfterMs: null };
    case 'endpoint-slices.reconcile':
      return { type: 'slices.failed', pass: effect.pass, message, retryAfterMs: 0, end: null };
    case 'workload.probe':
      return { type: 'workload.probed', round: effect.round, failures: [message] };
    case 'workload-condition.patch':
      return { type: 'workload.unmarked', isGone: false, message };
    case 'message.send':
    case 'kube-event.write':
    case 'pending.discard':
    case 'domain.report':
    case 'issuer.report':
      return { type: 'effect.settled', effect: effect.type, error: message };
    case 'lease.look':
    case 'lease.write':
    case 'lease.release':
    case 'lease.follow':
    case 'election-status.patch':
      return electionFailureOf(effect, message);
    default:
      return (
        releaseFailureOf(effect, message) ?? { type: 'effect.settled', effect: effect.type, error: message }
      );
  }
}
