/**
 * EndpointSlices, whole path: what others do to slices, to Services and to workloads, and what becomes of it.
 *
 * With KUBECONFIG set the same runs against that API server.
 */
import { expect, test } from 'vitest';
import { startOutsideScenario } from '../../packages/dev-cluster/scenarios/outside-scenario.ts';
import { managedByLabel } from '../../src/features/endpoints/slice-labels.ts';
import { until } from '../until.ts';
import { namesIn, type SliceObject } from './outside.ts';
import { basics, stage } from './outside-stage.ts';

const on = stage();
const web = { selector: { app: 'vm' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }] };

test('slices that are edited, relabelled or deleted are set right; one that is taken over is replaced', async () => {
  await on.shop.service('web', web);
  await on.shop.workload('vm-1', { ips: ['10.9.0.1'] });
  const isRight = (slices: readonly SliceObject[]) =>
    slices.length === 1 &&
    slices[0]?.endpoints?.[0]?.addresses[0] === '10.9.0.1' &&
    slices[0]?.metadata.labels?.extra === undefined &&
    slices[0].endpoints.length === 1;
  const name = async () => (await on.shop.settled('web', 'one right slice', isRight))[0]?.metadata.name ?? '';
  const first = await name();
  await on.shop.change('slice', first, { endpoints: [{ addresses: ['10.9.9.9'] }] });
  expect(await name()).toBe(first);
  await on.shop.change('slice', first, { metadata: { labels: { extra: 'x' } } });
  expect(await name()).toBe(first);
  await on.shop.change('slice', first, { metadata: { labels: { 'kubernetes.io/service-name': 'else' } } });
  expect(await name()).toBe(first);
  await on.shop.remove('slice', first);
  const second = await name();
  expect(second).not.toBe(first);
  await on.shop.change('slice', second, { metadata: { labels: { [managedByLabel]: 'somebody-else' } } });
  const third = await name();
  expect(third).not.toBe(second);
  expect((await on.shop.get('slice', second))?.metadata.labels?.[managedByLabel]).toBe('somebody-else');
});

test('a slice that a finalizer holds while it is being deleted: another one serves its endpoints meanwhile', async () => {
  await on.shop.service('web', web);
  await on.shop.workload('vm-1', { ips: ['10.9.0.1'] });
  const [held] = await on.shop.settled('web', 'a slice', (slices) => slices.length === 1);
  const name = held?.metadata.name ?? '';
  await on.shop.change('slice', name, { metadata: { finalizers: ['test.example.com/hold'] } });
  await on.shop.remove('slice', name);
  const [other] = await on.shop.settled(
    'web',
    'another slice',
    (slices) => namesIn(slices).join() === 'vm-1',
  );
  expect(other?.metadata.name).not.toBe(name);
  expect((await on.shop.slices('web', { leaving: true })).length).toBe(2);
  await on.shop.change('slice', name, { metadata: { finalizers: null } });
  await until(async () => (await on.shop.slices('web', { leaving: true })).length === 1, {
    what: 'the held slice to go',
  });
});

test('finalizers and annotations of others stay when a slice is written', async () => {
  await on.shop.service('web', web);
  await on.shop.workload('vm-1', { ips: ['10.9.0.1'] });
  const [slice] = await on.shop.settled('web', 'a slice', (slices) => slices.length === 1);
  const mine = { metadata: { annotations: { mine: 'yes' }, finalizers: ['test.example.com/hold'] } };
  await on.shop.change('slice', slice?.metadata.name ?? '', mine);
  await on.shop.workload('vm-2', { ips: ['10.9.0.2'] });
  const [next] = await on.shop.settled('web', 'the second', (slices) => namesIn(slices).length === 2);
  expect(next?.metadata).toMatchObject({
    annotations: { mine: 'yes' },
    finalizers: ['test.example.com/hold'],
  });
  await on.shop.change('slice', slice?.metadata.name ?? '', { metadata: { finalizers: null } });
});

test('invalid workloads are left out with a Warning Event; those beside them are published', async () => {
  await on.shop.service('web', web);
  await on.shop.workload('good', { ips: ['10.9.0.1'] });
  for (const [at, ip] of [
    '127.0.0.1',
    '169.254.0.1',
    '0.0.0.0',
    '224.0.0.5',
    'fe80::1',
    '10.0.0.300',
    'host',
  ].entries()) {
    await on.shop.workload(`bad-${at}`, { ips: [ip] });
  }
  await on.shop.workload('half', { ips: ['10.9.0.2', '::1'] });
  await on.shop.workload('last', { ips: ['10.9.0.1'] });
  const slices = await on.shop.settled('web', 'good and last', (all) => namesIn(all).length >= 2);
  // Two workloads with one address are two endpoints.
  expect(namesIn(slices)).toEqual(['good', 'last']);
  expect(await on.warningOn('bad-0')).toMatch(/127\.0\.0\.1/);
  expect(await on.warningOn('half')).toMatch(/"::1"/);
  await on.shop.change('workload', 'bad-0', { spec: { workloadIPs: [{ ip: '10.9.0.7' }] } });
  await on.shop.settled('web', 'the mended one', (all) => namesIn(all).includes('bad-0'));
});

test('a change of port on 300 workloads writes each slice once and leaves the three that are needed', async () => {
  await on.shop.service('web', web);
  for (let n = 0; n < 300; n += 30) {
    const ips = Array.from({ length: 30 }, (_, at) => n + at);
    await Promise.all(
      ips.map((at) => on.shop.workload(`vm-${at}`, { ips: [`10.9.${at >> 8}.${at & 255}`], ready: false })),
    );
  }
  const before = await on.shop.settled(
    'web',
    '300 endpoints',
    (slices) => namesIn(slices).length === 300,
    30_000,
  );
  expect(before.every(({ endpoints }) => (endpoints?.length ?? 0) <= 100)).toBe(true);
  await on.shop.change('service', 'web', {
    spec: { ports: [{ name: 'http', port: 80, targetPort: 8080, appProtocol: 'h2c' }] },
  });
  const after = await on.shop.settled('web', 'the new port everywhere', (slices) =>
    slices.every(({ ports }) => ports?.[0]?.appProtocol === 'h2c'),
  );
  // Workloads that were met slowly may have opened a fourth.
  const generations = new Map(before.map(({ metadata }) => [metadata.name, Number(metadata.generation)]));
  expect(after).toHaveLength(3);
  for (const { metadata } of after)
    expect(metadata.generation).toBe(Number(generations.get(metadata.name)) + 1);
});

test('a Service that is deleted takes its slices along, and a namespace that is deleted leaves nothing behind', async () => {
  await on.shop.service('web', web);
  await on.shop.service('api', web);
  await on.shop.workload('vm-1', { ips: ['10.9.0.1'] });
  await on.shop.settled('web', 'a slice', (slices) => slices.length === 1);
  await on.shop.settled('api', 'a slice', (slices) => slices.length === 1);
  await on.shop.end();
  // On an API server without a controller manager nobody empties the namespace; nothing is to be written into
  // it all the same.
  await on.shop.change('workload', 'vm-1', { metadata: { labels: { zone: 'x' } } }).catch(() => {});
  const told = await (await fetch(`${on.cluster.replicas[0]?.url}/metrics`)).text();
  expect(told).not.toMatch(
    /orrery_effects_total\{effect="endpoint-slices.reconcile",outcome="(failed|timed_out)"\}/,
  );
  expect(told).toMatch(/orrery_endpoints_stuck_total 0/);
});

test('a virtual machine with a probe: it fails, its endpoint is not ready; it comes back, the Service reaches it again', async () => {
  const { namespace } = on.shop;
  const { kube, outsideAddress: address } = on.cluster;
  const { dir } = on;
  const scenario = startOutsideScenario({
    ...basics,
    kube,
    dir,
    address,
    namespace,
    print: () => {},
    upMs: 500,
    downMs: 500,
  });
  try {
    await until(() => scenario.seen().up >= 1, { what: 'the machine to be ready' });
    const service = await on.shop.get('service', 'legacy');
    const host = (service?.spec as { clusterIP: string } | undefined)?.clusterIP;
    const said = await until(async () => (await fetch(`http://${host}/`)).text(), {
      what: 'an answer through the Service',
    });
    expect(said).toBe('vm-1\n');
    await until(() => scenario.seen().down >= 1, { what: 'the machine to be not ready' });
    const workload = (await on.shop.get('workload', 'vm-1')) as { status?: { conditions?: object[] } } | null;
    expect(workload?.status?.conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason: 'ProbeFailed' },
    ]);
    await until(() => scenario.seen().up >= 2, { what: 'the machine to be back' });
  } finally {
    await scenario.stop();
  }
});

test('the writes are counted', async () => {
  await on.shop.service('web', web);
  await on.shop.workload('vm-1', { ips: ['10.9.0.1'] });
  await on.shop.settled('web', 'a slice', (slices) => slices.length === 1);
  const metrics = await (await fetch(`${on.cluster.replicas[0]?.url}/metrics`)).text();
  expect(metrics).toMatch(/orrery_endpointslice_writes_total\{operation="create"\} [1-9]/);
});
