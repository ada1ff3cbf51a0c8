/**
 * Effect `election-status.patch`: writes who leads into the status of an Election, for people to see with
 * `kubectl get`.
 *
 * The Election is read before, for the time since which it is valid, and the uid is part of the patch:
 * another Election under the old name is left alone. Running it twice leaves the same (I5).
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
      if (current.metadata.uid !== effect.uid) return { type: 'election-status.patched', uid: effect.uid };
      const body = patchOf(effect, current);
      await kube.patch(elections, { namespace, name, subresource: 'status', type: 'merge', body }, signal);
    } catch (thrown) {
      // A conflict may be one of two writes at one time: it is told as a failure, and read again.
      if (!hasCode(thrown, 'KUBE_NOT_FOUND')) throw thrown;
    }
    return { type: 'election-status.patched', uid: effect.uid };
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
