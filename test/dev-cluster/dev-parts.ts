/**
 * For the tests of the development cluster: an API server, a namespace for the test, and the moving parts on
 * it.
 *
 * With ORRERY_TEST_KUBECONFIG the tests run against that API server (a real one, whose cluster IPs are
 * loopback addresses) instead of the development one.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEndpoints } from '../../packages/dev-cluster/controllers/endpoints.ts';
import { startWorkloads } from '../../packages/dev-cluster/controllers/workloads.ts';
import { Routing, type RoutingParts } from '../../packages/dev-cluster/network/routing.ts';
import { Kubelet } from '../../packages/dev-cluster/nodes/kubelet.ts';
import type { PodObject, PodSpec, ServiceObject } from '../../packages/dev-cluster/objects.ts';
import type { DevPart, DevParts } from '../../packages/dev-cluster/parts.ts';
import { namespaces, pods } from '../../packages/dev-cluster/resources.ts';
import { claimRange } from '../../packages/kube-api/socket-addresses.ts';
import { systemClock } from '../../src/base/clock.ts';
import { hasCode } from '../../src/base/errors.ts';
import type { KubeObject, KubePort } from '../../src/base/kube-port.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { connectKube } from '../../src/kube/api/kube-connection.ts';
import { services } from '../../src/kube/api/resources.ts';

export const gate = 'orrery.dev/routes-verified';

export interface DevBench {
  readonly kube: KubePort;
  readonly namespace: string;
  readonly podCidr: string;
  readonly parts: DevParts & { readonly namespace: string };
  readonly signal: AbortSignal;
  /** Stops the part at the end of the bench, unless it was stopped before. */
  keep<T extends DevPart>(part: T): T;
  startKubelet(options?: { startDelayMs?: number; drainMs?: number }): Promise<Kubelet>;
  startRouting(options?: Pick<RoutingParts, 'addDelay' | 'removeDelay'>): Promise<Routing>;
  startControllers(): Promise<void>;
  createPod(name: string, extra?: PodExtra): Promise<PodObject>;
  pod(name: string): Promise<PodObject | undefined>;
  pods(): Promise<PodObject[]>;
  createService(name: string, extra?: Partial<KubeObject['metadata']>): Promise<ServiceObject>;
  /** Sets the gate's condition, as Orrery does. */
  openGate(name: string): Promise<void>;
  stop(): Promise<void>;
}

export interface PodExtra {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: PodSpec;
}

const random = systemRandom;
const clock = systemClock;

async function findPod(kube: KubePort, namespace: string, name: string, signal: AbortSignal) {
  try {
    return await kube.get(pods, namespace, name, signal);
  } catch (thrown) {
    if (hasCode(thrown, 'KUBE_NOT_FOUND')) return undefined;
    throw thrown;
  }
}

export async function startBench(): Promise<DevBench> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const range = await claimRange();
  const api = await provideApi(range.serviceCidr);
  const kube = connectKube({ kubeconfig: api.kubeconfig, clock, random });
  const namespace = `t-${random
    .id()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')}`;
  await kube.create(namespaces, { metadata: { name: namespace } }, signal);
  const parts = { kube, clock, random, log: silentLog, namespace };
  const podCidr = api.isReal ? range.podCidr.replace('127', '10') : range.podCidr;
  const kept: DevPart[] = [];
  const keep = <T extends DevPart>(part: T): T => {
    kept.push(part);
    return part;
  };
  return {
    kube,
    namespace,
    podCidr,
    parts,
    signal,
    keep,
    pod: (name) => findPod(kube, namespace, name, signal),
    async startKubelet(options = {}) {
      const kubelet = keep(new Kubelet({ ...parts, nodeName: namespace, podCidr, ...options }));
      await kubelet.started;
      return kubelet;
    },
    async startRouting(options = {}) {
      const routing = keep(new Routing({ ...parts, podCidr, ...options }));
      await routing.started;
      return routing;
    },
    async startControllers() {
      await Promise.all([keep(startWorkloads(parts)).started, keep(startEndpoints(parts)).started]);
    },
    createPod: (name, extra) => kube.create(pods, podObject(namespace, name, extra), signal),
    pods: async () => [...(await kube.list(pods, { namespace }, signal)).items],
    createService: (name, meta = {}) => kube.create(services, serviceObject(namespace, name, meta), signal),
    async openGate(name) {
      const held = await kube.get(pods, namespace, name, signal);
      const body = {
        metadata: { uid: held.metadata.uid },
        status: { conditions: [{ type: gate, status: 'True', reason: 'RoutesVerified' }] },
      };
      await kube.patch(pods, { namespace, name, subresource: 'status', type: 'strategic', body }, signal);
    },
    async stop() {
      for (const part of kept.toReversed()) await part.stop();
      stopping.abort();
      kube.close();
      await api.stop();
      await range.release();
    },
  };
}

async function provideApi(serviceCidr: string) {
  const real = process.env.ORRERY_TEST_KUBECONFIG;
  if (real !== undefined) return { kubeconfig: real, isReal: true, stop: async () => {} };
  const { startKubeApi } = await import('../../packages/kube-api/server.ts');
  const api = await startKubeApi({ serviceCidr, clock, random, log: silentLog });
  const dir = await mkdtemp(join(tmpdir(), 'orrery-dev-'));
  const kubeconfig = join(dir, 'kubeconfig');
  await writeFile(kubeconfig, api.kubeconfig());
  const stop = async () => {
    await api.stop();
    await rm(dir, { recursive: true });
  };
  return { kubeconfig, isReal: false, stop };
}

export const container = {
  name: 'web',
  image: 'backend',
  ports: [
    { name: 'http', containerPort: 8080 },
    { name: 'health', containerPort: 9002 },
  ],
};

function podObject(namespace: string, name: string, extra: PodExtra = {}): PodObject {
  const { labels = { app: 'web' }, annotations = {}, spec = {} } = extra;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels, annotations },
    spec: { terminationGracePeriodSeconds: 5, containers: [container], ...spec },
  };
}

function serviceObject(
  namespace: string,
  name: string,
  meta: Partial<KubeObject['metadata']>,
): ServiceObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...meta, name, namespace },
    spec: {
      selector: { app: 'web' },
      ports: [
        { name: 'http', port: 8080, targetPort: 'http' },
        { name: 'health', port: 9002, targetPort: 'health' },
      ],
    },
  };
}
