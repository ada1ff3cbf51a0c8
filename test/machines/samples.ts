/** Sample events that lead a walk through every state of each chart. */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { SampleEvent } from '../../packages/testing/charts/walk.ts';
import type { PodFacts } from '../../src/machines/pod/pod-facts.ts';
import type { ServiceFacts } from '../../src/machines/service/route-facts.ts';
import type { EndpointsFacts } from '../../src/machines/service/slices-events.ts';
import type { WorkloadFacts } from '../../src/machines/workload/workload-facts.ts';
import {
  domainSample,
  expiredSample,
  issuerSample,
  lackingSample,
} from '../features/certificates/certificate-samples.ts';
import { electionSample } from '../features/elections/election-sample.ts';
import { broken, bundle, clean, node, nothing, seen, status } from './release/release-script.ts';

export const podFacts: PodFacts = {
  uid: 'pod-uid-1',
  address: { ip: '10.0.0.1', family: 'IPv4' },
  deleting: false,
  gated: true,
  condition: null,
  verifiable: true,
  gate: {
    name: 'gate',
    conditionType: 'example.com/routes',
    whenRouteIsLost: 'withdraw',
    whenUnverifiable: 'pass',
  },
  groupResource: 'none',
  services: { web: 'svc-uid1' },
  unaskable: {},
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

const endpointsFacts: EndpointsFacts = {
  uid: 'svc-uid1-rest',
  selects: true,
  wanted: 'a',
  standing: '0',
  empty: true,
  otherWriter: '',
};
const anyPassEnd = { made: 'a', wanted: 'a', standing: 'b', empty: false, version: '7', writes: 1 };
const passEnd = { pass: 1, ...anyPassEnd };

const workloadFacts: WorkloadFacts = {
  uid: 'vm-uid-1',
  deleting: false,
  addresses: [{ ip: '10.9.0.1', family: 'IPv4' }],
  probe: 'http://:8080/healthz failures=1',
  ready: null,
  problems: [],
};
const led = (local: ReturnType<typeof bundle>, written: typeof nothing, nodes = [node('b', '0.3.0')]) => ({
  type: 'release.led',
  fence: 7,
  replica: 'b',
  bundle: local,
  seen: written,
  nodes,
  epoch: 5,
});

export interface Sample {
  readonly input: object;
  readonly events: readonly SampleEvent[];
  /** Bound on the walk, if it reaches every state sooner than most. */
  readonly situationsMax?: number;
}

const listed: Readonly<Record<string, Sample>> = {
  pod: {
    input: { id: 'pod/shop/web-0', namespace: 'shop', name: 'web-0' },
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
      { type: 'condition.patched', status: 'False' },
      { type: 'condition.refused', reason: 'error', message: 'no' },
      { type: 'condition.refused', reason: 'gone', message: 'gone' },
      { type: 'pod.recheck' },
      { type: 'effect.settled', effect: 'message.send', error: null },
    ],
  },
  service: {
    input: { id: 'service/shop/web', namespace: 'shop', name: 'web' },
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
  domain: domainSample,
  issuer: issuerSample,
  election: electionSample,
  proxier: {
    input: { id: 'proxier/_/node-1', namespace: '_', name: 'node-1' },
    events: [
      { type: 'proxier.queued', family: 'IPv4' },
      { type: 'proxier.updated', family: 'IPv4' },
      { type: 'proxier.queued', family: 'IPv6', happenedAt: 1_699_000_000_000 },
      { type: 'proxier.updated', family: 'IPv6' },
      { type: 'proxier.reported', family: 'IPv4', queuedAt: 1, updatedAt: 1, seq: 1, isTimed: true },
      { type: 'proxier.reported', family: 'IPv4', queuedAt: null, updatedAt: null, seq: 2 },
      { type: 'proxier.observed', facts: { timeoutMs: 60_000, node: 'eligible' } },
      { type: 'proxier.observed', facts: { timeoutMs: 60_000, node: 'ineligible' } },
      { type: 'proxier.observed', facts: { timeoutMs: 30_000, node: 'absent' } },
    ],
  },
  workload: {
    input: { id: 'workload/shop/vm-1', namespace: 'shop', name: 'vm-1' },
    events: [
      { type: 'workload.observed', facts: workloadFacts },
      {
        type: 'workload.observed',
        facts: { ...workloadFacts, probe: 'http://:8080/healthz failures=2', ready: 'True' },
      },
      { type: 'workload.observed', facts: { ...workloadFacts, probe: 'ftp://x' } },
      {
        type: 'workload.observed',
        facts: { ...workloadFacts, probe: null, addresses: [], problems: ['bad'] },
      },
      { type: 'workload.observed', facts: null },
      { type: 'workload.probed', round: 1, failures: [] },
      { type: 'workload.probed', round: 1, failures: ['refused'] },
      { type: 'workload.unprobed', round: 1, message: 'busy' },
      { type: 'workload.marked', status: 'True' },
      { type: 'workload.unmarked', isGone: true, message: 'gone' },
      { type: 'workload.recheck' },
    ],
  },
  release: {
    input: { id: 'release/_/platform', namespace: '_', name: 'platform' },
    events: [
      { type: 'release.reconcile' },
      led(bundle('0.3.0'), nothing),
      led(bundle('0.3.0'), { ...nothing, unreadable: 'bad' }),
      led(bundle('0.3.0'), seen(status('Done', '0.3.0', '0.1.0'))),
      led(bundle('0.3.0'), seen(status('Working', '0.2.0', '0.1.0'))),
      led(bundle('0.3.0'), seen(status('Done', '0.2.0', '0.1.0'))),
      led(bundle('0.3.0', '0.3.0'), seen(status('Done', '0.2.0', '0.1.0'))),
      led(bundle('0.3.0', '0.3.0'), seen(status('Done', '0.2.0', '0.1.0')), [node('a', '0.2.0')]),
      { type: 'release.observed', fence: 7, seen: nothing, nodes: [node('b', '0.3.0')], epoch: 6 },
      { type: 'status.written', fence: 7, status: status('Done', '0.3.0', '0.1.0'), sequence: 60 },
      { type: 'status.written', fence: 7, status: status('Done', '0.3.0', '0.3.0'), sequence: 60 },
      { type: 'status.refused', fence: 7, by: 'leadership' },
      { type: 'status.refused', fence: 7, by: 'nodes' },
      { type: 'status.unknown', fence: 7, message: 'no answer' },
      { type: 'round.finished', fence: 7, round: 1, summary: clean },
      { type: 'round.finished', fence: 7, round: 1, summary: broken },
      { type: 'round.failed', fence: 7, round: 1, message: 'no' },
      { type: 'drift.seen', fence: 7, object: 'ConfigMap shop/a' },
      { type: 'release.retired' },
      { type: 'effect.settled', effect: 'release-resource.write', error: null },
    ],
  },
  'release-candidacy': {
    input: { release: '0.2.0' },
    events: [
      { type: 'nodes.seen', isEntered: false, newest: null },
      { type: 'nodes.seen', isEntered: true, newest: '0.2.0' },
      { type: 'nodes.seen', isEntered: true, newest: '0.3.0' },
      { type: 'reign.began' },
      { type: 'reign.ended' },
      { type: 'candidacy.ended' },
    ],
  },
  watch: {
    input: { resource: 'pods', namespace: null },
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

const service = {
  input: { id: 'service/shop/web', namespace: 'shop', name: 'web' },
  situationsMax: 300,
};

/**
 * Further walks through charts whose regions have little to do with each other: all at once would be too many
 * situations.
 */
export const furtherSamples: Readonly<Record<string, readonly Sample[]>> = {
  'release-candidacy': [
    { input: { release: null }, events: [{ type: 'nodes.seen', isEntered: true, newest: '0.2.0' }] },
  ],
  domain: [expiredSample, lackingSample],
  pod: [
    // Tells what holds the Pod back.
    {
      input: { id: 'pod/shop/web-0', namespace: 'shop', name: 'web-0' },
      events: [
        observed({ ...podFacts, groupResource: 'missing' }),
        observed({ ...podFacts, address: { invalid: '1.2.3' } }),
        observed({ ...podFacts, address: null }),
        observed(podFacts),
        { type: 'condition.patched', status: 'False' },
        { type: 'condition.refused', reason: 'error', message: 'no' },
      ],
    },
  ],
  service: [
    {
      ...service,
      events: [
        { type: 'service.endpoints.observed', facts: endpointsFacts },
        { type: 'service.endpoints.observed', facts: { ...endpointsFacts, wanted: 'b' } },
        { type: 'service.endpoints.observed', facts: { ...endpointsFacts, selects: false } },
        { type: 'service.endpoints.observed', facts: null },
        { type: 'service.observed', facts: serviceFacts },
        { type: 'service.observed', facts: null },
        { type: 'slices.reconciled', compactable: false, ...passEnd },
        { type: 'slices.reconciled', compactable: true, ...passEnd },
        { type: 'slices.failed', pass: 1, message: 'no', retryAfterMs: 0, end: null },
        { type: 'slices.unlisted', pass: 2 },
        { type: 'service.recheck' },
      ],
    },
    // Every pass succeeds, and more changes follow at once.
    {
      ...service,
      events: [
        { type: 'service.endpoints.observed', facts: endpointsFacts },
        { type: 'service.endpoints.observed', facts: { ...endpointsFacts, wanted: 'b' } },
        { type: 'service.endpoints.observed', facts: { ...endpointsFacts, otherWriter: 'else' } },
        { type: 'slices.reconciled', compactable: true, ...anyPassEnd },
      ],
    },
    // Somebody else edits the slices after every pass.
    {
      ...service,
      events: [
        { type: 'service.endpoints.observed', facts: { ...endpointsFacts, standing: 'edited' } },
        { type: 'slices.reconciled', compactable: false, ...anyPassEnd, made: endpointsFacts.wanted },
      ],
    },
    // Every outcome is lost: deadlines alone lead through all retries.
    {
      ...service,
      events: [
        { type: 'service.endpoints.observed', facts: endpointsFacts },
        // The first try after all retries.
        { type: 'slices.unlisted', pass: 17 },
      ],
    },
  ],
};

/** Kinds whose sample is in a file of its own: `test/machines/<kind>/sample.ts`. */
const own = await Promise.all(
  readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter((entry) => existsSync(join(import.meta.dirname, entry.name, 'sample.ts')))
    .map(async ({ name }) => [name, (await import(`./${name}/sample.ts`)).sample as Sample] as const),
);

export const samples: Readonly<Record<string, Sample>> = { ...listed, ...Object.fromEntries(own) };
