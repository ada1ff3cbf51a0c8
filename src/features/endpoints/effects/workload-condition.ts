/**
 * Effect `workload-condition.patch`: sets the condition Ready in the status of one ExternalWorkload and keeps
 * all other conditions. Running it twice has the same result (I5). Nothing is written without the annotation
 * that asks for a probe.
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { hasCode } from '../../../base/errors.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import { kubeTime } from '../../../base/kube-time.ts';
import { withCondition } from '../../../kube/api/conditions.ts';
import { type Edit, editObject } from '../../../kube/effects/object-edit.ts';
import type { WorkloadConditionPatch } from '../../../machines/workload/workload-effects.ts';
import { probeAnnotation } from '../digest.ts';
import { externalWorkloads } from '../resources.ts';

/**
 * Outcome: workload.marked, or workload.unmarked if the workload is gone, keeps changing or is not to be
 * probed. Every other error is thrown.
 */
export function patchWorkloadCondition(kube: KubePort): EffectRunner<WorkloadConditionPatch> {
  return async (effect, { signal }) => {
    const { status, reason, message, at } = effect;
    const ready = { type: 'Ready', status, reason, message, lastProbeTime: kubeTime(at) };
    let isAsked = false;
    const edit: Edit = (workload) => {
      // The status of one that is not to be probed any more is its owner's.
      isAsked = workload.metadata.annotations?.[probeAnnotation] !== undefined;
      return isAsked ? { status: { conditions: withCondition(workload, ready, at) } } : null;
    };
    try {
      await editObject(kube, externalWorkloads, effect, edit, signal, 'status').catch((thrown) => {
        // The workload is gone, or an older definition of the resource has no status subresource.
        if (!hasCode(thrown, 'KUBE_NOT_FOUND')) throw thrown;
        return editObject(kube, externalWorkloads, effect, edit, signal);
      });
      if (isAsked) return { type: 'workload.marked', status };
      return { type: 'workload.unmarked', isGone: false, message: 'it does not ask to be probed any more' };
    } catch (thrown) {
      if (!hasCode(thrown, 'KUBE_NOT_FOUND', 'KUBE_CONFLICT')) throw thrown;
      return { type: 'workload.unmarked', isGone: thrown.code === 'KUBE_NOT_FOUND', message: thrown.message };
    }
  };
}
