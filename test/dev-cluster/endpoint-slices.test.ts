/** From a Service and its Pods to slices, as pure functions. */
import { describe, expect, test } from 'vitest';
import { isSameSlice, slicesOf } from '../../packages/dev-cluster/controllers/endpoint-slices.ts';
import type { Endpoint, PodObject, ServiceObject } from '../../packages/dev-cluster/objects.ts';

interface PodFacts {
  readonly ready?: boolean;
  readonly containersReady?: boolean;
  readonly deleting?: boolean;
  readonly ip?: string | null;
  readonly phase?: string;
  readonly httpPort?: number;
}

const pod = (name: string, facts: PodFacts = {}): PodObject => ({
  metadata: {
    name,
    namespace: 'n',
    uid: `uid-${name}`,
    labels: { app: 'web' },
    ...(facts.deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
  },
  spec: {
    nodeName: 'node',
    containers: [{ name: 'c', ports: [{ name: 'http', containerPort: facts.httpPort ?? 8080 }] }],
  },
  status: {
    phase: facts.phase ?? 'Running',
    ...(facts.ip === null ? {} : { podIP: facts.ip ?? '10.80.0.2' }),
    conditions: [
      { type: 'Ready', status: facts.ready === false ? 'False' : 'True' },
      { type: 'ContainersReady', status: facts.containersReady === false ? 'False' : 'True' },
    ],
  },
});
const service = (spec: object = {}, annotations = {}): ServiceObject => ({
  metadata: { name: 'web', namespace: 'n', uid: 'uid-web', annotations },
  spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }], ...spec },
});
const endpoints = (of: ServiceObject, pods: PodObject[]): Endpoint[] =>
  [...slicesOf(of, pods).values()].flatMap((slice) => slice.endpoints ?? []);

describe('conditions of an endpoint', () => {
  const early = { 'dev.orrery.dev/publish': 'containers-ready' };
  test.each<[string, PodFacts, object, object, [boolean, boolean, boolean]]>([
    ['a Ready Pod', {}, {}, {}, [true, true, false]],
    ['a Pod that is not Ready', { ready: false }, {}, {}, [false, false, false]],
    ['a Ready Pod that is being deleted', { deleting: true }, {}, {}, [false, true, true]],
    [
      'one not Ready, published anyway',
      { ready: false },
      { publishNotReadyAddresses: true },
      {},
      [true, false, false],
    ],
    [
      'one deleted, published anyway',
      { deleting: true },
      { publishNotReadyAddresses: true },
      {},
      [true, true, true],
    ],
    ['one whose gate is closed, published early', { ready: false }, {}, early, [true, true, false]],
    [
      'one not started, published early',
      { ready: false, containersReady: false },
      {},
      early,
      [false, false, false],
    ],
    [
      'one deleted, published early',
      { deleting: true },
      { publishNotReadyAddresses: true },
      early,
      [false, true, true],
    ],
  ])('%s', (_, facts, spec, annotations, [ready, serving, terminating]) => {
    expect(endpoints(service(spec, annotations), [pod('a', facts)])[0]?.conditions).toEqual({
      ready,
      serving,
      terminating,
    });
  });
});

test.each<[string, PodFacts]>([
  ['without an address', { ip: null }],
  ['that has ended', { phase: 'Succeeded' }],
])('a Pod %s is no endpoint', (_, facts) => {
  expect(endpoints(service(), [pod('a', facts)])).toEqual([]);
});

test('a Service whose Pods are missing has one empty slice', () => {
  const slices = [...slicesOf(service(), []).values()];
  expect(slices).toHaveLength(1);
  expect(slices[0]).toMatchObject({ addressType: 'IPv4', endpoints: [] });
});

test('Pods whose named port differs go to different slices', () => {
  const slices = [...slicesOf(service(), [pod('a'), pod('b', { httpPort: 9090 })]).values()];
  expect(slices.map((slice) => slice.ports?.[0]?.port).sort()).toEqual([8080, 9090]);
});

test('at most 100 endpoints are in a slice', () => {
  const pods = Array.from({ length: 250 }, (_, index) => pod(`p${index}`));
  const sizes = [...slicesOf(service(), pods).values()].map((slice) => slice.endpoints?.length);
  expect(sizes).toEqual([100, 100, 50]);
});

test('a slice that says what is wanted is the same, whatever the server added', () => {
  const [wanted] = slicesOf(service(), [pod('a')]).values();
  if (wanted === undefined) throw new Error('no slice');
  const held = { ...wanted, metadata: { ...wanted.metadata, resourceVersion: '7', generation: 1 } };
  expect(isSameSlice(held, wanted)).toBe(true);
  const [other] = slicesOf(service(), [pod('a', { deleting: true })]).values();
  expect(other === undefined || isSameSlice(held, other)).toBe(false);
});
