/**
 * Effect `pod-condition.patch`: sets one condition in the status of one Pod.
 *
 * The conditions of a Pod are merged by their type (strategic merge patch), so nobody else's condition is
 * touched; the uid is part of the patch, so another Pod under the old name is refused by the API server.
 * Running it twice leaves the same (I5).
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { hasCode, type OrreryError } from '../../../base/errors.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import { kubeTime } from '../../../base/kube-time.ts';
import type { PodConditionPatch } from '../../../machines/pod/pod-effects.ts';
import type { ConditionRefused } from '../../../machines/pod/pod-events.ts';
import { pods } from '../resources.ts';

/**
 * Outcome condition.patched, or condition.refused with `gone` or `conflict`; anything that may pass is
 * thrown.
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
      // A foreign uid is a conflict to some versions of the API server and an invalid field (422) to others.
      if (!hasCode(thrown, 'KUBE_CONFLICT') && !isInvalid(thrown)) throw thrown;
      const isSame = await isStillThere(kube, effect, signal);
      if (!isSame) return refused(effect, 'gone', thrown);
      if (hasCode(thrown, 'KUBE_CONFLICT')) return refused(effect, 'conflict', thrown);
      throw thrown;
    }
  };
}

function patchOf({ uid, conditionType, status, reason, message, at }: PodConditionPatch) {
  // Left out, the time that stands there stays.
  const moved = at === null ? {} : { lastTransitionTime: kubeTime(at) };
  const condition = { type: conditionType, status, reason, message, ...moved };
  return { metadata: { uid }, status: { conditions: [condition] } };
}

function isInvalid(thrown: unknown): thrown is OrreryError {
  return hasCode(thrown, 'KUBE_REFUSED') && thrown.facts.status === 422;
}

async function isStillThere(
  kube: KubePort,
  { namespace, name, uid }: PodConditionPatch,
  signal: AbortSignal,
) {
  try {
    const pod = await kube.get(pods, namespace, name, signal);
    return pod.metadata.uid === uid;
  } catch (thrown) {
    if (hasCode(thrown, 'KUBE_NOT_FOUND')) return false;
    throw thrown;
  }
}

function refused(
  { uid }: PodConditionPatch,
  reason: 'gone' | 'conflict',
  { message }: OrreryError,
): ConditionRefused {
  return { type: 'condition.refused', uid, reason, message };
}
