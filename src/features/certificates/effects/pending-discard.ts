/** Effect `pending.discard`: removes a key that nobody will have certified. Outcome effect.settled. */
import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { KubePort } from '../../../kube/api/port.ts';
import type { PendingDiscard } from '../../../machines/domain/domain-effects.ts';
import { removePending } from './certificate-secrets.ts';

export function pendingDiscard(kube: KubePort): EffectRunner<PendingDiscard> {
  return async ({ at }, { signal }) => {
    if (at.secretName !== '') await removePending(kube, at, signal);
    return { type: 'effect.settled', effect: 'pending.discard', error: null };
  };
}
