/** A RouteGate with three Pods and two Services, and the events of its chart: words for its tests. */
import type { RouteGateContext } from '../../../src/machines/routegate/routegate-context.ts';
import type { RouteGateEvent } from '../../../src/machines/routegate/routegate-events.ts';
import type { GateFindings, RouteGateFacts } from '../../../src/machines/routegate/routegate-facts.ts';
import { type GateCounts, saidIn, statusOf } from '../../../src/machines/routegate/routegate-status.ts';
import { ActorDriver } from '../actor-driver.ts';

export type RouteGateDriver = ActorDriver<RouteGateEvent, RouteGateContext>;

export const gateFacts: RouteGateFacts = { uid: 'gate-1', generation: 4, invalid: null, stirred: 'a.0' };

const none = { names: [], count: 0 };

/** Everything is listed, three Pods are held and ready, two Services are asked. */
export const findings: GateFindings = {
  isComplete: true,
  conditionType: 'example.com/routes',
  refusal: null,
  pods: { held: 3, waiting: 0, ungated: 0, others: 0, verified: 3, unverified: 0 },
  first: null,
  services: 2,
  unaskable: none,
  isPortMissing: false,
  emptyGroups: none,
  crowdedGroups: none,
  servicesMax: 1_000,
  largeGroups: [],
  notPublished: none,
  affine: none,
  local: none,
};

/** Two of the Pods wait, the first of them since `since`. */
export const waitingSince = (since: number): Partial<GateFindings> => ({
  pods: { ...findings.pods, waiting: 2, verified: 1 },
  first: { name: 'web-1', since },
});

export const observed = (change: Partial<RouteGateFacts> = {}): RouteGateEvent => ({
  type: 'routegate.observed',
  facts: { ...gateFacts, ...change },
});
export const forgotten: RouteGateEvent = { type: 'routegate.observed', facts: null };
/** What the object says: as the actor wrote it when it had found that, but for `change`. */
export const says = (
  change: Partial<GateCounts> = {},
  uid = gateFacts.uid,
  found: GateFindings = findings,
): RouteGateEvent => {
  const status = statusOf(gateFacts, found, 0);
  const said = saidIn({ ...status, counts: { ...status.counts, ...change } });
  return { type: 'routegate.status.observed', facts: { uid, said } };
};
export const reported: RouteGateEvent = { type: 'routegate.reported' };
export const refused = (reason: 'gone' | 'error' = 'error'): RouteGateEvent => ({
  type: 'routegate.refused',
  reason,
  message: `it was ${reason}`,
});
export const lookRefused = (look: number, reason: 'gone' | 'error' = 'error'): RouteGateEvent => ({
  type: 'routegate.refused',
  reason,
  message: `it was ${reason}`,
  look,
});
export const counted = (
  look: number,
  change: Partial<GateFindings> = {},
  stirred = 'a.0',
): RouteGateEvent => ({
  type: 'routegate.counted',
  look,
  stirred,
  findings: { ...findings, ...change },
});

export const newGate = (...events: readonly RouteGateEvent[]): RouteGateDriver =>
  new ActorDriver<RouteGateEvent, RouteGateContext>('routegate', 'shop', 'gate').take(...events);

/** Its status was written; nothing is left of what it requested on the way. */
export function reportedGate(change: Partial<GateFindings> = {}): RouteGateDriver {
  const gate = newGate(observed(), counted(1, change), reported);
  gate.asked();
  return gate;
}
