/** The parts of Pods and Services that only gates ask for. Pure; fields of a wrong type count as absent. */

import { type Fields, list, record, textMap } from '../../kube/api/fields.ts';
import type { PodDigest, ServiceDigest, ServiceRouting } from './digests.ts';

/** Why the gates' conditions are True: whether anything was verified is in the reason alone. */
export function gateReasons(status: Fields, gates: readonly string[]): Pick<PodDigest, 'reasons'> {
  const reasons: Record<string, string> = {};
  for (const condition of list(status.conditions).map(record)) {
    const { type, reason } = condition;
    const isOpen = typeof type === 'string' && gates.includes(type) && condition.status === 'True';
    if (isOpen && typeof reason === 'string') reasons[type] = reason;
  }
  return Object.keys(reasons).length > 0 ? { reasons } : {};
}

/** Failed, evicted and completed Pods. */
export function finishedPod({ phase }: Fields): Pick<PodDigest, 'finished'> {
  return phase === 'Failed' || phase === 'Succeeded' ? { finished: true } : {};
}

/** What of a Service makes it and a gate wait for each other (docs/features/routes.md, table of Services). */
export function serviceRouting(spec: Fields): Pick<ServiceDigest, 'routing'> {
  const selector = textMap(spec.selector);
  const isReadyOnly = Object.keys(selector).length > 0 && spec.publishNotReadyAddresses !== true;
  const routing: ServiceRouting = {
    ...(isReadyOnly && spec.type !== 'ExternalName' ? { readyOnly: selector } : {}),
    ...(spec.sessionAffinity === 'ClientIP' ? { affine: true } : {}),
    ...(spec.internalTrafficPolicy === 'Local' ? { local: true } : {}),
    ...(spec.type === 'ExternalName' ? { external: true } : {}),
  };
  return Object.keys(routing).length > 0 ? { routing } : {};
}
