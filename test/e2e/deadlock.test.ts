/**
 * A Service and a gate that wait for each other, played with a real nats-server, an API server, a replica
 * and a Pod: the example of docs/features/routes.md, “For which Services a gate makes sense”.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DevCluster, startDevCluster } from '../../packages/dev-cluster/cluster.ts';
import { untilReady } from '../../packages/dev-cluster/processes/replicas.ts';
import { namespaces, pods } from '../../packages/dev-cluster/resources.ts';
import { systemClock as clock } from '../../src/base/clock.ts';
import type { KubeObject } from '../../src/base/kube-port.ts';
import { silentLog as log } from '../../src/base/log.ts';
import { systemRandom as random } from '../../src/base/random.ts';
import { routeGates } from '../../src/features/routes/resources.ts';
import { events, services } from '../../src/kube/api/resources.ts';
import { program } from '../suite/program.ts';
import { until } from '../until.ts';

const { signal } = new AbortController();
const namespace = 'stuck';
const conditionType = 'orrery.dev/routes-verified';
const labels = { 'app.kubernetes.io/name': 'web' };

let cluster: DevCluster;
const dir = mkdtempSync(join(tmpdir(), 'orrery-deadlock-'));
beforeAll(async () => {
  const http = { host: '127.0.0.1', port: 0 };
  const basics = { clock, random, log };
  cluster = await startDevCluster(
    { ...basics, dir, program, replicas: 1, http, restarts: false, print: () => {} },
    signal,
  );
  for (const replica of cluster.replicas) await untilReady(replica, clock, signal);
}, 120_000);
afterAll(async () => {
  await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
});

const gate: KubeObject = {
  metadata: { name: 'web', namespace },
  spec: {
    conditionType,
    podSelector: { matchLabels: labels },
    group: { podLabel: 'app.kubernetes.io/name', serviceLabel: 'app.kubernetes.io/name' },
    serviceSelector: { matchLabels: labels },
    probe: { portName: 'health', path: '/healthz', address: 'clusterIP' },
  },
};
/** It publishes Ready Pods alone. */
const service: KubeObject = {
  metadata: { name: 'web', namespace, labels },
  spec: { selector: labels, ports: [{ name: 'health', port: 80, targetPort: 'health' }] },
};
const pod: KubeObject = {
  metadata: { name: 'web-0', namespace, labels },
  spec: {
    readinessGates: [{ conditionType }],
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'web', image: 'none', ports: [{ name: 'health', containerPort: 9002 }] }],
  },
};

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}
const conditionOf = ({ status }: KubeObject, type: string) =>
  (status as { conditions?: readonly Condition[] } | undefined)?.conditions?.find((one) => one.type === type);
const onGate = async (type: string) =>
  conditionOf(await cluster.kube.get(routeGates, namespace, 'web', signal), type);
const onPod = async () =>
  conditionOf(await cluster.kube.get(pods, namespace, 'web-0', signal), conditionType);
const seen = <T>(what: string, look: () => Promise<T | null | undefined>) =>
  until(async () => (await look()) ?? null, { what, timeoutMs: 60_000 });

test('is told on the gate, on the Pod and in an Event; the change that is told there ends it', {
  timeout: 180_000,
}, async () => {
  const { kube } = cluster;
  await kube.create(namespaces, { metadata: { name: namespace } }, signal);
  for (const [resource, object] of [
    [routeGates, gate],
    [services, service],
    [pods, pod],
  ] as const)
    await kube.create(resource, object, signal);

  const verifying = await seen('the gate to tell of the deadlock', async () => {
    const condition = await onGate('Verifying');
    return condition?.reason === 'Deadlock' ? condition : null;
  });
  expect(verifying).toMatchObject({ status: 'False' });
  expect(verifying.message).toMatch(/^web: .*set publishNotReadyAddresses: true/);
  const held = await seen('the Pod to say what it waits for', async () => {
    const condition = await onPod();
    return condition?.reason === 'WaitingForRoutes' ? condition : null;
  });
  expect(held).toMatchObject({ status: 'False', message: expect.stringContaining('web (') });
  await seen('a Warning on the gate', async () => {
    const { items } = await kube.list(events, { namespace }, signal);
    return items.find((one) => one.type === 'Warning' && one.reason === 'Deadlock');
  });

  const body = { spec: { publishNotReadyAddresses: true } };
  await kube.patch(services, { namespace, name: 'web', type: 'merge', body }, signal);
  await seen('the Pod to be let go', async () => {
    const condition = await onPod();
    return condition?.status === 'True' && condition.reason === 'RoutesVerified' ? condition : null;
  });
  await seen('the gate to be content', async () => {
    const condition = await onGate('Verifying');
    return condition?.status === 'True' ? condition : null;
  });
});
