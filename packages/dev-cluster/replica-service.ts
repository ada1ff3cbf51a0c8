/**
 * The Service `orrery/orrery` of the development cluster, as in an installation, so that clients that come
 * through the Kubernetes API (`kubectl orrery`, `--server kube`) find the replicas.
 */
import type { KubePort } from '../../src/base/kube-port.ts';
import { ensureAll } from './manifests.ts';

/** Advertised, because EndpointSlices refuse loopback addresses; the socket is at 127.0.0.1. */
const advertised = '10.0.0.1';

/** @param replicas with where they answer: `http://127.0.0.1:7070`; on another address nobody finds them */
export async function announceReplicas(
  kube: KubePort,
  replicas: ReadonlyArray<{ readonly url: string }>,
  signal: AbortSignal,
): Promise<void> {
  const place = { namespace: 'orrery' };
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...place, name: 'orrery' },
    spec: { ports: [{ name: 'http', port: 80 }] },
  };
  const slices = replicas.map(({ url }, index) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      ...place,
      name: `orrery-${index}`,
      labels: { 'kubernetes.io/service-name': 'orrery' },
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: Number(new URL(url).port), protocol: 'TCP' }],
    endpoints: [{ addresses: [advertised], conditions: { ready: true } }],
  }));
  await ensureAll(kube, [service, ...slices], signal);
}
