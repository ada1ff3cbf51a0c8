/**
 * Conditions in the status of an object (metav1.Condition): how one is written over what stands there.
 *
 * Promises: the time of the last transition is another one only if the status is (Kubernetes' API
 * conventions); conditions of other types stay as they are. What is of a wrong type in the object counts as
 * absent.
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

/** The condition with the time of its last transition. @param at when it was found, ms since the epoch */
export function dated<C extends Condition>(
  object: KubeObject,
  condition: C,
  at: number,
): C & { readonly lastTransitionTime: string } {
  const before = conditionsOf(object).find(({ type }) => type === condition.type);
  const since = before?.status === condition.status ? before.lastTransitionTime : undefined;
  return { ...condition, lastTransitionTime: typeof since === 'string' ? since : kubeTime(at) };
}

/** All conditions of the object, the given one in the place of what stood there. */
export function withCondition(object: KubeObject, condition: Condition, at: number): readonly Fields[] {
  const others = conditionsOf(object).filter(({ type }) => type !== condition.type);
  return [...others, { ...dated(object, condition, at) }];
}

function conditionsOf(object: KubeObject): readonly Fields[] {
  return list(record(object.status).conditions)
    .map(record)
    .filter(({ type }) => typeof type === 'string');
}
