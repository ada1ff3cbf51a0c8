/**
 * EndpointSlices for workloads outside the cluster, whole path: an API server, a nats-server, a replica as its own process.
 *
 * With KUBECONFIG set the same runs against that API server.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { type DevCluster, startDevCluster } from '../../src/dev/cluster.ts';
import { startOutsideScenario } from '../../src/dev/outside-scenario.ts';
import { events } from '../../src/kube/resources.ts';
import { silentLog } from '../../src/log.ts';
import { systemRandom } from '../../src/random.ts';
import { managedBy, managedByLabel, triggerTimeAnnotation } from '../../src/slice-labels.ts';
import { until } from '../until.ts';
import { namesIn, Outside, type SliceObject, versionsOf } from './outside.ts';

const basics = { clock: systemClock, random: systemRandom, log: silentLog };
const kubeconfig = process.env.KUBECONFIG;
const { signal } = new AbortController();
let cluster: DevCluster;
let dir = '';
let shop: Outside;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-endpoints-'));
  cluster = await startDevCluster(
    {
      ...basics,
      dir,
      replicas: 1,
      http: { host: '127.0.0.1', port: 0 },
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
      replicaFlags: ['--endpoints-per-slice', '100'],
      print: () => {},
    },
    signal,
  );
}, 60_000);
afterAll(async () => {
  await cluster?.stop();
  rmSync(dir, { recursive: true, force: true });
});
beforeEach(async () => {
  const name = systemRandom
    .id()
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
  shop = new Outside(cluster.kube, `outside-${name}`);
  await shop.begin();
});
afterEach(() => shop.end());

const web = { selector: { app: 'vm' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }] };

test('a slice lists the workloads that the selector matches, with everything that the API defines for them', async () => {
  await shop.workload('vm-1', {
    ips: ['10.9.0.1'],
    labels: { app: 'vm', 'topology.kubernetes.io/zone': 'north' },
  });
  await shop.workload('vm-2', { ips: ['10.9.0.2'], ready: false });
  await shop.workload('other', { ips: ['10.9.0.3'], labels: { app: 'else' } });
  const service = await shop.service(
    'web',
    { ...web, ports: [{ ...web.ports[0], appProtocol: 'http' }] },
    { team: 'a' },
  );
  const [slice] = await shop.settled('web', 'both workloads', (slices) => namesIn(slices).length === 2);
  const vm1 = await shop.get('workload', 'vm-1');
  expect(slice?.metadata).toMatchObject({
    generateName: 'orrery-web-',
    labels: {
      team: 'a',
      'kubernetes.io/service-name': 'web',
      'endpointslice.kubernetes.io/managed-by': 'orrery-endpoints',
    },
    ownerReferences: [
      {
        apiVersion: 'v1',
        kind: 'Service',
        name: 'web',
        uid: service.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
    annotations: { [triggerTimeAnnotation]: service.metadata.creationTimestamp },
  });
  expect(slice?.metadata.name).toMatch(/^orrery-web-[a-z0-9]+$/);
  expect(slice?.metadata.labels).not.toHaveProperty('service.kubernetes.io/headless');
  expect(slice).toMatchObject({
    addressType: 'IPv4',
    ports: [{ name: 'http', protocol: 'TCP', port: 8080, appProtocol: 'http' }],
  });
  expect(slice?.endpoints?.[0]).toEqual({
    addresses: ['10.9.0.1'],
    conditions: { ready: true, serving: true, terminating: false },
    targetRef: { kind: 'ExternalWorkload', namespace: shop.namespace, name: 'vm-1', uid: vm1?.metadata.uid },
    zone: 'north',
  });
  expect(slice?.endpoints?.[1]?.conditions).toEqual({ ready: false, serving: false, terminating: false });
});

test('readiness, labels and deletion of a workload are followed; what does not show is no work', async () => {
  await shop.service('web', web);
  await shop.workload('vm-1', { ips: ['10.9.0.1'] });
  await shop.workload('vm-2', { ips: ['10.9.0.2'] });
  const isReady = (name: string, ready: boolean) => (slices: readonly SliceObject[]) =>
    slices.some(({ endpoints }) =>
      endpoints?.some((one) => one.targetRef.name === name && one.conditions.ready === ready),
    );
  await shop.settled(
    'web',
    'both',
    (slices) => isReady('vm-1', true)(slices) && isReady('vm-2', true)(slices),
  );
  const at = new Date(Date.UTC(2026, 4, 5, 6, 7, 8));
  await shop.setReady('vm-1', false, at);
  const [flipped] = await shop.settled('web', 'vm-1 not ready', isReady('vm-1', false));
  expect(flipped?.metadata.annotations?.[triggerTimeAnnotation]).toBe('2026-05-05T06:07:08Z');
  await shop.change('workload', 'vm-2', {
    metadata: { labels: { unrelated: 'yes' }, annotations: { note: 'x' } },
  });
  await shop.change('workload', 'vm-1', { metadata: { labels: { 'topology.kubernetes.io/zone': 'south' } } });
  const moved = await shop.settled(
    'web',
    'the zone',
    ([slice]) => slice?.endpoints?.some(({ zone }) => zone === 'south') === true,
  );
  // One write, and nothing for the label that does not show.
  expect(Number(moved[0]?.metadata.generation)).toBe(Number(flipped?.metadata.generation) + 1);
  await shop.change('workload', 'vm-2', { metadata: { labels: { app: 'else' } } });
  await shop.settled('web', 'vm-2 gone', (slices) => namesIn(slices).join() === 'vm-1');
  await shop.change('workload', 'vm-2', { metadata: { labels: { app: 'vm' } } });
  await shop.settled('web', 'vm-2 back', (slices) => namesIn(slices).join() === 'vm-1,vm-2');
  await shop.remove('workload', 'vm-1');
  await shop.settled('web', 'vm-1 deleted', (slices) => namesIn(slices).join() === 'vm-2');
  await shop.remove('workload', 'vm-2');
  await shop.settled('web', 'no slice', (slices) => slices.length === 0);
});

test('a workload that waits for its deletion is terminating and not ready', async () => {
  await shop.service('web', web);
  await shop.workload('vm-1', { ips: ['10.9.0.1'] });
  await shop.settled('web', 'vm-1', (slices) => namesIn(slices).length === 1);
  await shop.change('workload', 'vm-1', { metadata: { finalizers: ['test.example.com/hold'] } });
  await shop.remove('workload', 'vm-1');
  const [slice] = await shop.settled(
    'web',
    'terminating',
    ([one]) => one?.endpoints?.[0]?.conditions.terminating === true,
  );
  expect(slice?.endpoints?.[0]?.conditions).toEqual({ ready: false, serving: true, terminating: true });
  await shop.change('workload', 'vm-1', { metadata: { finalizers: null } });
  await shop.settled('web', 'no slice', (slices) => slices.length === 0);
});

test('labels of the Service are followed: additions, changes and removals; reserved ones are not lent', async () => {
  await shop.service('web', web, { team: 'a', old: 'yes', 'kubernetes.io/service-name': 'liar' });
  await shop.workload('vm-1', { ips: ['10.9.0.1'] });
  const [first] = await shop.settled('web', 'a slice', (slices) => slices.length === 1);
  expect(first?.metadata.labels).toMatchObject({
    team: 'a',
    old: 'yes',
    'kubernetes.io/service-name': 'web',
  });
  await shop.change('service', 'web', { metadata: { labels: { team: 'b', old: null, more: 'x' } } });
  const [next] = await shop.settled('web', 'new labels', ([slice]) => slice?.metadata.labels?.team === 'b');
  expect(next?.metadata.labels).toEqual({
    team: 'b',
    more: 'x',
    'kubernetes.io/service-name': 'web',
    'endpointslice.kubernetes.io/managed-by': 'orrery-endpoints',
  });
});

test('ports by name and by number; workloads with other ports are in slices of their own, those without any in one without ports', async () => {
  await shop.service('web', {
    selector: { app: 'vm' },
    ports: [
      { name: 'named', port: 80, targetPort: 'http' },
      { name: 'numbered', port: 81, targetPort: 9000 },
      { name: 'datagrams', port: 82, targetPort: 9000, protocol: 'UDP' },
    ],
  });
  await shop.workload('both', { ips: ['10.9.0.1'], ports: [{ name: 'http', port: 8080 }, { port: 9000 }] });
  await shop.workload('named', { ips: ['10.9.0.2'], ports: [{ name: 'http', port: 8081 }] });
  await shop.workload('udp', { ips: ['10.9.0.3'], ports: [{ port: 9000, protocol: 'UDP' }] });
  await shop.workload('none', { ips: ['10.9.0.4'], ports: [{ name: 'else', port: 1 }] });
  const slices = await shop.settled(
    'web',
    'four slices',
    (all) => all.length === 4 && namesIn(all).length === 4,
  );
  const portsOf = (name: string) =>
    slices
      .find((slice) => namesIn([slice]).includes(name))
      ?.ports?.map(({ name: port, port: number, protocol }) => `${port} ${number} ${protocol}`) ?? [];
  expect(portsOf('both')).toEqual(['named 8080 TCP', 'numbered 9000 TCP']);
  expect(portsOf('named')).toEqual(['named 8081 TCP']);
  expect(portsOf('udp')).toEqual(['datagrams 9000 UDP']);
  expect(portsOf('none')).toEqual([]);
});

test('an unnamed port has the empty name, and touches that change nothing write nothing', async () => {
  await shop.service('web', { selector: { app: 'vm' }, ports: [{ port: 80, targetPort: 8080 }] });
  await shop.workload('vm-1', { ips: ['10.9.0.1'] });
  const before = await shop.settled(
    'web',
    'a ready endpoint',
    ([slice]) => slice?.endpoints?.[0]?.conditions.ready === true,
  );
  expect(before[0]?.ports).toEqual([{ name: '', protocol: 'TCP', port: 8080 }]);
  for (let n = 0; n < 20; n++) {
    await shop.change('workload', 'vm-1', { metadata: { annotations: { touched: `${n}` } } });
    await shop.change('service', 'web', { metadata: { annotations: { touched: `${n}` } } });
  }
  // What comes after them is seen after them.
  await shop.workload('vm-2', { ips: ['10.9.0.2'], ready: false });
  const after = await shop.settled('web', 'the second', (slices) => namesIn(slices).length === 2);
  expect(Number(after[0]?.metadata.generation)).toBe(Number(before[0]?.metadata.generation) + 1);
});

test('a headless Service: label, hostnames where the name is a DNS label, and a Warning Event where it is not', async () => {
  await shop.service('db', { selector: { app: 'vm' }, clusterIP: 'None' });
  await shop.workload('vm-1', { ips: ['10.9.0.1'] });
  await shop.workload('vm.with.dots', { ips: ['10.9.0.2'] });
  const slices = await shop.settled('db', 'both', (all) => namesIn(all).length === 2);
  expect(slices[0]?.metadata.labels).toHaveProperty('service.kubernetes.io/headless', '');
  const hostnames = slices.flatMap(({ endpoints }) =>
    endpoints?.map(({ targetRef, hostname }) => [targetRef.name, hostname]),
  );
  expect(Object.fromEntries(hostnames as Array<[string, string]>)).toEqual({
    'vm-1': 'vm-1',
    'vm.with.dots': undefined,
  });
  expect(slices.flatMap(({ ports }) => ports ?? [])).toEqual([]);
  expect(await warningOn('vm.with.dots')).toMatch(/no DNS label/);
});

async function warningOn(name: string): Promise<string> {
  return until(
    async () => {
      const { items } = await cluster.kube.list(events, { namespace: shop.namespace }, signal);
      const found = items.find((item) => (item.regarding as { name?: string } | undefined)?.name === name);
      return found?.type === 'Warning' ? String(found.note) : null;
    },
    { what: `a Warning Event on ${name}` },
  );
}

test('ExternalName, a removed selector: slices of ours go, and come back', async () => {
  await shop.service('web', web);
  await shop.workload('vm-1', { ips: ['10.9.0.1'] });
  await shop.settled('web', 'a slice', (slices) => slices.length === 1);
  await shop.change('service', 'web', { spec: { selector: null } });
  await shop.settled('web', 'no slice without a selector', (slices) => slices.length === 0);
  await shop.change('service', 'web', { spec: { selector: { app: 'vm' } } });
  await shop.settled('web', 'a slice again', (slices) => namesIn(slices).join() === 'vm-1');
  await shop.change('service', 'web', {
    spec: {
      type: 'ExternalName',
      externalName: 'example.com',
      clusterIP: null,
      clusterIPs: null,
      ipFamilies: null,
      ipFamilyPolicy: null,
    },
  });
  await shop.settled('web', 'no slice of an ExternalName', (slices) => slices.length === 0);
  await shop.change('service', 'web', { spec: { type: 'ClusterIP', externalName: null } });
  await shop.settled('web', 'a slice of the Service again', (slices) => namesIn(slices).join() === 'vm-1');
});

test('both families and back: addresses in canonical form, one set of slices for each', async () => {
  await shop.service('web', {
    ...web,
    clusterIP: 'None',
    ipFamilyPolicy: 'RequireDualStack',
    ipFamilies: ['IPv4', 'IPv6'],
  });
  await shop.workload('vm-1', { ips: ['10.9.0.1', 'FD00:0:0::0001'] });
  await shop.workload('vm-2', { ips: ['10.9.0.2', '10.9.0.3'] });
  const both = await shop.settled('web', 'three endpoints', (slices) => namesIn(slices).length === 3);
  const addresses = both.flatMap(
    ({ addressType, endpoints }) => endpoints?.map((one) => [addressType, one.addresses.join()]) ?? [],
  );
  expect(addresses.sort()).toEqual([
    ['IPv4', '10.9.0.1'],
    ['IPv4', '10.9.0.2,10.9.0.3'],
    ['IPv6', 'fd00::1'],
  ]);
  await shop.change('service', 'web', { spec: { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4'] } });
  await shop.settled(
    'web',
    'IPv4 alone',
    (slices) => slices.every(({ addressType }) => addressType === 'IPv4') && namesIn(slices).length === 2,
  );
});

test('slices that are edited, relabelled or deleted are set right; one that is taken over is replaced', async () => {
  await shop.service('web', web);
  await shop.workload('vm-1', { ips: ['10.9.0.1'] });
  const isRight = (slices: readonly SliceObject[]) =>
    slices.length === 1 &&
    slices[0]?.endpoints?.[0]?.addresses[0] === '10.9.0.1' &&
    slices[0]?.metadata.labels?.extra === undefined &&
    slices[0].endpoints.length === 1;
  const name = async () => (await shop.settled('web', 'one right slice', isRight))[0]?.metadata.name ?? '';
  const first = await name();
  await shop.change('slice', first, { endpoints: [{ addresses: ['10.9.9.9'] }] });
  expect(await name()).toBe(first);
  await shop.change('slice', first, { metadata: { labels: { extra: 'x' } } });
  expect(await name()).toBe(first);
  await shop.change('slice', first, { metadata: { labels: { 'kubernetes.io/service-name': 'else' } } });
  expect(await name()).toBe(first);
  await shop.remove('slice', first);
  const second = await name();
  expect(second).not.toBe(first);
  await shop.change('slice', second, { metadata: { labels: { [managedByLabel]: 'somebody-else' } } });
  const third = await name();
  expect(third).not.toBe(second);
  expect((await shop.get('slice', second))?.metadata.labels?.[managedByLabel]).toBe('somebody-else');
});

test('a slice that a finalizer holds while it is being deleted: another one serves its endpoints meanwhile', async () => {
  await shop.service('web', web);
  await shop.workload('vm-1', { ips: ['10.9.0.1'] });
  const [held] = await shop.settled('web', 'a slice', (slices) => slices.length === 1);
  const name = held?.metadata.name ?? '';
  await shop.change('slice', name, { metadata: { finalizers: ['test.example.com/hold'] } });
  await shop.remove('slice', name);
  const [other] = await shop.settled('web', 'another slice', (slices) => namesIn(slices).join() === 'vm-1');
  expect(other?.metadata.name).not.toBe(name);
  expect((await shop.slices('web', { leaving: true })).length).toBe(2);
  await shop.change('slice', name, { metadata: { finalizers: null } });
  await until(async () => (await shop.slices('web', { leaving: true })).length === 1, {
    what: 'the held slice to go',
  });
});

test('finalizers and annotations of others stay when a slice is written', async () => {
  await shop.service('web', web);
  await shop.workload('vm-1', { ips: ['10.9.0.1'] });
  const [slice] = await shop.settled('web', 'a slice', (slices) => slices.length === 1);
  const mine = { metadata: { annotations: { mine: 'yes' }, finalizers: ['test.example.com/hold'] } };
  await shop.change('slice', slice?.metadata.name ?? '', mine);
  await shop.workload('vm-2', { ips: ['10.9.0.2'] });
  const [next] = await shop.settled('web', 'the second', (slices) => namesIn(slices).length === 2);
  expect(next?.metadata).toMatchObject({
    annotations: { mine: 'yes' },
    finalizers: ['test.example.com/hold'],
  });
  await shop.change('slice', slice?.metadata.name ?? '', { metadata: { finalizers: null } });
});

test('invalid workloads are left out with a Warning Event; those beside them are published', async () => {
  await shop.service('web', web);
  await shop.workload('good', { ips: ['10.9.0.1'] });
  for (const [at, ip] of [
    '127.0.0.1',
    '169.254.0.1',
    '0.0.0.0',
    '224.0.0.5',
    'fe80::1',
    '10.0.0.300',
    'host',
  ].entries()) {
    await shop.workload(`bad-${at}`, { ips: [ip] });
  }
  await shop.workload('half', { ips: ['10.9.0.2', '::1'] });
  await shop.workload('last', { ips: ['10.9.0.1'] });
  const slices = await shop.settled('web', 'good and last', (all) => namesIn(all).length >= 2);
  // Two workloads with one address are two endpoints.
  expect(namesIn(slices)).toEqual(['good', 'last']);
  expect(await warningOn('bad-0')).toMatch(/127\.0\.0\.1/);
  expect(await warningOn('half')).toMatch(/"::1"/);
  await shop.change('workload', 'bad-0', { spec: { workloadIPs: [{ ip: '10.9.0.7' }] } });
  await shop.settled('web', 'the mended one', (all) => namesIn(all).includes('bad-0'));
});

test('publishNotReadyAddresses makes every endpoint ready', async () => {
  await shop.service('web', { ...web, publishNotReadyAddresses: true });
  await shop.workload('vm-1', { ips: ['10.9.0.1'], ready: false });
  const [slice] = await shop.settled('web', 'the endpoint', (slices) => namesIn(slices).length === 1);
  expect(slice?.endpoints?.[0]?.conditions).toEqual({ ready: true, serving: false, terminating: false });
});

test('300 workloads are in three slices; a change of port on all of them writes each once', async () => {
  await shop.service('web', web);
  for (let n = 0; n < 300; n += 30) {
    const ips = Array.from({ length: 30 }, (_, at) => n + at);
    await Promise.all(
      ips.map((at) => shop.workload(`vm-${at}`, { ips: [`10.9.${at >> 8}.${at & 255}`], ready: false })),
    );
  }
  const before = await shop.settled(
    'web',
    '300 endpoints',
    (slices) => namesIn(slices).length === 300,
    30_000,
  );
  expect(before.every(({ endpoints }) => (endpoints?.length ?? 0) <= 100)).toBe(true);
  await shop.change('service', 'web', {
    spec: { ports: [{ name: 'http', port: 80, targetPort: 8080, appProtocol: 'h2c' }] },
  });
  const after = await shop.settled('web', 'the new port everywhere', (slices) =>
    slices.every(({ ports }) => ports?.[0]?.appProtocol === 'h2c'),
  );
  expect(Object.keys(versionsOf(after)).sort()).toEqual(Object.keys(versionsOf(before)).sort());
  expect(after.map(({ metadata }) => metadata.generation)).toEqual(
    before.map(({ metadata }) => Number(metadata.generation) + 1),
  );
}, 60_000);

test('a Service that is deleted takes its slices along, and a namespace that is deleted leaves nothing behind', async () => {
  await shop.service('web', web);
  await shop.service('api', web);
  await shop.workload('vm-1', { ips: ['10.9.0.1'] });
  await shop.settled('web', 'a slice', (slices) => slices.length === 1);
  await shop.settled('api', 'a slice', (slices) => slices.length === 1);
  await shop.end();
  expect(
    (await cluster.kube.list({ ...events }, { namespace: shop.namespace }, signal)).items.filter(
      ({ reason }) => reason === 'EndpointSlicesStuck',
    ),
  ).toEqual([]);
});

test('a virtual machine with a probe: it fails, its endpoint is not ready; it comes back, the Service reaches it again', async () => {
  const { namespace } = shop;
  const { kube, outsideAddress: address } = cluster;
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
    await until(() => scenario.seen().up >= 1, { what: 'the machine to be ready', timeoutMs: 20_000 });
    const service = await shop.get('service', 'legacy');
    const host = (service?.spec as { clusterIP: string } | undefined)?.clusterIP;
    const said = await until(async () => (await fetch(`http://${host}/`)).text(), {
      what: 'an answer through the Service',
    });
    expect(said).toBe('vm-1\n');
    await until(() => scenario.seen().down >= 1, { what: 'the machine to be not ready', timeoutMs: 20_000 });
    const workload = (await shop.get('workload', 'vm-1')) as { status?: { conditions?: object[] } } | null;
    expect(workload?.status?.conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason: 'ProbeFailed' },
    ]);
    await until(() => scenario.seen().up >= 2, { what: 'the machine to be back', timeoutMs: 20_000 });
  } finally {
    await scenario.stop();
  }
}, 90_000);

test('the writes are counted', async () => {
  await shop.service('web', web);
  await shop.workload('vm-1', { ips: ['10.9.0.1'] });
  await shop.settled('web', 'a slice', (slices) => slices.length === 1);
  const metrics = await (await fetch(`${cluster.replicas[0]?.url}/metrics`)).text();
  expect(metrics).toMatch(/orrery_endpointslice_writes_total\{operation="create"\} [1-9]/);
  expect(managedBy).toBe('orrery-endpoints');
});
