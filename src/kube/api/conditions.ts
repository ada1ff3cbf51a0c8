/**
 * Conditions in the status of an object (metav1.Condition): merges a new one with those in the object.
 *
 * Promises: the transition time changes only with the status (Kubernetes' API conventions); conditions of
 * other types stay unchanged. Malformed parts of the object count as absent.
 */

import type { KubeObject } from '../../base/kube-port.ts';
import { kubeTime } from '../../base/kube-time.ts';
import { type Fields, list, record } from './fields.ts';

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
}

/** The condition with its transition time. @param at when it was found, ms since the epoch */
export function dated<C extends Condition>(
  object: KubeObject,
  condition: C,
  at: number,
): C & { readonly lastTransitionTime: string } {
  const before = conditionOf(object.status, condition.type);
  const since = before?.status === condition.status ? before.lastTransitionTime : undefined;
  return { ...condition, lastTransitionTime: typeof since === 'string' ? since : kubeTime(at) };
}

/** All conditions of the object, with the given one replacing the one of its type. */
export function withCondition(object: KubeObject, condition: Condition, at: number): readonly Fields[] {
  const others = conditionsOf(object.status).filter(({ type }) => type !== condition.type);
  return [...others, { ...dated(object, condition, at) }];
}

/** The status's condition of this type. */
export const conditionOf = (status: unknown, wanted: string): Fields | undefined =>
  conditionsOf(status).find(({ type }) => type === wanted);

function conditionsOf(status: unknown): readonly Fields[] {
  return list(record(status).conditions)
    .map(record)
    .filter(({ type }) => typeof type === 'string');
}
