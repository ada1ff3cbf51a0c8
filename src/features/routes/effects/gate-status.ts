/**
 * Effect `routegate-status.patch`: writes the status of one RouteGate.
 *
 * The conditions of a custom resource are one list to a merge patch; those of a RouteGate are all ours. The
 * uid is part of the patch, so another one under the old name is refused. Running it twice leaves the same
 * (I5).
 */
import type { EffectRunner } from '../../../actors/effect-runner.ts';
import { hasCode } from '../../../base/errors.ts';
import type { KubeObject, KubePort } from '../../../base/kube-port.ts';
import { dated } from '../../../kube/api/conditions.ts';
import type { RouteGateStatusPatch } from '../../../machines/routegate/routegate-effects.ts';
import type { RouteGateRefused } from '../../../machines/routegate/routegate-events.ts';
import { routeGates } from '../resources.ts';

/**
 * Outcome routegate.reported, or routegate.refused where the RouteGate is gone; anything that may pass is
 * thrown.
 */
export function patchGateStatus(kube: KubePort): EffectRunner<RouteGateStatusPatch> {
  return async (effect, { signal }) => {
    const { namespace, name, uid } = effect;
    try {
      const current = await kube.get(routeGates, namespace, name, signal);
      if (current.metadata.uid !== uid) return gone('there is another RouteGate of that name');
      const body = { metadata: { uid }, status: bodyOf(effect, current) };
      await kube.patch(routeGates, { namespace, name, subresource: 'status', type: 'merge', body }, signal);
      return { type: 'routegate.reported' };
    } catch (thrown) {
      if (hasCode(thrown, 'KUBE_NOT_FOUND')) return gone(thrown.message);
      throw thrown;
    }
  };
}

function bodyOf({ status, at }: RouteGateStatusPatch, current: KubeObject) {
  const { counts, valid, verifying } = status;
  const { observedGeneration } = counts;
  const conditions = Object.entries({ Valid: valid, Verifying: verifying }).map(([type, judgement]) =>
    dated(current, { type, ...judgement, observedGeneration }, at),
  );
  return { ...counts, conditions };
}

const gone = (message: string): RouteGateRefused => ({ type: 'routegate.refused', reason: 'gone', message });
