/**
 * Effect `election-status.patch`: writes the actor's knowledge into the status of an Election, for `kubectl
 * get`. An Election that replaced the old one is left alone; a repetition has the same result (I5).
 */

import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import { unlessGone } from '../../../kube/api/absent.ts';
import { type StatusCondition, writeStatus } from '../../../kube/effects/object-edit.ts';
import type { ElectionStatus, ElectionStatusPatch } from '../../../machines/election/election-effects.ts';
import { elections } from '../resources.ts';

/**
 * Outcome election-status.patched, also if the Election is gone.
 *
 * @throws temporary errors; the host then tells the actor
 */
export function patchElectionStatus(kube: KubePort): EffectRunner<ElectionStatusPatch> {
  return async ({ namespace, name, uid, status, at: now }, { signal }) => {
    const at = { namespace, name, uid };
    await unlessGone(writeStatus(kube, elections, { ...statusOf(status), at, now }, signal));
    return { type: 'election-status.patched', uid };
  };
}

/** null removes a field (RFC 7386). */
function statusOf({ invalid, reason: why, observedGeneration, ...fields }: ElectionStatus) {
  const valid: Pick<StatusCondition, 'status' | 'reason'> =
    invalid === null ? { status: 'True', reason: 'Usable' } : { status: 'False', reason: why ?? 'Invalid' };
  const condition = { type: 'Valid', ...valid, message: invalid ?? '' };
  return { observedGeneration, fields, conditions: [condition] };
}
