/** Warning Events about RouteGates, for which no actor stands: written by the same code as those of actors, under keys of their own. */
import type { Clock } from '../../base/clock.ts';
import type { KubePort } from '../../base/kube-port.ts';
import { writeKubeEvent } from '../../kube/effects/kube-event.ts';
import type { GateWarning } from './gate-status.ts';

export function warnAboutGate(kube: KubePort, replica: string, clock: Clock) {
  const write = writeKubeEvent(kube, { replica });
  return ({ namespace, name, uid, reason, note, key }: GateWarning, signal: AbortSignal) => {
    const regarding = { apiVersion: 'orrery.dev/v1alpha1', kind: 'RouteGate', namespace, name, uid };
    const at = clock.now();
    const event = { type: 'kube-event.write', regarding, eventType: 'Warning', reason, note, at } as const;
    return write(event, { key, actor: 'pod/_/_', signal, emit: () => {} });
  };
}
