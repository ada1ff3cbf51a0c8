/** Sample events that lead a walk through every state of each chart. */
import { effectTypes } from '../../src/machines/effects.ts';
import type { PodFacts, ServiceFacts } from '../../src/machines/facts.ts';
import { holdingEffectTypes } from '../../src/machines/shard.ts';
import { watchEffectTypes } from '../../src/machines/watch.ts';
import type { SampleEvent } from './walk.ts';

export const podFacts: PodFacts = {
  uid: 'pod-uid-1',
  address: { ip: '10.0.0.1', family: 'IPv4' },
  deleting: false,
  gated: true,
  condition: null,
  verifiable: true,
  gate: { name: 'gate', conditionType: 'example.com/routes', whenRouteIsLost: 'withdraw' },
  groupResource: 'none',
  services: { web: 'svc-uid1' },
};

const observed = (facts: PodFacts | null): SampleEvent => ({ type: 'pod.observed', facts });
const proof = { service: 'web', serviceUid: 'svc-uid1', uid: 'pod-uid-1', ip: '10.0.0.1' };

export const serviceFacts: ServiceFacts = {
  uid: 'svc-uid1-rest',
  deleting: false,
  probes: {
    IPv4: {
      url: 'http://10.1.0.1:80/healthz',
      podIPHeaders: { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' },
      timeoutMs: 3_000,
      attemptsPerReplica: 3,
    },
    IPv6: null,
  },
  replicas: 2,
  routesToken: 'a.b',
  peers: ['api'],
  readyAddresses: null,
};

const want = {
  type: 'route.wanted',
  pod: 'pod/shop/web-0',
  uid: 'pod-uid-1',
  ip: '10.0.0.1',
  family: 'IPv4',
};
const watchFailed = (attempt: number, code: string, retryAfterMs: number | null) => ({
  type: 'watch.failed',
  attempt,
  code,
  message: code,
  retryAfterMs,
  resourceVersion: '9',
});
const summary = { healthy: [], unhealthy: [], anonymous: 0, unreachable: 0, lastError: null };

export interface Sample {
  readonly input: object;
  readonly effectTypes: readonly string[];
  readonly events: readonly SampleEvent[];
}

export const samples: Readonly<Record<string, Sample>> = {
  pod: {
    input: { id: 'pod/shop/web-0', namespace: 'shop', name: 'web-0' },
    effectTypes,
    events: [
      observed(podFacts),
      observed({ ...podFacts, gated: false }),
      observed({ ...podFacts, address: null }),
      observed({ ...podFacts, address: { invalid: '1.2.3' } }),
      observed({ ...podFacts, groupResource: 'missing' }),
      observed({ ...podFacts, groupResource: 'mismatch' }),
      observed({ ...podFacts, condition: 'True' }),
      observed({ ...podFacts, services: {} }),
      observed({ ...podFacts, verifiable: false }),
      observed({ ...podFacts, deleting: true }),
      observed({ ...podFacts, uid: 'pod-uid-2' }),
      observed(null),
      { type: 'route.proven', ...proof },
      { type: 'route.unverifiable', service: 'web', serviceUid: 'svc-uid1' },
      { type: 'route.lost', service: 'web', serviceUid: 'svc-uid1', uids: ['pod-uid-1'] },
      { type: 'condition.patched', status: 'True' },
      { type: 'condition.refused', reason: 'error', message: 'no' },
      { type: 'condition.refused', reason: 'gone', message: 'gone' },
      { type: 'pod.recheck' },
      { type: 'effect.settled', effect: 'message.send', error: null },
    ],
  },
  service: {
    input: { id: 'service/shop/web', namespace: 'shop', name: 'web' },
    effectTypes,
    events: [
      { type: 'service.observed', facts: serviceFacts },
      { type: 'service.observed', facts: { ...serviceFacts, routesToken: 'c.d' } },
      { type: 'service.observed', facts: { ...serviceFacts, probes: { IPv4: null, IPv6: null } } },
      { type: 'service.observed', facts: null },
      want,
      { type: 'service.observed', facts: { ...serviceFacts, readyAddresses: ['10.0.0.1'] } },
      { type: 'sample.finished', round: 1, calls: 6, summary: { ...summary, anonymous: 6 } },
      { type: 'header.asked', service: 'service/shop/api' },
      { type: 'header.seen' },
      { ...want, type: 'route.watched' },
      { ...want, pod: 'pod/shop/web-1', uid: 'pod-uid-2', ip: '10.0.0.2' },
      { type: 'route.unwanted', pod: 'pod/shop/web-0', uid: 'pod-uid-1' },
      { type: 'sample.answered', round: 1, ip: '10.0.0.1' },
      { type: 'sample.finished', round: 1, calls: 6, summary },
      { type: 'sample.failed', round: 1, message: 'no' },
      { type: 'service.recheck' },
      { type: 'effect.settled', effect: 'message.send', error: null },
    ],
  },
  proxier: {
    input: { id: 'proxier/_/node-1', namespace: '_', name: 'node-1' },
    effectTypes,
    events: [
      { type: 'proxier.queued', family: 'IPv4' },
      { type: 'proxier.updated', family: 'IPv4' },
      { type: 'proxier.queued', family: 'IPv6', happenedAt: 1_699_000_000_000 },
      { type: 'proxier.updated', family: 'IPv6' },
      { type: 'proxier.observed', facts: { timeoutMs: 60_000, node: 'eligible' } },
      { type: 'proxier.observed', facts: { timeoutMs: 60_000, node: 'ineligible' } },
      { type: 'proxier.observed', facts: { timeoutMs: 30_000, node: 'absent' } },
    ],
  },
  watch: {
    input: { resource: 'pods', namespace: null },
    effectTypes: watchEffectTypes,
    events: [
      { type: 'started' },
      { type: 'watch.page.listed', attempt: 1, page: '', resourceVersion: '7', objects: 3 },
      { type: 'watch.page.listed', attempt: 1, page: 'next', resourceVersion: '7', objects: 3 },
      { type: 'watch.page.listed', attempt: 2, page: '', resourceVersion: '8', objects: 3 },
      { type: 'watch.opened', attempt: 2 },
      { type: 'watch.advanced', attempt: 2, resourceVersion: '9' },
      { type: 'watch.ended', attempt: 2, resourceVersion: '9' },
      watchFailed(1, 'KUBE_UNREACHABLE', null),
      watchFailed(2, 'KUBE_THROTTLED', 2_000),
      watchFailed(2, 'KUBE_EXPIRED', null),
      watchFailed(3, 'KUBE_SERVER', null),
      { type: 'watch.relist' },
    ],
  },
  shard: {
    input: { name: 'shard/7' },
    effectTypes: holdingEffectTypes,
    events: [
      { type: 'holding.assigned', seen: 3 },
      { type: 'holding.withdrawn' },
      { type: 'holding.fenced' },
      { type: 'claim.won', fence: 4 },
      { type: 'claim.lost' },
      { type: 'holding.loaded', fence: 4 },
      { type: 'holding.drained', fence: 4 },
      { type: 'holding.released', fence: 4 },
      { type: 'effect.failed', message: 'no', fence: 4 },
      { type: 'effect.failed', message: 'no', fence: 0 },
    ],
  },
};
