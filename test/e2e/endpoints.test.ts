/**
 * EndpointSlices for workloads outside the cluster, whole path: an API server, a nats-server, a replica as
 * its own process. What slices say.
 *
 * With KUBECONFIG set the same runs against that API server.
 */
import { expect, test } from 'vitest';
import { triggerTimeAnnotation } from '../../src/features/endpoints/slice-labels.ts';
import { namesIn, type SliceObject } from './outside.ts';
import { stage } from './outside-stage.ts';

const on = stage();
const web = { selector: { app: 'vm' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }] };

test('a slice lists the workloads that the selector matches, with everything that the API defines for them', async () => {
  await on.shop.workload('vm-1', {
    ips: ['10.9.0.1'],
    labels: { app: 'vm', 'topology.kubernetes.io/zone': 'north' },
  });
  await on.shop.workload('vm-2', { ips: ['10.9.0.2'], ready: false });
  await on.shop.workload('other', { ips: ['10.9.0.3'], labels: { app: 'else' } });
  const service = await on.shop.service(
    'web',
    { ...web, ports: [{ ...web.ports[0], appProtocol: 'http' }] },
    { team: 'a' },
  );
  const [slice] = await on.shop.settled('web', 'both workloads', (slices) => namesIn(slices).length === 2);
  const vm1 = await on.shop.get('workload', 'vm-1');
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
    targetRef: {
      kind: 'ExternalWorkload',
      namespace: on.shop.namespace,
      name: 'vm-1',
      uid: vm1?.metadata.uid,
    },
    zone: 'north',
  });
  expect(slice?.endpoints?.[1]?.conditions).toEqual({ ready: false, serving: false, terminating: false });
});

test('readiness, labels and deletion of a workload are followed; what does not show is no work', async () => {
  await on.shop.service('web', web);
  await on.shop.workload('vm-1', { ips: ['10.9.0.1'] });
  await on.shop.workload('vm-2', { ips: ['10.9.0.2'] });
  const isReady = (name: string, ready: boolean) => (slices: readonly SliceObject[]) =>
    slices.some(({ endpoints }) =>
      endpoints?.some((one) => one.targetRef.name === name && one.conditions.ready === ready),
    );
  await on.shop.settled(
    'web',
    'both',
    (slices) => isReady('vm-1', true)(slices) && isReady('vm-2', true)(slices),
  );
  const at = new Date(Date.UTC(2026, 4, 5, 6, 7, 8));
  await on.shop.setReady('vm-1', false, at);
  const [flipped] = await on.shop.settled('web', 'vm-1 not ready', isReady('vm-1', false));
  expect(flipped?.metadata.annotations?.[triggerTimeAnnotation]).toBe('2026-05-05T06:07:08Z');
  await on.shop.change('workload', 'vm-2', {
    metadata: { labels: { unrelated: 'yes' }, annotations: { note: 'x' } },
  });
  await on.shop.change('workload', 'vm-1', {
    metadata: { labels: { 'topology.kubernetes.io/zone': 'south' } },
  });
  const moved = await on.shop.settled(
    'web',
    'the zone',
    ([slice]) => slice?.endpoints?.some(({ zone }) => zone === 'south') === true,
  );
  // One write, and nothing for the label that does not show.
  expect(Number(moved[0]?.metadata.generation)).toBe(Number(flipped?.metadata.generation) + 1);
  await on.shop.change('workload', 'vm-2', { metadata: { labels: { app: 'else' } } });
  await on.shop.settled('web', 'vm-2 gone', (slices) => namesIn(slices).join() === 'vm-1');
  await on.shop.change('workload', 'vm-2', { metadata: { labels: { app: 'vm' } } });
  await on.shop.settled('web', 'vm-2 back', (slices) => namesIn(slices).join() === 'vm-1,vm-2');
  await on.shop.remove('workload', 'vm-1');
  await on.shop.settled('web', 'vm-1 deleted', (slices) => namesIn(slices).join() === 'vm-2');
  await on.shop.remove('workload', 'vm-2');
  await on.shop.settled('web', 'no slice', (slices) => slices.length === 0);
});

test('a workload that waits for its deletion is terminating and not ready', async () => {
  await on.shop.service('web', web);
  await on.shop.workload('vm-1', { ips: ['10.9.0.1'] });
  await on.shop.settled('web', 'vm-1', (slices) => namesIn(slices).length === 1);
  await on.shop.change('workload', 'vm-1', { metadata: { finalizers: ['test.example.com/hold'] } });
  await on.shop.remove('workload', 'vm-1');
  const [slice] = await on.shop.settled(
    'web',
    'terminating',
    ([one]) => one?.endpoints?.[0]?.conditions.terminating === true,
  );
  expect(slice?.endpoints?.[0]?.conditions).toEqual({ ready: false, serving: true, terminating: true });
  await on.shop.change('workload', 'vm-1', { metadata: { finalizers: null } });
  await on.shop.settled('web', 'no slice', (slices) => slices.length === 0);
});

test('labels of the Service are followed: additions, changes and removals; reserved ones are not lent', async () => {
  await on.shop.service('web', web, { team: 'a', old: 'yes', 'kubernetes.io/service-name': 'liar' });
  await on.shop.workload('vm-1', { ips: ['10.9.0.1'] });
  const [first] = await on.shop.settled('web', 'a slice', (slices) => slices.length === 1);
  expect(first?.metadata.labels).toMatchObject({
    team: 'a',
    old: 'yes',
    'kubernetes.io/service-name': 'web',
  });
  await on.shop.change('service', 'web', { metadata: { labels: { team: 'b', old: null, more: 'x' } } });
  const [next] = await on.shop.settled(
    'web',
    'new labels',
    ([slice]) => slice?.metadata.labels?.team === 'b',
  );
  expect(next?.metadata.labels).toEqual({
    team: 'b',
    more: 'x',
    'kubernetes.io/service-name': 'web',
    'endpointslice.kubernetes.io/managed-by': 'orrery-endpoints',
  });
});

test('ports by name and by number; workloads with other ports are in slices of their own, those without any in one without ports', async () => {
  await on.shop.service('web', {
    selector: { app: 'vm' },
    ports: [
      { name: 'named', port: 80, targetPort: 'http' },
      { name: 'numbered', port: 81, targetPort: 9000 },
      { name: 'datagrams', port: 82, targetPort: 9000, protocol: 'UDP' },
    ],
  });
  await on.shop.workload('both', {
    ips: ['10.9.0.1'],
    ports: [{ name: 'http', port: 8080 }, { port: 9000 }],
  });
  await on.shop.workload('named', { ips: ['10.9.0.2'], ports: [{ name: 'http', port: 8081 }] });
  await on.shop.workload('udp', { ips: ['10.9.0.3'], ports: [{ port: 9000, protocol: 'UDP' }] });
  await on.shop.workload('none', { ips: ['10.9.0.4'], ports: [{ name: 'else', port: 1 }] });
  const slices = await on.shop.settled(
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
  await on.shop.service('web', { selector: { app: 'vm' }, ports: [{ port: 80, targetPort: 8080 }] });
  await on.shop.workload('vm-1', { ips: ['10.9.0.1'] });
  const before = await on.shop.settled(
    'web',
    'a ready endpoint',
    ([slice]) => slice?.endpoints?.[0]?.conditions.ready === true,
  );
  expect(before[0]?.ports).toEqual([{ name: '', protocol: 'TCP', port: 8080 }]);
  for (let n = 0; n < 20; n++) {
    await on.shop.change('workload', 'vm-1', { metadata: { annotations: { touched: `${n}` } } });
    await on.shop.change('service', 'web', { metadata: { annotations: { touched: `${n}` } } });
  }
  // What comes after them is seen after them.
  await on.shop.workload('vm-2', { ips: ['10.9.0.2'], ready: false });
  const after = await on.shop.settled('web', 'the second', (slices) => namesIn(slices).length === 2);
  expect(Number(after[0]?.metadata.generation)).toBe(Number(before[0]?.metadata.generation) + 1);
});

test('a headless Service: label, hostnames where the name is a DNS label, and a Warning Event where it is not', async () => {
  await on.shop.service('db', { selector: { app: 'vm' }, clusterIP: 'None' });
  await on.shop.workload('vm-1', { ips: ['10.9.0.1'] });
  await on.shop.workload('vm.with.dots', { ips: ['10.9.0.2'] });
  const slices = await on.shop.settled('db', 'both', (all) => namesIn(all).length === 2);
  expect(slices[0]?.metadata.labels).toHaveProperty('service.kubernetes.io/headless', '');
  const hostnames = slices.flatMap(({ endpoints }) =>
    endpoints?.map(({ targetRef, hostname }) => [targetRef.name, hostname]),
  );
  expect(Object.fromEntries(hostnames as Array<[string, string]>)).toEqual({
    'vm-1': 'vm-1',
    'vm.with.dots': undefined,
  });
  expect(slices.flatMap(({ ports }) => ports ?? [])).toEqual([]);
  expect(await on.warningOn('vm.with.dots')).toMatch(/not a DNS label/);
});

test('ExternalName, a removed selector: slices of ours go, and come back', async () => {
  await on.shop.service('web', web);
  await on.shop.workload('vm-1', { ips: ['10.9.0.1'] });
  await on.shop.settled('web', 'a slice', (slices) => slices.length === 1);
  await on.shop.change('service', 'web', { spec: { selector: null } });
  await on.shop.settled('web', 'no slice without a selector', (slices) => slices.length === 0);
  await on.shop.change('service', 'web', { spec: { selector: { app: 'vm' } } });
  await on.shop.settled('web', 'a slice again', (slices) => namesIn(slices).join() === 'vm-1');
  await on.shop.change('service', 'web', {
    spec: {
      type: 'ExternalName',
      externalName: 'example.com',
      clusterIP: null,
      clusterIPs: null,
      ipFamilies: null,
      ipFamilyPolicy: null,
    },
  });
  await on.shop.settled('web', 'no slice of an ExternalName', (slices) => slices.length === 0);
  await on.shop.change('service', 'web', { spec: { type: 'ClusterIP', externalName: null } });
  await on.shop.settled('web', 'a slice of the Service again', (slices) => namesIn(slices).join() === 'vm-1');
});

test('both families and back: addresses in canonical form, one set of slices for each', async () => {
  await on.shop.service('web', {
    ...web,
    clusterIP: 'None',
    ipFamilyPolicy: 'RequireDualStack',
    ipFamilies: ['IPv4', 'IPv6'],
  });
  await on.shop.workload('vm-1', { ips: ['10.9.0.1', 'FD00:0:0::0001'] });
  await on.shop.workload('vm-2', { ips: ['10.9.0.2', '10.9.0.3'] });
  const both = await on.shop.settled('web', 'three endpoints', (slices) => namesIn(slices).length === 3);
  const addresses = both.flatMap(
    ({ addressType, endpoints }) => endpoints?.map((one) => [addressType, one.addresses.join()]) ?? [],
  );
  expect(addresses.sort()).toEqual([
    ['IPv4', '10.9.0.1'],
    ['IPv4', '10.9.0.2,10.9.0.3'],
    ['IPv6', 'fd00::1'],
  ]);
  await on.shop.change('service', 'web', { spec: { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4'] } });
  await on.shop.settled(
    'web',
    'IPv4 alone',
    (slices) => slices.every(({ addressType }) => addressType === 'IPv4') && namesIn(slices).length === 2,
  );
});

test('publishNotReadyAddresses makes every endpoint ready', async () => {
  await on.shop.service('web', { ...web, publishNotReadyAddresses: true });
  await on.shop.workload('vm-1', { ips: ['10.9.0.1'], ready: false });
  const [slice] = await on.shop.settled('web', 'the endpoint', (slices) => namesIn(slices).length === 1);
  expect(slice?.endpoints?.[0]?.conditions).toEqual({ ready: true, serving: false, terminating: false });
});
