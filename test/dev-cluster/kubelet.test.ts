/** The kubelet stand-in against an API server, with real sockets. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { conditionOf, isTrue, type PodObject } from '../../packages/dev-cluster/objects.ts';
import { nodes, pods } from '../../packages/dev-cluster/resources.ts';
import { socketAddress } from '../../packages/kube-api/socket-addresses.ts';
import { until } from '../until.ts';
import { container, type DevBench, gate, startBench } from './dev-parts.ts';
import { ask, knock } from './http.ts';

let bench: DevBench;
beforeEach(async () => {
  bench = await startBench();
});
afterEach(() => bench.stop());

const has = (name: string, type: string) =>
  until(
    async () => (await bench.pod(name).then((pod) => pod !== undefined && isTrue(pod, type) && pod)) || null,
    {
      what: `${name} ${type}`,
    },
  );
const healthz = (pod: PodObject) => `http://${socketAddress(pod.status?.podIP ?? '')}:9002/healthz`;
const change = (name: string, annotations: Record<string, string>) =>
  bench.kube.patch(
    pods,
    { namespace: bench.namespace, name, type: 'merge', body: { metadata: { annotations } } },
    bench.signal,
  );
const remove = (name: string, gracePeriodSeconds?: number) => {
  const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
  return bench.kube.delete(pods, bench.namespace, name, options, bench.signal);
};
const gone = (name: string) =>
  until(async () => (await bench.pod(name)) === undefined, { what: `${name} gone` });

test('the Node is registered and Ready', async () => {
  await bench.startKubelet();
  const node: PodObject = await bench.kube.get(nodes, undefined, bench.namespace, bench.signal);
  expect(isTrue(node, 'Ready')).toBe(true);
});

test('a Pod without a node is placed, runs on an address of its own, and says so in its status', async () => {
  await bench.startKubelet();
  await bench.createPod('a');
  await bench.createPod('b');
  const [a, b] = await Promise.all([has('a', 'Ready'), has('b', 'Ready')]);
  expect(a.spec?.nodeName).toBe(bench.namespace);
  expect(a.status?.phase).toBe('Running');
  expect(a.status?.podIPs).toEqual([{ ip: a.status?.podIP }]);
  expect(a.status?.podIP).not.toBe(b.status?.podIP);
  const types = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'];
  expect(types.map((type) => conditionOf(a, type)?.status)).toEqual(['True', 'True', 'True', 'True']);
  expect(a.status?.containerStatuses).toMatchObject([{ name: 'web', ready: true, started: true }]);
});

test('a cordoned Node takes no Pod but one that tolerates it, until it is uncordoned', async () => {
  await bench.startKubelet();
  const cordon = (unschedulable: true | null) =>
    bench.kube.patch(
      nodes,
      { name: bench.namespace, type: 'merge', body: { spec: { unschedulable } } },
      bench.signal,
    );
  await cordon(true);
  const tolerations = [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }];
  await bench.createPod('a');
  await bench.createPod('b', { spec: { containers: [container], tolerations } });
  await has('b', 'Ready');
  expect((await bench.pod('a'))?.spec?.nodeName).toBeUndefined();
  await cordon(null);
  await has('a', 'Ready');
});

test('the backend names the Pod’s advertised address in the header, and itself elsewhere', async () => {
  await bench.startKubelet();
  await bench.createPod('a');
  const pod = await has('a', 'Ready');
  const health = await ask(healthz(pod));
  expect([health.status, health.headers['pod-ipv4']]).toEqual([200, pod.status?.podIP]);
  expect((await ask(`http://${socketAddress(pod.status?.podIP ?? '')}:8080/`)).body.trim()).toBe('a');
});

describe('readiness gates', () => {
  const gated = { spec: { containers: [container], readinessGates: [{ conditionType: gate }] } };

  test('a Pod whose gate has no condition is not Ready, though its containers are', async () => {
    await bench.startKubelet();
    await bench.createPod('a', gated);
    const pod = await has('a', 'ContainersReady');
    expect(conditionOf(pod, 'Ready')).toMatchObject({ status: 'False', reason: 'ReadinessGatesNotReady' });
    expect((await ask(healthz(pod))).status).toBe(200);
  });

  test('a Pod is Ready once its gate is True, and the gate’s condition stays as it was written', async () => {
    await bench.startKubelet();
    await bench.createPod('a', gated);
    await has('a', 'ContainersReady');
    await bench.openGate('a');
    const pod = await has('a', 'Ready');
    expect(conditionOf(pod, gate)).toMatchObject({ status: 'True', reason: 'RoutesVerified' });
  });

  test('a Pod whose gate is withdrawn is Ready no more', async () => {
    await bench.startKubelet();
    await bench.createPod('a', gated);
    await has('a', 'ContainersReady');
    await bench.openGate('a');
    await has('a', 'Ready');
    const body = { status: { conditions: [{ type: gate, status: 'False' }] } };
    const patch = {
      namespace: bench.namespace,
      name: 'a',
      subresource: 'status',
      type: 'strategic',
      body,
    } as const;
    await bench.kube.patch(pods, patch, bench.signal);
    await until(
      async () =>
        conditionOf((await bench.pod('a')) ?? { metadata: { name: '' } }, 'Ready')?.status === 'False',
      {
        what: 'not Ready',
      },
    );
  });
});

describe('annotations', () => {
  test.each([
    ['unhealthy', 503, true],
    ['no-header', 200, false],
    ['absent', 404, false],
  ])('health %s answers %i', async (health, status, hasHeader) => {
    await bench.startKubelet();
    await bench.createPod('a', { annotations: { 'dev.orrery.dev/health': health } });
    const answer = await ask(healthz(await has('a', 'Ready')));
    expect([answer.status, answer.headers['pod-ipv4'] !== undefined]).toEqual([status, hasHeader]);
  });

  test('health silent never answers, health reset resets, and a change shows at once', async () => {
    await bench.startKubelet();
    await bench.createPod('a', { annotations: { 'dev.orrery.dev/health': 'reset' } });
    const pod = await has('a', 'Ready');
    await expect(ask(healthz(pod))).rejects.toMatchObject({ code: 'ECONNRESET' });
    await change('a', { 'dev.orrery.dev/health': 'silent' });
    await until(
      () =>
        ask(healthz(pod), 200).then(
          () => false,
          (error) => error.message === 'no answer',
        ),
      {
        what: 'silence',
      },
    );
    await change('a', { 'dev.orrery.dev/health': 'ok' });
    await until(async () => (await ask(healthz(pod), 200)).status === 200, { what: 'an answer again' });
  });

  test('a Pod with TS_ENABLE_HEALTH_CHECK other than "true" has no health endpoint', async () => {
    await bench.startKubelet();
    const env = [{ name: 'TS_ENABLE_HEALTH_CHECK', value: 'false' }];
    await bench.createPod('a', { spec: { containers: [{ ...container, env }] } });
    expect((await ask(healthz(await has('a', 'Ready')))).status).toBe(404);
  });

  test('not-ready keeps the containers, and the Pod, from being ready while it is served', async () => {
    await bench.startKubelet();
    await bench.createPod('a', { annotations: { 'dev.orrery.dev/not-ready': 'true' } });
    await has('a', 'PodScheduled');
    const pod = await until(
      async () => {
        const held = await bench.pod('a');
        return held?.status?.phase === 'Running' ? held : null;
      },
      { what: 'running' },
    );
    expect(conditionOf(pod, 'ContainersReady')?.status).toBe('False');
    await change('a', { 'dev.orrery.dev/not-ready': 'false' });
    await has('a', 'Ready');
  });
});

describe('the end of a Pod', () => {
  test('a deleted Pod goes on serving while it drains, and leaves the API only when nothing listens', async () => {
    await bench.startKubelet();
    await bench.createPod('a', { annotations: { 'dev.orrery.dev/drain': '500ms' } });
    const pod = await has('a', 'Ready');
    await remove('a');
    await until(async () => (await bench.pod('a'))?.metadata.deletionTimestamp !== undefined, {
      what: 'deleting',
    });
    expect((await ask(healthz(pod))).status).toBe(200);
    await gone('a');
    expect(await knock(socketAddress(pod.status?.podIP ?? ''), 9002)).toBe('ECONNREFUSED');
  });

  test('a Pod deleted without grace ends at once', async () => {
    await bench.startKubelet();
    await bench.createPod('a', { annotations: { 'dev.orrery.dev/drain': '1m' } });
    const pod = await has('a', 'Ready');
    await remove('a', 0);
    await until(async () => (await knock(socketAddress(pod.status?.podIP ?? ''), 9002)) === 'ECONNREFUSED', {
      what: 'refused',
      timeoutMs: 2_000,
    });
  });

  test('a Pod that was made again under its name gets another address', async () => {
    await bench.startKubelet({ drainMs: 0 });
    await bench.createPod('a');
    const first = await has('a', 'Ready');
    await remove('a');
    await gone('a');
    await bench.createPod('a');
    expect((await has('a', 'Ready')).status?.podIP).not.toBe(first.status?.podIP);
  });
});

describe('a kubelet that starts again', () => {
  test('adopts its Pods with their addresses, and gives none of these to a new Pod', async () => {
    const first = await bench.startKubelet();
    await bench.createPod('a');
    await bench.createPod('b');
    const before = await Promise.all([has('a', 'Ready'), has('b', 'Ready')]);
    await first.stop();
    await bench.createPod('0-new');
    const second = await bench.startKubelet();
    const added = await has('0-new', 'Ready');
    await until(() => second.running().size === 3, { what: 'three Pods run' });
    for (const pod of before) {
      expect(second.running().get(`${bench.namespace}/${pod.metadata.name}`)).toBe(pod.status?.podIP);
      await until(async () => (await ask(healthz(pod))).headers['pod-ipv4'] === pod.status?.podIP, {
        what: 'served again',
      });
      expect(added.status?.podIP).not.toBe(pod.status?.podIP);
    }
  });

  test('after stop nothing of its Pods listens, and the Node is Ready no more', async () => {
    const kubelet = await bench.startKubelet();
    await bench.createPod('a');
    const pod = await has('a', 'Ready');
    await kubelet.stop();
    expect(await knock(socketAddress(pod.status?.podIP ?? ''), 8080)).toBe('ECONNREFUSED');
    const node: PodObject = await bench.kube.get(nodes, undefined, bench.namespace, bench.signal);
    expect(conditionOf(node, 'Ready')?.status).toBe('Unknown');
  });
});
