/** The service routing stand-in against an API server, with real sockets. */
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RoutingEvent } from '../../packages/dev-cluster/network/routing.ts';
import {
  type EndpointSliceObject,
  isTrue,
  type PodObject,
  type ServiceObject,
} from '../../packages/dev-cluster/objects.ts';
import { pods } from '../../packages/dev-cluster/resources.ts';
import { endpointSlices, services } from '../../src/kube/api/resources.ts';
import { until } from '../until.ts';
import { container, type DevBench, gate, startBench } from './dev-parts.ts';
import { ask, knock } from './http.ts';

let bench: DevBench;
beforeEach(async () => {
  bench = await startBench();
  await bench.startControllers();
});
afterEach(() => bench.stop());

const ready = (name: string): Promise<PodObject> =>
  until(async () => bench.pod(name).then((pod) => (pod !== undefined && isTrue(pod, 'Ready') ? pod : null)), {
    what: `${name} Ready`,
  });
const hostOf = (service: ServiceObject) => service.spec?.clusterIP ?? '';
const url = (service: ServiceObject) => `http://${hostOf(service)}:8080/`;
const answers = async (service: ServiceObject, count: number) => {
  const bodies = await Promise.all(Array.from({ length: count }, () => ask(url(service))));
  return new Set(bodies.map((answer) => answer.body.trim()));
};
const reachable = (service: ServiceObject) =>
  until(async () => (await knock(hostOf(service), 8080)) === 'open', { what: 'the Service is reachable' });
const remove = (name: string) => bench.kube.delete(pods, bench.namespace, name, {}, bench.signal);

test('a Service answers on its cluster IP, by each of its ready Pods', async () => {
  await bench.startKubelet();
  await bench.startRouting();
  const service = await bench.createService('web');
  for (const name of ['a', 'b', 'c']) await bench.createPod(name);
  await until(async () => (await answers(service, 20)).size === 3, { what: 'three Pods answer' });
});

test('a Service without a ready Pod refuses connections', async () => {
  await bench.startKubelet();
  const routing = await bench.startRouting();
  const service = await bench.createService('web');
  await bench.createPod('a', {
    spec: { containers: [container], readinessGates: [{ conditionType: gate }] },
  });
  await until(async () => isTrue((await bench.pod('a')) ?? { metadata: { name: '' } }, 'ContainersReady'), {
    what: 'containers ready',
  });
  expect(await knock(hostOf(service), 8080)).toBe('ECONNREFUSED');
  expect(routing.listening()).toEqual([]);
});

describe('the delay', () => {
  const delay = 700;

  test('the routing leads to a new Pod no sooner than its delay after the slice named it, and says when', async () => {
    await bench.startKubelet();
    const events: RoutingEvent[] = [];
    const routing = await bench.startRouting({ addDelay: { minMs: delay, maxMs: delay } });
    routing.onEvent((event) => events.push(event));
    const service = await bench.createService('web');
    await bench.createPod('a');
    const pod = await ready('a');
    const readyAt = Date.parse(
      String(pod.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime),
    );
    expect(await knock(hostOf(service), 8080)).toBe('ECONNREFUSED');
    await reachable(service);
    expect(events).toMatchObject([{ type: 'programmed', service: 'web', address: pod.status?.podIP }]);
    // The API keeps whole seconds.
    expect((events[0]?.at ?? 0) - readyAt).toBeGreaterThanOrEqual(delay);
    expect(routing.reachableSince(bench.namespace, 'web', pod.status?.podIP ?? '')).toBe(events[0]?.at);
  });

  test('the annotation of a Service goes before the default', async () => {
    await bench.startKubelet();
    await bench.startRouting({ addDelay: { minMs: 60_000, maxMs: 60_000 } });
    const service = await bench.createService('web', {
      annotations: { 'dev.orrery.dev/routing-delay': '1ms-20ms' },
    });
    await bench.createPod('a');
    await reachable(service);
  });

  test('connections still reach a Pod that is being deleted until the routing knows, and then no more', async () => {
    await bench.startKubelet({ drainMs: 4_000 });
    await bench.startRouting({ removeDelay: { minMs: delay, maxMs: delay } });
    const service = await bench.createService('web');
    for (const name of ['a', 'b']) await bench.createPod(name);
    await until(async () => (await answers(service, 20)).size === 2, { what: 'both answer' });
    await remove('a');
    await until(async () => (await bench.pod('a'))?.metadata.deletionTimestamp !== undefined, {
      what: 'deleting',
    });
    expect(await answers(service, 20)).toEqual(new Set(['a', 'b']));
    await until(async () => (await answers(service, 20)).size === 1, { what: 'one of them alone' });
    expect(await bench.pod('a')).toBeDefined();
  });

  test('what was there before the routing started is known at once', async () => {
    await bench.startKubelet();
    const service = await bench.createService('web');
    await bench.createPod('a');
    await ready('a');
    const isListed = async () => {
      const { items } = await bench.kube.list(endpointSlices, { namespace: bench.namespace }, bench.signal);
      return items.some((slice: EndpointSliceObject) => slice.endpoints?.[0]?.conditions?.ready === true);
    };
    await until(isListed, { what: 'a slice that names the Pod' });
    await bench.startRouting({ addDelay: { minMs: 60_000, maxMs: 60_000 } });
    await reachable(service);
  });
});

test('an established connection survives the removal of its endpoint', async () => {
  await bench.startKubelet({ drainMs: 5_000 });
  await bench.startRouting();
  const service = await bench.createService('web');
  for (const name of ['a', 'b']) await bench.createPod(name);
  await until(async () => (await answers(service, 20)).size === 2, { what: 'both answer' });
  const socket = connect({ host: hostOf(service), port: 8080 });
  const name = await say(socket);
  await remove(name);
  await until(async () => !(await answers(service, 20)).has(name), { what: 'new ones go elsewhere' });
  expect(await say(socket)).toBe(name);
  socket.destroy();
});

test('while no Pod is ready, one that is being deleted but serves is used', async () => {
  await bench.startKubelet({ drainMs: 2_000 });
  await bench.startRouting();
  const service = await bench.createService('web');
  await bench.createPod('a');
  await reachable(service);
  await remove('a');
  await until(async () => (await bench.pod('a'))?.metadata.deletionTimestamp !== undefined, {
    what: 'deleting',
  });
  expect(await answers(service, 5)).toEqual(new Set(['a']));
  await until(async () => (await knock(hostOf(service), 8080)) === 'ECONNREFUSED', {
    what: 'refused in the end',
  });
});

test('a Service with publish: containers-ready leads to a Pod whose gate is not open yet, until it is deleted', async () => {
  await bench.startKubelet({ drainMs: 4_000 });
  await bench.startRouting();
  const service = await bench.createService('web', {
    annotations: { 'dev.orrery.dev/publish': 'containers-ready' },
  });
  const spec = { containers: [container], readinessGates: [{ conditionType: gate }] };
  for (const name of ['a', 'b']) await bench.createPod(name, { spec });
  await until(async () => (await answers(service, 20)).size === 2, { what: 'both answer' });
  expect((await bench.pods()).some((pod) => isTrue(pod, 'Ready'))).toBe(false);
  await remove('a');
  await until(async () => (await answers(service, 20)).size === 1, { what: 'one of them alone' });
  expect(await bench.pod('a')).toBeDefined();
});

test('slices that somebody else wrote are routed as well', async () => {
  await bench.startKubelet();
  await bench.startRouting();
  await bench.createPod('a', { labels: { app: 'other' } });
  const pod = await ready('a');
  const service = await bench.createService('web');
  const slice = {
    metadata: {
      name: 'by-hand',
      namespace: bench.namespace,
      labels: { 'kubernetes.io/service-name': 'web', 'endpointslice.kubernetes.io/managed-by': 'somebody' },
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: [{ addresses: [pod.status?.podIP ?? ''], conditions: { ready: true } }],
  };
  await bench.kube.create(endpointSlices, slice, bench.signal);
  await reachable(service);
  expect(await answers(service, 2)).toEqual(new Set(['a']));
});

test('nothing listens for a Service that was deleted, or after stop', async () => {
  await bench.startKubelet();
  const routing = await bench.startRouting();
  const kept = await bench.createService('kept');
  const dropped = await bench.createService('dropped');
  await bench.createPod('a');
  await reachable(kept);
  await reachable(dropped);
  await bench.kube.delete(services, bench.namespace, 'dropped', {}, bench.signal);
  await until(async () => (await knock(hostOf(dropped), 8080)) === 'ECONNREFUSED', { what: 'dropped' });
  const addresses = routing.listening();
  expect(addresses).toHaveLength(2);
  await routing.stop();
  for (const address of addresses) {
    const [host = '', port] = address.split(':');
    expect(await knock(host, Number(port))).toBe('ECONNREFUSED');
  }
});

/** One request over a connection that stays open; resolves with the name of the Pod that answered. */
function say(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const take = (data: Buffer) => {
      text += data.toString();
      const name = /\r\n([a-z]+)\n/.exec(text)?.[1];
      if (name === undefined) return;
      socket.off('data', take);
      resolve(name);
    };
    socket.once('error', reject);
    socket.on('data', take);
    socket.write('GET / HTTP/1.1\r\nHost: shop\r\n\r\n');
  });
}
