/** Effects of the pod chart. */
import { effect } from '../effect.ts';
import { kubeEventWrite, messageSend } from '../effects.ts';
import type { ConditionRefused } from './pod-events.ts';

/** Sets a condition in a Pod's status. Outcome: condition.patched | condition.refused. */
export interface PodConditionPatch {
  readonly type: 'pod-condition.patch';
  readonly namespace: string;
  readonly name: string;
  /** Precondition: the Pod has this uid. */
  readonly uid: string;
  readonly conditionType: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  /**
   * lastTransitionTime, milliseconds since the epoch; null: the status does not change, and its time stays.
   */
  readonly at: number | null;
}

/**
 * A patch of one condition takes milliseconds. If its answer is lost, it is repeated early enough that a lost
 * route is still told within 31 s (docs/features/routes.md §6.3).
 */
const patchTimeoutMs = 10_000;

export const podConditionPatch = effect<PodConditionPatch>('pod-condition.patch', {
  timeoutMs: patchTimeoutMs,
  failure: ({ uid }, message): ConditionRefused => ({
    type: 'condition.refused',
    uid,
    reason: 'error',
    message,
  }),
});

export const podEffects = [messageSend, podConditionPatch, kubeEventWrite] as const;
