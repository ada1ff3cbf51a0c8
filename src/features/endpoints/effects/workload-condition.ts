/**
 * Effect `workload-condition.patch`: sets the condition Ready in the status of one ExternalWorkload.
 *
 * The conditions of a custom resource are one list to a merge patch: they are read, and written with the
 * resourceVersion that was read, so that nobody else's condition is lost; on a conflict they are read again.
 * Running it twice leaves the same (I5).
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { hasCode, type OrreryError } from '../../../base/errors.ts';
import type { KubeObject, KubePort } from '../../../base/kube-port.ts';
import { kubeTime } from '../../../base/kube-time.ts';
import { withCondition } from '../../../kube/api/conditions.ts';
import type { WorkloadConditionPatch } from '../../../machines/workload/workload-effects.ts';
import type { WorkloadUnmarked } from '../../../machines/workload/workload-events.ts';
import { externalWorkloads } from '../resources.ts';

/** A workload is written by few; whoever comes between does so once. */
const attemptsMax = 5;

/**
 * Outcome workload.marked, or workload.unmarked where the workload is gone or always changing; anything that
 * may pass is thrown.
 */
export function patchWorkloadCondition(kube: KubePort): EffectRunner<WorkloadConditionPatch> {
  return async (effect, { signal }) => {
    const { namespace, name, uid, status } = effect;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const workload = await kube.get(externalWorkloads, namespace, name, signal);
        if (workload.metadata.uid !== uid) return unmarked(true, 'there is another workload of that name');
        await write(kube, effect, workload, signal);
        return { type: 'workload.marked', status };
      } catch (thrown) {
        if (hasCode(thrown, 'KUBE_NOT_FOUND')) return unmarked(true, thrown.message);
        if (!hasCode(thrown, 'KUBE_CONFLICT')) throw thrown;
        if (attempt === attemptsMax) return unmarked(false, thrown.message);
      }
    }
  };
}

function unmarked(isGone: boolean, message: OrreryError['message']): WorkloadUnmarked {
  return { type: 'workload.unmarked', isGone, message };
}

async function write(
  kube: KubePort,
  effect: WorkloadConditionPatch,
  workload: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, status, reason, message, at } = effect;
  const { uid, resourceVersion } = workload.metadata;
  const ready = { type: 'Ready', status, reason, message, lastProbeTime: kubeTime(at) };
  const conditions = withCondition(workload, ready, at);
  const body = { metadata: { uid, resourceVersion }, status: { conditions } };
  const patch = { namespace, name, type: 'merge', body } as const;
  try {
    await kube.patch(externalWorkloads, { ...patch, subresource: 'status' }, signal);
  } catch (thrown) {
    // Older definitions of the resource have no status subresource.
    if (!hasCode(thrown, 'KUBE_NOT_FOUND')) throw thrown;
    await kube.patch(externalWorkloads, patch, signal);
  }
}
