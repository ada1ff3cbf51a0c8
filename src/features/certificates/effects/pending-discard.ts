/** Effect `pending.discard`: removes a key that will never have a certificate. Outcome effect.settled. */
import type { EffectRunner } from '../../../actors/effect-runner.ts';
import type { KubePort } from '../../../base/kube-port.ts';
import type { PendingDiscard } from '../../../machines/domain/domain-effects.ts';
import { removePending } from './certificate-secrets.ts';

export function discardPending(kube: KubePort): EffectRunner<PendingDiscard> {
  return async ({ host, at }, { signal }) => {
    if (at.secretName !== '') await removePending(kube, { host, at }, signal);
    return { type: 'effect.settled', effect: 'pending.discard', error: null };
  };
}
