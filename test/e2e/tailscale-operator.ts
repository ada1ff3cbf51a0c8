/**
 * The part of Tailscale's operator that decides who is behind an egress Service: it lists the group's proxies
 * whose containers are running, whatever their readiness gates say, and removes them when they are deleted.
 */

import { startInformer } from '../../packages/dev-cluster/controllers/informer.ts';
import { createReconciler } from '../../packages/dev-cluster/controllers/reconciler.ts';
import { isDeleting, isTrue, type PodObject } from '../../packages/dev-cluster/objects.ts';
import type { DevPart, DevParts } from '../../packages/dev-cluster/parts.ts';
import { pods as podResource } from '../../packages/dev-cluster/resources.ts';
import { hasCode } from '../../src/base/errors.ts';
import type { KubeObject } from '../../src/base/kube-port.ts';
import { endpointSlices, services as serviceResource } from '../../src/kube/api/resources.ts';
import { egressSlice, namespace } from './tailscale-objects.ts';

const groupOfPod = (pod: KubeObject) => pod.metadata.labels?.['tailscale.com/parent-resource'];

export function startOperator(basics: Omit<DevParts, 'namespace'>): DevPart {
  const parts = { ...basics, namespace };
  const { kube } = parts;
  const reconcile = async (key: string, signal: AbortSignal) => {
    const service = services.get(key);
    if (service === undefined || isDeleting(service)) return;
    const group = service.metadata.labels?.['tailscale.com/proxy-group'];
    const proxies = pods
      .all()
      .filter((pod) => groupOfPod(pod) === group && isTrue(pod, 'ContainersReady') && !isDeleting(pod));
    const slice = egressSlice(service, proxies);
    try {
      await kube.create(endpointSlices, slice, signal);
    } catch (thrown) {
      if (!hasCode(thrown, 'KUBE_CONFLICT')) throw thrown;
      await kube.replace(endpointSlices, slice, signal);
    }
  };
  const queue = createReconciler({ ...parts, name: 'tailscale', reconcile });
  const wakeAll = () => {
    for (const { metadata } of services.all()) queue.enqueue(`${namespace}/${metadata.name}`);
  };
  const services = startInformer<KubeObject>({
    ...parts,
    resource: serviceResource,
    labelSelector: 'tailscale.com/svc-type=egress',
    onChange: wakeAll,
  });
  const pods = startInformer<PodObject>({ ...parts, resource: podResource, onChange: wakeAll });
  return {
    async stop() {
      await Promise.all([services.stop(), pods.stop()]);
      await queue.stop();
    },
  };
}
