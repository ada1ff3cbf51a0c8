/**
 * A Pod of group `one` with three Services, and the events of its chart: words for the tests of the pod
 * chart.
 */

import type { PodContext } from '../../../src/machines/pod/pod-context.ts';
import type { PodEvent } from '../../../src/machines/pod/pod-events.ts';
import type { PodFacts } from '../../../src/machines/pod/pod-facts.ts';
import type { RouteProven } from '../../../src/machines/service/route-events.ts';
import { ActorDriver } from '../actor-driver.ts';

export type PodDriver = ActorDriver<PodEvent, PodContext>;

/** A gated Pod with an address and the Services `api`, `web` and `www`, none of them proven. */
export const podFacts: PodFacts = {
  uid: 'pod-1',
  address: { ip: '10.0.0.1', family: 'IPv4' },
  deleting: false,
  gated: true,
  condition: null,
  verifiable: true,
  gate: {
    name: 'gate',
    conditionType: 'example.com/routes',
    whenRouteIsLost: 'keep',
    whenUnverifiable: 'pass',
  },
  groupResource: 'none',
  services: { api: 'api-1', web: 'web-1', www: 'www-1' },
  unaskable: {},
};

export const withdrawing: PodFacts['gate'] = { ...podFacts.gate, whenRouteIsLost: 'withdraw' };

export const observed = (change: Partial<PodFacts> = {}): PodEvent => ({
  type: 'pod.observed',
  facts: { ...podFacts, ...change },
});
export const forgotten: PodEvent = { type: 'pod.observed', facts: null };

/** The Service's statement that it reached the Pod, and watches it; by default as in `podFacts`. */
export const proven = (
  service: string,
  about: { serviceUid?: string; uid?: string; ip?: string } = {},
): PodEvent => ({
  type: 'route.proven',
  service,
  serviceUid: `${service}-1`,
  uid: 'pod-1',
  ip: '10.0.0.1',
  watched: true,
  ...about,
});
/** The same, by a Service that watches nobody. */
export function provenOnly(service: string): PodEvent {
  const { watched: _, ...rest } = proven(service) as RouteProven;
  return rest;
}
/** The Service's word that it watches the route from now on. */
export const confirmed = (service: string): PodEvent => ({
  ...{ type: 'route.watching', service, serviceUid: `${service}-1`, uid: 'pod-1', ip: '10.0.0.1' },
});
export const allProven = [proven('api'), proven('web'), proven('www')];
export const unverifiable = (service: string, serviceUid = `${service}-1`): PodEvent => ({
  type: 'route.unverifiable',
  service,
  serviceUid,
});
export const lost = (
  service: string,
  uids = ['pod-1'],
  serviceUid = `${service}-1`,
  since?: number,
): PodEvent => ({
  type: 'route.lost',
  service,
  serviceUid,
  uids,
  ...(since === undefined ? {} : { since: uids.map(() => since) }),
});
/** What answered in the Pod's place. */
export const missed = (service: string, answer: string, unhealthy: readonly string[] = []): PodEvent => ({
  type: 'route.missed',
  service,
  serviceUid: `${service}-1`,
  answer,
  unhealthy,
});
export const patched = (status: 'True' | 'False' = 'True'): PodEvent => ({
  type: 'condition.patched',
  status,
});
export const refused = (reason: 'gone' | 'conflict' | 'error'): PodEvent => ({
  type: 'condition.refused',
  reason,
  message: `it was ${reason}`,
});
export const recheck: PodEvent = { type: 'pod.recheck' };

export const newPod = (...events: readonly PodEvent[]): PodDriver =>
  new ActorDriver<PodEvent, PodContext>('pod', 'shop', 'web-0').take(...events);

/**
 * A Pod whose condition we wrote after every route was proven; nothing is left of what it requested on the
 * way.
 */
export function readyPod(change: Partial<PodFacts> = {}): PodDriver {
  const pod = newPod(observed(change), ...allProven, patched(), observed({ ...change, condition: 'True' }));
  pod.asked();
  return pod;
}

/** The Pod waits until it has said why it is held back, and Kubernetes accepts that. */
export const toldWhy = (pod: PodDriver): PodDriver => pod.wait(4_000).take(patched('False'));

/** Services that were asked by messages of one type since the last look, in order. */
export function servicesAsked(pod: PodDriver, type = 'route.wanted'): string[] {
  return pod
    .askedOf('message.send')
    .filter(({ event }) => event.type === type)
    .flatMap(({ to }) => to.map((id) => id.replace('service/shop/', '')))
    .sort();
}
