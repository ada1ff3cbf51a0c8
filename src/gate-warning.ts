/** A Warning Event about a RouteGate that cannot be read, as the composition hands it to who finds that out. */
import { systemClock } from './clock.ts';
import { kubeEventWrite } from './effects/kube-event.ts';
import type { GateWarning } from './kube/gate-status.ts';
import type { KubePort } from './kube/port.ts';

/** The Event is written by the same code as those of actors, under a key of the RouteGate's own. */
export function warnAboutGate(kube: KubePort, replica: string) {
  const write = kubeEventWrite(kube, { replica });
  return ({ namespace, name, uid, reason, note, key }: GateWarning, signal: AbortSignal) => {
    const regarding = { apiVersion: 'orrery.dev/v1alpha1', kind: 'RouteGate', namespace, name, uid };
    const event = {
      type: 'kube-event.write',
      regarding,
      eventType: 'Warning',
      reason,
      note,
      at: systemClock.now(),
    } as const;
    return write(event, { key, actor: 'pod/_/_', signal, emit: () => {} });
  };
}
