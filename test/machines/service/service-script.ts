/**
 * A Service of a group with two Pods, and the events of its chart: words for the tests of the service chart.
 */
import type { SampleSummary, ServiceEvent } from '../../../src/machines/service/route-events.ts';
import type { RouteProbe, ServiceFacts } from '../../../src/machines/service/route-facts.ts';
import type { ServiceContext } from '../../../src/machines/service/service-context.ts';
import { ActorDriver } from '../actor-driver.ts';

export type ServiceDriver = ActorDriver<ServiceEvent, ServiceContext>;

export const probe: RouteProbe = {
  url: 'http://10.1.0.1:80/healthz',
  podIPHeaders: { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' },
  timeoutMs: 3_000,
  attemptsPerReplica: 3,
};
export const probe6: RouteProbe = { ...probe, url: 'http://[fd01::1]:80/healthz' };

export const serviceFacts: ServiceFacts = {
  uid: 'web-1-long-uid',
  deleting: false,
  probes: { IPv4: probe, IPv6: null },
  replicas: 2,
  routesToken: 'a',
  peers: ['api', 'www'],
  readyAddresses: null,
};

export const observed = (change: Partial<ServiceFacts> = {}): ServiceEvent => ({
  type: 'service.observed',
  facts: { ...serviceFacts, ...change },
});
export const forgotten: ServiceEvent = { type: 'service.observed', facts: null };

const place = (n: number) => ({
  pod: `pod/shop/web-${n}` as const,
  uid: `pod-${n}`,
  ip: `10.0.0.${n}`,
  family: 'IPv4' as const,
});
/** Pod n wants a proof: uid `pod-<n>`, address `10.0.0.<n>`. */
export const wanted = (
  n: number,
  change: { uid?: string; ip?: string; family?: 'IPv4' | 'IPv6'; spokenAt?: number } = {},
): ServiceEvent => ({
  type: 'route.wanted',
  ...place(n),
  ...change,
});
export const watched = (n: number): ServiceEvent => ({ type: 'route.watched', ...place(n) });
/** The same, and it wants to hear that it is watched. */
export const confirmable = (n: number): ServiceEvent => ({
  type: 'route.watched',
  ...place(n),
  confirm: true,
});
export const unwanted = (n: number, uid = `pod-${n}`, spokenAt?: number): ServiceEvent => ({
  type: 'route.unwanted',
  pod: `pod/shop/web-${n}`,
  uid,
  ...(spokenAt === undefined ? {} : { spokenAt }),
});
/** Pod n answered in a round. */
export const answered = (n: number, round: number): ServiceEvent => ({
  type: 'sample.answered',
  round,
  ip: `10.0.0.${n}`,
});
export const finished = (round: number, summary: Partial<SampleSummary> = {}, calls = 6): ServiceEvent => ({
  type: 'sample.finished',
  round,
  calls,
  summary: { healthy: [], unhealthy: [], anonymous: 0, unreachable: 0, lastError: null, ...summary },
});
export const failed = (round: number): ServiceEvent => ({ type: 'sample.failed', round, message: 'no' });
export const headerAsked = (name = 'api'): ServiceEvent => ({
  type: 'header.asked',
  service: `service/shop/${name}`,
});
export const headerSeen: ServiceEvent = { type: 'header.seen' };
export const headerUnseen = (name: string): ServiceEvent => ({
  type: 'header.unseen',
  service: `service/shop/${name}`,
});

export const newService = (...events: readonly ServiceEvent[]): ServiceDriver =>
  new ActorDriver<ServiceEvent, ServiceContext>('service', 'shop', 'web').take(...events);

/** The facts of a gate that withdraws: these Pods are ready endpoints. */
export const ready = (...pods: number[]): Partial<ServiceFacts> => ({
  readyAddresses: pods.map((n) => `10.0.0.${n}`),
});

/** The state of region `routes`. */
export const routes = (service: ServiceDriver): string =>
  service.state
    .split(',')
    .find((part) => part.startsWith('routes.'))
    ?.slice('routes.'.length) ?? '';

/** Who was told what since the last look: `['proven', 'web-1']`. */
export function told(service: ServiceDriver): Array<[string, string]> {
  return service
    .askedOf('message.send')
    .flatMap(({ to, event }) => to.map((id): [string, string] => [event.type, id.split('/')[2] ?? '']));
}

/** The messages since the last look. */
export const sent = (service: ServiceDriver) => service.askedOf('message.send');

/** The rounds that were begun since the last look. */
export const rounds = (service: ServiceDriver) => service.askedOf('route.sample');
