/**
 * I10: which Services the world holds for the sake of slices, and what digests tell of workloads, Services
 * and slices.
 */
import { describe, expect, test } from 'vitest';
import type { AnyDigest, WorldEntry } from '../../../src/base/digests.ts';
import type { KubeObject } from '../../../src/base/kube-port.ts';
import { servicePart, sliceDigest, workloadPart } from '../../../src/features/endpoints/digest.ts';
import { endpointSlices, services } from '../../../src/kube/api/resources.ts';
import { readProbe } from '../../../src/machines/workload/probe-annotation.ts';
import { interestIn } from '../../kube/mirror/declared.ts';
import { service, workload } from './slice-api.ts';

const meta = { name: 'x', namespace: 'shop', uid: 'u', resourceVersion: '3' };
const object = (fields: object, metadata: object = {}): KubeObject => ({
  metadata: { ...meta, ...metadata },
  ...fields,
});
const workloadOf = (spec: object, more: object = {}) => workloadPart(object({ spec, ...more }));
const serviceOf = (spec: object) => servicePart(object({ spec }));

test('of an annotation that is too long for a probe no more is kept than shows that it is', () => {
  const annotations = { 'orrery.dev/probe': 'x'.repeat(200_000) };
  const { probe } = workloadPart(object({ spec: {} }, { annotations }));
  expect(probe).toHaveLength(2_049);
  expect(readProbe(probe ?? '')).toMatchObject({ invalid: expect.stringContaining('longer') });
});

describe('Services that the world holds', () => {
  const entry = (resource: string, name: string, digest: AnyDigest | null): WorldEntry => ({
    resource,
    namespace: 'shop',
    name,
    digest,
  });
  const vm = (labels: Record<string, string> | null) =>
    entry('externalworkloads.workload.linkerd.io', 'vm', labels === null ? null : workload(1, { labels }));

  test('those whose selector matches a workload of their namespace', () => {
    const interest = interestIn(services);
    expect(interest.wants('shop', 'web', service)).toBe(false);
    interest.fold(vm({ app: 'vm', more: 'x' }));
    expect(interest.wants('shop', 'web', service)).toBe(true);
    expect(interest.wants('other', 'web', service)).toBe(false);
    interest.fold(vm({ app: 'else' }));
    expect(interest.wants('shop', 'web', service)).toBe(false);
    interest.fold(vm({ app: 'vm' }));
    interest.fold(vm(null));
    expect(interest.wants('shop', 'web', service)).toBe(false);
  });

  test('those of which a slice of ours is left, whatever they select', () => {
    const interest = interestIn(services);
    const { selecting: _, ...without } = service;
    const labels = {
      'kubernetes.io/service-name': 'web',
      'endpointslice.kubernetes.io/managed-by': 'orrery-endpoints',
    };
    const slice = sliceDigest(object({ addressType: 'IPv4', endpoints: [] }, { labels }));
    interest.fold(entry('endpointslices', 's', slice));
    expect(interest.wants('shop', 'web', without)).toBe(true);
    expect(interest.wants('shop', 'api', without)).toBe(false);
    interest.fold(entry('endpointslices', 's', null));
    expect(interest.wants('shop', 'web', without)).toBe(false);
  });

  test('a change of workloads names the Services that it concerns, and no others', () => {
    const interest = interestIn(services);
    const other = { ...service, selecting: { ...service.selecting, selector: { app: 'else' } } };
    interest.wants('shop', 'web', service);
    interest.wants('shop', 'api', other as typeof service);
    expect(interest.fold(vm({ app: 'vm' }))).toEqual(['web']);
    expect(interest.fold(vm({ app: 'vm' }))).toEqual([]);
    interest.wants('shop', 'api', service);
    expect(interest.fold(vm({ app: 'other' }))).toEqual(['web', 'api']);
  });

  test('slices of ours are held wherever they are, those of others only where a RouteGate asks', () => {
    const interest = interestIn(endpointSlices);
    const ours = sliceDigest(
      object({}, { labels: { 'endpointslice.kubernetes.io/managed-by': 'orrery-endpoints' } }),
    );
    const other = sliceDigest(object({}, { labels: { 'kubernetes.io/service-name': 'web' } }));
    expect(interest.wants('shop', 's', ours)).toBe(true);
    expect(interest.wants('shop', 's', other)).toBe(false);
  });
});

describe('a workload’s digest', () => {
  test('addresses are canonical, and each stands once', () => {
    const ips = ['10.0.0.1', 'FD00:0::0:1', '10.0.0.1', '::ffff:10.0.0.2'];
    expect(workloadOf({ workloadIPs: ips.map((ip) => ({ ip })) })).toMatchObject({
      addresses: [
        { ip: '10.0.0.1', family: 'IPv4' },
        { ip: 'fd00::1', family: 'IPv6' },
        { ip: '10.0.0.2', family: 'IPv4' },
      ],
      invalid: [],
    });
  });

  test.each([
    '',
    'host',
    '10.0.0.300',
    '010.0.0.1',
    '127.0.0.1',
    '::1',
    '0.0.0.0',
    '::',
    '169.254.1.1',
    'fe80::1',
    '224.0.0.1',
    '239.1.2.3',
    'ff02::1',
    'fd00::1%eth0',
    '10.0.0.1/24',
  ])('the address "%s" cannot be published', (ip) => {
    expect(workloadOf({ workloadIPs: [{ ip }, { ip: '10.0.0.1' }] })).toMatchObject({ invalid: [ip] });
  });

  test.each(['10.0.0.1', '192.0.2.1', '8.8.8.8', 'fd00::1', '2001:db8::1'])('the address %s can be', (ip) => {
    expect(workloadOf({ workloadIPs: [{ ip }] })).toMatchObject({ invalid: [], addresses: [{ ip }] });
  });

  test('the condition Ready, its time, and the annotation', () => {
    const conditions = [
      { type: 'Other', status: 'True' },
      { type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T00:00:05Z' },
    ];
    expect(workloadOf({}, { status: { conditions } })).toMatchObject({
      ready: 'False',
      readyAt: Date.UTC(2026, 0, 1, 0, 0, 5),
      probe: null,
    });
    expect(workloadOf({})).toMatchObject({ ready: null, readyAt: 0, addresses: [], ports: [] });
  });

  test('nonsense in it counts as absent', () => {
    expect(
      workloadOf({ workloadIPs: 'x', ports: [null, { port: 'a' }, { port: 80 }] }, { status: 7 }),
    ).toMatchObject({
      addresses: [],
      ports: [{ name: '', port: 80, protocol: 'TCP' }],
      ready: null,
    });
  });
});

describe('what slices need of a Service', () => {
  const selector = { app: 'vm' };

  test('families: what it says, else that of its address, else both', () => {
    const families = (spec: object) => serviceOf({ selector, ...spec }).selecting?.families;
    expect(families({ ipFamilies: ['IPv6', 'IPv4'] })).toEqual(['IPv6', 'IPv4']);
    expect(families({ ipFamilies: [], clusterIP: 'fd00::1' })).toEqual(['IPv6']);
    expect(families({ clusterIP: '10.0.0.1' })).toEqual(['IPv4']);
    expect(families({ clusterIP: 'None' })).toEqual(['IPv4', 'IPv6']);
  });

  test('it selects nothing if it is an ExternalName or has no selector', () => {
    expect(serviceOf({ selector, type: 'ExternalName' }).selecting).toBeUndefined();
    expect(serviceOf({ selector: {} }).selecting).toBeUndefined();
    expect(serviceOf({}).selecting).toBeUndefined();
  });

  test('targets by name and by number; a target that is absent is the port', () => {
    const ports = [
      { name: 'a', port: 80, targetPort: 'http' },
      { port: 81, targetPort: 8081, protocol: 'UDP', appProtocol: 'x' },
      { port: 82 },
    ];
    expect(serviceOf({ selector, ports }).selecting?.ports).toEqual([
      { name: 'a', protocol: 'TCP', appProtocol: null, target: 'http' },
      { name: '', protocol: 'UDP', appProtocol: 'x', target: 8081 },
      { name: '', protocol: 'TCP', appProtocol: null, target: 82 },
    ]);
  });
});
