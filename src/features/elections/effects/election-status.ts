/**
 * Effect `election-status.patch`: writes who leads into the status of an Election, for people to see with `kubectl get`.
 *
 * The uid is part of the patch, so that another Election under the old name is left alone; running it twice leaves the same (I5).
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { timestamp } from '../../../base/clock.ts';
import { hasCode } from '../../../base/errors.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import { elections } from '../../../kube/api/resources.ts';
import type { ElectionStatusPatch } from '../../../machines/election/election-effects.ts';

/** Outcome election-status.patched, also where the Election is gone. @throws what may pass: then the host tells the actor */
export function patchElectionStatus(kube: KubePort): EffectRunner<ElectionStatusPatch> {
  return async (effect, { signal }) => {
    const { namespace, name } = effect;
    const patch = { namespace, name, subresource: 'status', type: 'merge', body: patchOf(effect) } as const;
    try {
      await kube.patch(elections, patch, signal);
    } catch (thrown) {
      const isGone = hasCode(thrown, 'KUBE_NOT_FOUND', 'KUBE_CONFLICT', 'KUBE_REFUSED');
      if (!isGone) throw thrown;
      if (hasCode(thrown, 'KUBE_REFUSED') && thrown.facts.status !== 422) throw thrown;
    }
    return { type: 'election-status.patched' };
  };
}

/** null takes a field out (RFC 7386). */
function patchOf({ uid, status, at }: ElectionStatusPatch) {
  const { holder, term, acquireTime, renewTime, transitions, candidates, observedGeneration } = status;
  const { invalid, reason = 'Invalid' } = status;
  const valid = {
    type: 'Valid',
    status: invalid === null ? 'True' : 'False',
    reason: invalid === null ? 'Usable' : reason,
    message: invalid ?? '',
    observedGeneration,
    lastTransitionTime: timestamp(at).replace(/\.[0-9]+Z$/, 'Z'),
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
      conditions: [valid],
    },
  };
}
