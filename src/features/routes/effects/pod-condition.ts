/**
 * Effect `pod-condition.patch`: sets one condition in the status of one Pod.
 *
 * Kubernetes merges the conditions of a Pod by type (strategic merge patch), so other conditions stay. The
 * patch contains the uid, so the API server refuses it for a Pod that replaced this one. Running it twice has
 * the same result (I5).
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { hasCode, type OrreryError } from '../../../base/errors.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import { kubeTime } from '../../../base/kube-time.ts';
import { isAnother, isInvalid, unlessGone } from '../../../kube/api/absent.ts';
import type { PodConditionPatch } from '../../../machines/pod/pod-effects.ts';
import type { ConditionRefused } from '../../../machines/pod/pod-events.ts';
import { pods } from '../resources.ts';

/**
 * Outcome: condition.patched, or condition.refused with `gone` or `conflict`. Every other error is thrown.
 */
export function patchPodCondition(kube: KubePort): EffectRunner<PodConditionPatch> {
  return async (effect, { signal }) => {
    const { namespace, name } = effect;
    try {
      await kube.patch(
        pods,
        { namespace, name, subresource: 'status', type: 'strategic', body: patchOf(effect) },
        signal,
      );
      return { type: 'condition.patched', uid: effect.uid, status: effect.status };
    } catch (thrown) {
      if (hasCode(thrown, 'KUBE_NOT_FOUND')) return refused(effect, 'gone', thrown);
      if (!isAnother(thrown) && !isInvalid(thrown)) throw thrown;
      const there = await unlessGone(kube.get(pods, namespace, name, signal));
      if (there?.metadata.uid !== effect.uid) return refused(effect, 'gone', thrown);
      if (hasCode(thrown, 'KUBE_CONFLICT')) return refused(effect, 'conflict', thrown);
      throw thrown;
    }
  };
}

function patchOf({ uid, conditionType, status, reason, message, at }: PodConditionPatch) {
  // Without the field, the present time stays.
  const moved = at === null ? {} : { lastTransitionTime: kubeTime(at) };
  const condition = { type: conditionType, status, reason, message, ...moved };
  return { metadata: { uid }, status: { conditions: [condition] } };
}

function refused(
  { uid }: PodConditionPatch,
  reason: 'gone' | 'conflict',
  { message }: OrreryError,
): ConditionRefused {
  return { type: 'condition.refused', uid, reason, message };
}
