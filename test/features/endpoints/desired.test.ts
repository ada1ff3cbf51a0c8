/**
 * What the slices of a Service must say: each rule for one workload. The whole path shows the same on an API
 * server.
 */
import { expect, test } from 'vitest';
import type {
  SelectingService,
  ServiceDigest,
  WorkloadDigest,
} from '../../../src/features/endpoints/digests.ts';
import { isDnsLabel, wantedSlices } from '../../../src/features/endpoints/packing/desired.ts';
import { service, workload } from './slice-api.ts';

const selecting = service.selecting as SelectingService;

function wanted(
  workloads: Readonly<Record<string, Partial<WorkloadDigest>>>,
  change: Partial<SelectingService> = {},
  rest: Partial<ServiceDigest> = {},
) {
  const named = Object.entries(workloads).map(([name, one], n) => ({
    namespace: 'shop',
    name,
    digest: workload(n + 1, one),
  }));
  return wantedSlices('web', { ...service, ...rest, selecting: { ...selecting, ...change } }, named);
}
const endpointsOf = (...given: Parameters<typeof wanted>) =>
  wanted(...given).groups.flatMap(({ endpoints }) => endpoints);

test('an endpoint says which workload it is, where, and that it is ready', () => {
  const labels = { app: 'vm', 'topology.kubernetes.io/zone': 'north' };
  expect(endpointsOf({ vm: { labels } })).toEqual([
    {
      addresses: ['10.0.0.1'],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: 'ExternalWorkload', namespace: 'shop', name: 'vm', uid: 'vm-1-uid' },
      zone: 'north',
    },
  ]);
});

test.each([
  [{ ready: 'True' }, false, { ready: true, serving: true, terminating: false }],
  [{ ready: 'False' }, false, { ready: false, serving: false, terminating: false }],
  [{ ready: 'Unknown' }, false, { ready: false, serving: false, terminating: false }],
  [{ ready: null }, false, { ready: false, serving: false, terminating: false }],
  [{ ready: 'True', deleting: true }, false, { ready: false, serving: true, terminating: true }],
  [{ ready: 'False', deleting: true }, false, { ready: false, serving: false, terminating: true }],
  [{ ready: 'False' }, true, { ready: true, serving: false, terminating: false }],
  [{ ready: 'True', deleting: true }, true, { ready: true, serving: true, terminating: true }],
] as const)('%o, publishNotReadyAddresses %s: %o', (change, publishNotReady, conditions) => {
  expect(endpointsOf({ vm: change }, { publishNotReady })[0]?.conditions).toEqual(conditions);
});

test('two addresses of one family are one endpoint with both; of two families one in each', () => {
  const v4 = (ip: string) => ({ ip, family: 'IPv4' as const });
  const addresses = [v4('10.0.0.1'), v4('10.0.0.2'), { ip: 'fd00::1', family: 'IPv6' as const }];
  const { groups } = wanted({ vm: { addresses } }, { families: ['IPv4', 'IPv6'] });
  expect(groups.map(({ family, endpoints }) => [family, endpoints.map((one) => one.addresses)])).toEqual([
    ['IPv4', [['10.0.0.1', '10.0.0.2']]],
    ['IPv6', [['fd00::1']]],
  ]);
});

test('two workloads with one address are two endpoints', () => {
  const addresses = [{ ip: '10.0.0.1', family: 'IPv4' as const }];
  expect(endpointsOf({ a: { addresses }, b: { addresses } })).toHaveLength(2);
});

test('a workload with an address that cannot be published is left out as a whole, the others are not', () => {
  expect(
    endpointsOf({ bad: { invalid: ['::1'] }, good: {} }).map(({ targetRef }) => targetRef?.name),
  ).toEqual(['good']);
});

test('a hostname only of a headless Service, and only if the name is a DNS label', () => {
  expect(endpointsOf({ vm: {} })[0]).not.toHaveProperty('hostname');
  const hostnames = endpointsOf({ 'vm-1': {}, 'vm.dots': {}, ['x'.repeat(64)]: {} }, { headless: true });
  expect(hostnames.map(({ hostname }) => hostname)).toEqual(['vm-1', undefined, undefined]);
  expect(['a', 'a-1', '1a', 'x'.repeat(63)].every(isDnsLabel)).toBe(true);
  expect(['', '-a', 'a-', 'A', 'a.b', 'a_b'].some(isDnsLabel)).toBe(false);
});

test('labels: the Service’s, without those that say whose a slice is; headless only if it is', () => {
  const labels = {
    team: 'a',
    'endpointslice.kubernetes.io/managed-by': 'x',
    'service.kubernetes.io/headless': 'y',
  };
  const own = {
    team: 'a',
    'kubernetes.io/service-name': 'web',
    'endpointslice.kubernetes.io/managed-by': 'orrery-endpoints',
  };
  expect(wanted({}, {}, { labels }).labels).toEqual(own);
  expect(wanted({}, { headless: true }, { labels }).labels).toEqual({
    ...own,
    'service.kubernetes.io/headless': '',
  });
});

test('ports: by name or by number, each with its protocol; what does not match is left out; sets of ports are groups', () => {
  const port = (name: string, target: string | number, protocol = 'TCP') => ({
    name,
    protocol,
    appProtocol: null,
    target,
  });
  const ports = [port('named', 'http'), port('numbered', 53), port('udp', 53, 'UDP')];
  const { groups } = wanted(
    {
      all: {
        ports: [
          { name: 'http', port: 80, protocol: 'TCP' },
          { name: '', port: 53, protocol: 'TCP' },
          { name: '', port: 53, protocol: 'UDP' },
        ],
      },
      one: { ports: [{ name: 'http', port: 81, protocol: 'TCP' }] },
      misnamed: { ports: [{ name: 'http', port: 81, protocol: 'UDP' }] },
      none: { ports: [] },
    },
    { ports },
  );
  expect(
    groups.map((group) => [
      group.ports.map((one) => `${one.name} ${one.port} ${one.protocol}`),
      group.endpoints.map(({ targetRef }) => targetRef?.name),
    ]),
  ).toEqual([
    [['named 80 TCP', 'numbered 53 TCP', 'udp 53 UDP'], ['all']],
    [[], ['misnamed', 'none']],
    [['named 81 TCP'], ['one']],
  ]);
});
