/**
 * Effect `routegate-status.patch`: writes the status of one RouteGate. It leaves a RouteGate that replaced
 * this one alone. Running it twice has the same result (I5).
 */
import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { hasCode } from '../../../base/errors.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import { writeStatus } from '../../../kube/effects/object-edit.ts';
import type { RouteGateStatusPatch } from '../../../machines/routegate/routegate-effects.ts';
import { routeGates } from '../resources.ts';

/**
 * Outcome: routegate.reported, or routegate.refused if the RouteGate is gone. Every other error is thrown.
 */
export function patchGateStatus(kube: KubePort): EffectRunner<RouteGateStatusPatch> {
  return async ({ namespace, name, uid, status, at: now }, { signal }) => {
    const { valid, verifying, counts } = status;
    const { observedGeneration, ...fields } = counts;
    const conditions = [
      { type: 'Valid', ...valid },
      { type: 'Verifying', ...verifying },
    ];
    try {
      const at = { namespace, name, uid };
      await writeStatus(kube, routeGates, { at, now, observedGeneration, conditions, fields }, signal);
      return { type: 'routegate.reported' };
    } catch (thrown) {
      if (!hasCode(thrown, 'KUBE_NOT_FOUND')) throw thrown;
      return { type: 'routegate.refused', reason: 'gone', message: thrown.message };
    }
  };
}
