/** Effects of the routegate chart. */
import { effect } from '../effect.ts';
import { kubeEventWrite } from '../effects.ts';
import type { RouteGateRefused } from './routegate-events.ts';
import type { GateStatus } from './routegate-status.ts';

/** Counts what the world contains for the RouteGate. Outcome: routegate.counted | routegate.refused. */
export interface RouteGateLook {
  readonly type: 'routegate.look';
  readonly namespace: string;
  readonly name: string;
  readonly look: number;
}

/** Writes the status of a RouteGate. Outcome: routegate.reported | routegate.refused. */
export interface RouteGateStatusPatch {
  readonly type: 'routegate-status.patch';
  readonly namespace: string;
  readonly name: string;
  /** Precondition: the RouteGate's uid. */
  readonly uid: string;
  readonly status: GateStatus;
  /** When it was found, ms since the epoch. */
  readonly at: number;
}

const refused = (message: string): RouteGateRefused => ({
  type: 'routegate.refused',
  reason: 'error',
  message,
});

export const routeGateLook = effect<RouteGateLook>('routegate.look', {
  failure: ({ look }, message) => ({ ...refused(message), look }),
  timeoutMs: 5_000,
});
export const routeGateStatusPatch = effect<RouteGateStatusPatch>('routegate-status.patch', {
  failure: (_, message) => refused(message),
});

export const routeGateEffects = [routeGateLook, routeGateStatusPatch, kubeEventWrite] as const;
