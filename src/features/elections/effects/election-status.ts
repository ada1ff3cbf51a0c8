/**
 * Effect `election-status.patch`: writes who leads into the status of an Election, for people to see with
 * `kubectl get`.
 *
 * The uid is part of the patch, so that another Election under the old name is left alone; running it twice
 * leaves the same (I5). The Election is read before, for the time since which it is valid.
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { hasCode } from '../../../base/errors.ts';
import type { KubeObject, KubePort } from '../../../base/kube-port.ts';
import { dated } from '../../../kube/api/conditions.ts';
import type { ElectionStatusPatch } from '../../../machines/election/election-effects.ts';
import { elections } from '../resources.ts';

/**
 * Outcome election-status.patched, also where the Election is gone. @throws what may pass: then the host
 * tells the actor
 */
export function patchElectionStatus(kube: KubePort): EffectRunner<ElectionStatusPatch> {
  return async (effect, { signal }) => {
    const { namespace, name } = effect;
    try {
      const current = await kube.get(elections, namespace, name, signal);
      const body = patchOf(effect, current);
      await kube.patch(elections, { namespace, name, subresource: 'status', type: 'merge', body }, signal);
    } catch (thrown) {
      const isGone = hasCode(thrown, 'KUBE_NOT_FOUND', 'KUBE_CONFLICT', 'KUBE_REFUSED');
      if (!isGone) throw thrown;
      if (hasCode(thrown, 'KUBE_REFUSED') && thrown.facts.status !== 422) throw thrown;
    }
    return { type: 'election-status.patched' };
  };
}

/** null takes a field out (RFC 7386). */
function patchOf({ uid, status, at }: ElectionStatusPatch, current: KubeObject) {
  const { holder, term, acquireTime, renewTime, transitions, candidates, observedGeneration } = status;
  const { invalid, reason = 'Invalid' } = status;
  const valid = {
    type: 'Valid',
    status: invalid === null ? 'True' : 'False',
    reason: invalid === null ? 'Usable' : reason,
    message: invalid ?? '',
    observedGeneration,
  };
  return {
    metadata: { uid },
    status: {
      holder,
      term,
      acquireTime,
      renewTime,
      transitions,
      candidates,
      observedGeneration,
      conditions: [dated(current, valid, at)],
    },
  };
}
