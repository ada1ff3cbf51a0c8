/** Warning Events about objects that no actor stands for, written by the same code as those of actors, under keys of the objects' own. */
import { systemClock } from '../base/clock.ts';
import {
  type SourceWarning,
  type SourceWarningParts,
  SourceWarnings,
} from '../features/certificates/source-warnings.ts';
import type { GateWarning } from '../features/routes/gate-status.ts';
import type { KubePort } from '../kube/api/port.ts';
import { kubeEventWrite } from '../kube/effects/kube-event.ts';

/** About a RouteGate. */
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

/** About what asks for certificates. */
export function sourceWarnings(
  replica: string,
  { kube, log, clock, world }: Omit<SourceWarningParts, 'warn'>,
): SourceWarnings {
  const write = kubeEventWrite(kube, { replica });
  const warn = ({ regarding, reason, note, key }: SourceWarning, signal: AbortSignal) => {
    const event = { type: 'kube-event.write', regarding, eventType: 'Warning', reason, note } as const;
    const context = { key, actor: 'domain/_/_', signal, emit: () => {} } as const;
    return write({ ...event, at: clock.now() }, context);
  };
  return new SourceWarnings({ kube, log, clock, world, warn });
}
